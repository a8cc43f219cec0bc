package controller

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func clusterKey(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "ns", Name: name}
}

func aState(t *testing.T) state {
	t.Helper()
	url, err := proxyurl.Parse("http://u:hunter2@proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	return state{
		cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c1", UID: "u", Generation: 3},
			Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.1"}},
		},
		installation: resolve.Installation{Name: "default", HTTP: url},
	}
}

func TestDecideLeavesTheLastGoodDescriptionInPlaceOnAProblem(t *testing.T) {
	s := aState(t)
	s.report = &v1alpha1.ProxyReport{Status: decide(s, lintList).status}
	s.problem = &resolve.Problem{Reason: resolve.ReasonAmbiguous, Object: "Cluster ns/c1", Detail: "two match"}
	d := decide(s, lintList)
	if d.secrets != nil {
		t.Error("Secrets are to be written in spite of a problem")
	}
	if d.status.ProxyName != "default" || !strings.Contains(d.status.NoProxy.Go, "10.0.0.1") {
		t.Errorf("the last good description is gone: %+v", d.status)
	}
}

func TestDecideBlanksOnlyAClusterThatNeverHadAProxy(t *testing.T) {
	noted := func(note, mode string) *v1alpha1.ProxyReport {
		return &v1alpha1.ProxyReport{
			ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.HadProxyAnnotation: note}},
			Status:     v1alpha1.ProxyReportStatus{Mode: mode},
		}
	}
	for name, tc := range map[string]struct {
		report *v1alpha1.ProxyReport
		blank  bool
		note   string
	}{
		"new":                  {nil, true, "false"},
		"unproxied":            {noted("false", "Unproxied"), true, "false"},
		"proxied":              {noted("true", "Proxied"), false, "true"},
		"direct":               {noted("true", "Direct"), false, "true"},
		"moved, once proxied":  {noted("true", ""), false, "true"},
		"moved, never proxied": {noted("false", ""), true, "false"},
		"moved, nothing noted": {&v1alpha1.ProxyReport{}, false, "true"},
	} {
		s := aState(t)
		s.report, s.problem = tc.report, &resolve.Problem{Reason: resolve.ReasonNotSelected}
		d := decide(s, lintList)
		if got := len(d.secrets) == 2; got != tc.blank || d.note != tc.note {
			t.Errorf("%s: blank Secrets are written: %t, noted is %q", name, got, d.note)
		}
		if message := concluded(s).Conditions[0].Message; strings.Contains(message, "both Secrets stay") == tc.blank {
			t.Errorf("%s: %s", name, message)
		}
	}
}

// A Secret that exists, and that we know nothing of, may be what machines were built from.
func TestAClusterWhoseSecretsExistCountsAsOneThatHadAProxy(t *testing.T) {
	s := aState(t)
	s.report = &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.HadProxyAnnotation: "false"}}}
	s.problem = &resolve.Problem{Reason: resolve.ReasonNotSelected}
	s.exists = []string{"Secret c1-cluster-values"}
	d := decide(s, lintList)
	if d.note != "true" || len(d.secrets) != 0 || d.problem == nil || d.problem.Reason != resolve.ReasonNotSelected {
		t.Errorf("noted %s, %d Secrets, %v", d.note, len(d.secrets), d.problem)
	}
}

func TestThatAClusterGetsAProxyIsNotedWhateverWasNotedBefore(t *testing.T) {
	for name, report := range map[string]*v1alpha1.ProxyReport{
		"new":              nil,
		"never had one":    {ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.HadProxyAnnotation: "false"}}},
		"without a note":   {},
		"was not selected": {Status: v1alpha1.ProxyReportStatus{Mode: "Unproxied"}},
	} {
		s := aState(t)
		s.report = report
		if d := decide(s, lintList); d.note != "true" || len(d.secrets) != 2 {
			t.Errorf("%s: noted is %q", name, d.note)
		}
	}
	s := aState(t)
	s.problem = &resolve.Problem{Reason: resolve.ReasonEndpointUnknown}
	if d := decide(s, lintList); d.note != "false" {
		t.Errorf("one that waits for its first: noted is %q", d.note)
	}
}

