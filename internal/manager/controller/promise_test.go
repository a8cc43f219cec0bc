package controller

import (
	"context"
	"errors"
	"maps"
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
)

const (
	hadProxy = v1alpha1.HadProxyAnnotation
	form     = v1alpha1.FormAnnotation
	facts    = v1alpha1.FactsVersionAnnotation
)

func reportWith(annotations map[string]string, status v1alpha1.ProxyReportStatus) *v1alpha1.ProxyReport {
	return &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}, Status: status}
}

// A move or a restore takes the metadata along, and not the status.
func TestTheFormOutlivesTheStatus(t *testing.T) {
	status := v1alpha1.ProxyReportStatus{Form: "Exact"}
	for name, test := range map[string]struct {
		report *v1alpha1.ProxyReport
		asked  resolve.Form
		want   string // in the metadata; empty: it is held
	}{
		"new":                           {nil, "", "Portable/v3"},
		"never had a proxy":             {reportWith(map[string]string{hadProxy: "false"}, v1alpha1.ProxyReportStatus{Mode: "Unproxied"}), "", "Portable/v3"},
		"pinned to the form before":     {reportWith(map[string]string{hadProxy: "true", form: "Portable/v1"}, v1alpha1.ProxyReportStatus{}), "", "Portable/v1"},
		"without a pin":                 {reportWith(map[string]string{hadProxy: "true"}, v1alpha1.ProxyReportStatus{Mode: "Proxied"}), "", "Portable/v1"},
		"moved":                         {reportWith(map[string]string{hadProxy: "true", form: "Exact"}, v1alpha1.ProxyReportStatus{}), "", "Exact"},
		"of an earlier version":         {reportWith(map[string]string{hadProxy: "true"}, status), "", "Exact"},
		"another is asked for":          {reportWith(map[string]string{hadProxy: "true", form: "Exact"}, status), "Portable/v1", "Portable/v1"},
		"of a later version":            {reportWith(map[string]string{hadProxy: "true", form: "Portable/v7"}, status), "", ""},
		"of a later version, in status": {reportWith(nil, v1alpha1.ProxyReportStatus{Form: "Portable/v7"}), "", ""},
		"of a later version, and asked": {reportWith(map[string]string{form: "Portable/v7"}, status), "Exact", "Exact"},
	} {
		s := aState(t)
		s.report, s.installation.Form = test.report, test.asked
		d := decide(s, lintList)
		promised := promises(s, d)
		if test.want == "" {
			if d.problem == nil || d.problem.Reason != resolve.ReasonUnknownPromise || len(d.secrets) > 0 || promised[form] != "Portable/v7" {
				t.Errorf("%s: %v, promised %v", name, d.problem, promised)
			}
			continue
		}
		if d.problem != nil || d.status.Form != test.want || promised[form] != test.want {
			t.Errorf("%s: %s, %v, %v", name, d.status.Form, promised, d.problem)
		}
	}
}

func TestAPromiseStaysInTheMetadataThroughEveryProblem(t *testing.T) {
	s := aState(t)
	s.report = reportWith(map[string]string{hadProxy: "true", form: "Exact", facts: "Facts/v1"}, v1alpha1.ProxyReportStatus{})
	s.problem = &resolve.Problem{Reason: resolve.ReasonAmbiguous}
	if got := promises(s, decide(s, lintList)); !maps.Equal(got, s.report.Annotations) {
		t.Errorf("%v", got)
	}
}

func TestPromisesAreWrittenOnlyWhenTheyChange(t *testing.T) {
	promised := map[string]string{hadProxy: "true", form: "Exact"}
	for name, test := range map[string]struct {
		annotations map[string]string
		at, reapply bool // they are due at once, and when the Secrets are applied anyway
	}{
		"all are there":                  {map[string]string{hadProxy: "true", form: "Exact", "other": "x"}, false, false},
		"none is there":                  {nil, true, true},
		"another form":                   {map[string]string{hadProxy: "true", form: "Portable/v1"}, true, true},
		"it gets a proxy":                {map[string]string{hadProxy: "false"}, true, true},
		"written by an earlier operator": {map[string]string{hadProxy: "true"}, false, true},
	} {
		if at, reapply := promisesDue(test.annotations, promised, false), promisesDue(test.annotations, promised, true); at != test.at || reapply != test.reapply {
			t.Errorf("%s: %t, %t", name, at, reapply)
		}
	}
}

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
		annotations := map[string]string{hadProxy: "true"}
		if version != "" {
			annotations[facts] = version
		}
		return annotations
	}
	for name, test := range map[string]struct {
		kind            string
		report          *v1alpha1.ProxyReport
		domain, version string
	}{
		"new":                                    {"Boat", nil, ".second", "Facts/v2"},
		"it waits for its first":                 {"Boat", reportWith(map[string]string{hadProxy: "false"}, v1alpha1.ProxyReportStatus{}), ".second", "Facts/v2"},
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
		s.report = test.report
		s.cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{APIGroup: "g.example", Kind: test.kind, Name: "c1"}
		r := &ClusterReconciler{Client: noMaps{}, Builtin: versions(t), Interval: time.Hour, memory: &memory{}}
		err := r.readFacts(t.Context(), &s)
		var p *resolve.Problem
		if is := errors.As(err, &p); test.version == "Facts/v9" != is || is && (p.Reason != resolve.ReasonUnknownPromise || !strings.Contains(p.Error(), "Facts/v9")) {
			t.Errorf("%s: %v", name, err)
			continue
		}
		var domain string
		if s.facts != nil {
			domain = s.facts.Domains[0]
		}
		if promised := promises(s, decide(s, lintList))[facts]; domain != test.domain || promised != test.version {
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
