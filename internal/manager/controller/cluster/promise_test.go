package cluster

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/findings"
)

// noMaps has no ConfigMap.
type noMaps struct{ client.Client }

func (noMaps) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// versions has a second version, which knows another domain of one kind, and one kind more.
func versions(t *testing.T) func(string) (provider.Table, error) {
	t.Helper()
	table := func(version, rows string) provider.Table {
		parsed, err := provider.Parse(version, []byte(rows))
		if err != nil {
			t.Fatal(err)
		}
		table, err := provider.Table{}.With(parsed)
		if err != nil {
			t.Fatal(err)
		}
		return table.As(version)
	}
	first := table("Facts/v1", "rows: [{group: g.example, kind: Boat, domains: [.first]}]")
	second := table("Facts/v2", "rows: [{group: g.example, kind: Boat, domains: [.second]}, {group: g.example, kind: Raft, domains: [.raft]}]")
	return func(version string) (provider.Table, error) {
		switch version {
		case "Facts/v1":
			return first, nil
		case "", "Facts/v2":
			return second, nil
		}
		_, err := provider.Builtin(version)
		return provider.Table{}, err
	}
}

func TestAClusterKeepsTheFactsOfItsVersionUntilItIsAskedForAnother(t *testing.T) {
	read := v1alpha1.ProxyReportStatus{Mode: "Proxied", Facts: &v1alpha1.ReportedFacts{
		Kind: "Boat", Name: "c1", Version: "Facts/v1", Source: "Facts/v1", Domains: []string{".first"},
	}}
	had := func(version string) map[string]string {
		annotations := map[string]string{v1alpha1.HadProxyAnnotation: "true"}
		if version != "" {
			annotations[v1alpha1.FactsVersionAnnotation] = version
		}
		return annotations
	}
	for name, test := range map[string]struct {
		kind            string
		report          *v1alpha1.ProxyReport
		domain, version string
	}{
		"new":                                    {"Boat", nil, ".second", "Facts/v2"},
		"it waits for its first":                 {"Boat", reportWith(map[string]string{v1alpha1.HadProxyAnnotation: "false"}, v1alpha1.ProxyReportStatus{}), ".second", "Facts/v2"},
		"it has the first":                       {"Boat", reportWith(had("Facts/v1"), read), ".first", "Facts/v1"},
		"of an operator that noted none":         {"Boat", reportWith(had(""), read), ".first", "Facts/v1"},
		"moved":                                  {"Boat", reportWith(had("Facts/v1"), v1alpha1.ProxyReportStatus{}), ".first", "Facts/v1"},
		"moved from an operator that noted none": {"Boat", reportWith(had(""), v1alpha1.ProxyReportStatus{}), ".first", "Facts/v1"},
		"asked for the second":                   {"Boat", reportWith(had("Facts/v2"), read), ".second", "Facts/v2"},
		"a kind of the second, so far":           {"Raft", reportWith(had(""), v1alpha1.ProxyReportStatus{Mode: "Proxied"}), "", "Facts/v1"},
		"a kind of the second, asked":            {"Raft", reportWith(had("Facts/v2"), v1alpha1.ProxyReportStatus{Mode: "Proxied"}), ".raft", "Facts/v2"},
		"a version that there is not":            {"Boat", reportWith(had("Facts/v9"), read), "", "Facts/v9"},
	} {
		s := aState(t)
		s.Report = test.report
		s.Cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "g.example", Kind: test.kind, Name: "c1"}
		r := &Reconciler{Client: noMaps{}, Builtin: versions(t), Interval: time.Hour}
		err := r.readFacts(t.Context(), &s)
		var p *resolve.Problem
		if is := errors.As(err, &p); test.version == "Facts/v9" != is || is && (p.Reason != resolve.ReasonUnknownPromise || !strings.Contains(p.Error(), "Facts/v9")) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var domain string
		if s.Facts != nil {
			domain = s.Facts.Domains[0]
		}
		if promised := decide.Promises(s, decide.Decide(s, findings.OfList))[v1alpha1.FactsVersionAnnotation]; domain != test.domain || promised != test.version {
			t.Errorf("%s: %q by %s", name, domain, promised)
		}
	}
}

// Without its label, nobody reads its rows.
func TestAConfigMapThatLosesTheFactsLabelIsNoticed(t *testing.T) {
	with := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{v1alpha1.ProviderFactsLabel: ""}}}
	without := &corev1.ConfigMap{}
	for name, test := range map[string]struct {
		was, is *corev1.ConfigMap
		want    bool
	}{
		"gets it": {without, with, true}, "loses it": {with, without, true}, "keeps it, and its rows": {with, with, false}, "never had it": {without, without, false},
	} {
		if got := contentChanged.Update(event.UpdateEvent{ObjectOld: test.was, ObjectNew: test.is}); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func reportWith(annotations map[string]string, status v1alpha1.ProxyReportStatus) *v1alpha1.ProxyReport {
	return &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Status: status}
}