// Machines of a cluster that goes direct are built from the same template, which
// waits for every key that it names; and the company's registries stay.
func TestTheTrustedCAStaysWhenTheOwnerGoesDirect(t *testing.T) {
	s := aState(t)
	s.installation.Node.TrustedCA, s.installation.Delegation.Direct = []byte("PEM"), true
	for mode, override := range map[string]*v1alpha1.ProxyOverride{
		"Proxied": nil, "Direct": {Spec: v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect}},
	} {
		s.override = override
		d := decide(s, lintList)
		if d.status.Mode != mode || len(d.secrets) != 2 || string(d.secrets[1].Data[render.TrustedCAKey]) != "PEM" {
			t.Errorf("%s: %s, %v", mode, d.status.Mode, d.secrets)
		}
	}
	s.problem = &resolve.Problem{Reason: resolve.ReasonNotSelected}
	if d := decide(s, lintList); len(d.secrets) != 2 || len(d.secrets[1].Data[render.TrustedCAKey]) > 0 {
		t.Errorf("Unproxied: %v", d.secrets)
	}
}

func TestDecideKeepsTheReportWithinItsBounds(t *testing.T) {
	s := aState(t)
	refusals := make([]string, 500)
	s.problem = &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Refusals: refusals, Detail: strings.Repeat("x", 10_000)}
	status := concluded(s)
	if len(status.Refusals) != maxRefusals || status.RefusalCount != 500 {
		t.Errorf("%d refusals listed, %d counted", len(status.Refusals), status.RefusalCount)
	}
	if n := len(status.Conditions[0].Message); n > 1100 {
		t.Errorf("a message of %d bytes", n)
	}
}

func TestDecideWritesNothingWhilePaused(t *testing.T) {
	yes := true
	for name, pause := range map[string]func(*clusterv1.Cluster){
		"by spec":       func(c *clusterv1.Cluster) { c.Spec.Paused = &yes },
		"by annotation": func(c *clusterv1.Cluster) { c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} },
	} {
		s := aState(t)
		pause(s.cluster)
		if d := decide(s, lintList); !d.paused || d.secrets != nil {
			t.Errorf("%s: Secrets are written", name)
		}
	}
}

// Whoever names a ConfigMap that is not there waits, and one that is not kept up to date has an old list.
func TestTheConfigMapIsThereWhereItIsWantedOrOnceWas(t *testing.T) {
	was := v1alpha1.ProxyReportStatus{ConfigMap: &v1alpha1.SecretRecord{Role: render.ConfigMapRole}}
	for name, tc := range map[string]struct {
		asked bool
		last  v1alpha1.ProxyReportStatus
		there bool
	}{
		"not asked for":       {false, v1alpha1.ProxyReportStatus{}, false},
		"asked for":           {true, v1alpha1.ProxyReportStatus{}, true},
		"asked for no more":   {false, was, true},
		"asked for as it was": {true, was, true},
	} {
		s := aState(t)
		s.installation.ConfigMap, s.report = tc.asked, &v1alpha1.ProxyReport{Status: tc.last}
		if d := decide(s, lintList); (d.configMap != nil) != tc.there {
			t.Errorf("%s: %v", name, d.configMap)
		}
		s.problem = &resolve.Problem{Reason: resolve.ReasonAmbiguous}
		if d := decide(s, lintList); d.configMap != nil {
			t.Errorf("%s: it is written in spite of a problem", name)
		}
	}
}

func TestFactsThatCouldNotBeReadAreACondition(t *testing.T) {
	s := aState(t)
	s.facts = &v1alpha1.ReportedFacts{Kind: "K", Name: "c1"}
	s.unread = inputs.Unread{Reason: v1alpha1.ReasonForbidden, Problem: "not readable"}
	unread := func(status v1alpha1.ProxyReportStatus) *metav1.Condition {
		return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionFactsUnread)
	}
	d := decide(s, lintList)
	if c := unread(d.status); c == nil || c.Reason != v1alpha1.ReasonForbidden || c.Message != "not readable" || len(d.secrets) != 2 {
		t.Errorf("%+v", c)
	}
	s.report = &v1alpha1.ProxyReport{Status: d.status}
	s.unread = inputs.Unread{}
	s.problem = &resolve.Problem{Reason: resolve.ReasonAmbiguous}
	if unread(decide(s, lintList).status) == nil {
		t.Error("it is gone although nobody tried to read them")
	}
	s.problem = nil
	if c := unread(decide(s, lintList).status); c != nil {
		t.Errorf("they were read, and %+v stays", c)
	}
}

// concluded is the status where nothing was written.
func concluded(s state) v1alpha1.ProxyReportStatus {
	d := decide(s, lintList)
	if s.report == nil {
		s.report = &v1alpha1.ProxyReport{}
	}
	return conclude(s, d, writes{}, nil)
}
