package decide

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/findings"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// What is decided stays as it is, whatever becomes of it.
func TestConcludeDoesNotChangeTheDecision(t *testing.T) {
	at := metav1.Unix(1000, 0)
	record := v1alpha1.SecretRecord{Role: render.SystemdRole, Name: "c1-systemd-proxy", UID: "uid", HMAC: "before", Written: &at}
	s := aState(t)
	s.Machines = []Machine{{Created: at}}
	s.Report = &v1alpha1.ProxyReport{Status: v1alpha1.ProxyReportStatus{
		Secrets:    []v1alpha1.SecretRecord{record},
		Nodes:      &v1alpha1.ReportedNodes{HMAC: "before", Since: &at},
		Conditions: []metav1.Condition{{Type: v1alpha1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 1}},
	}}
	for name, test := range map[string]struct {
		err  error
		want string // the reason of Ready
	}{
		"written": {nil, v1alpha1.ReasonApplied},
		"taken":   {&apply.TakenError{Object: "Secret c1-systemd-proxy", Message: "theirs"}, v1alpha1.ReasonNameTaken},
		"refused": {&apply.RefusedError{Object: "Secret c1-systemd-proxy", Message: "quota"}, v1alpha1.ReasonRefused},
		"failed":  {errors.New("not now"), v1alpha1.ReasonWriteFailed},
	} {
		d := Decide(s, findings.OfList)
		before := d.Status.DeepCopy()
		w := Due(make([]byte, apply.KeyBytes), s, d, false)
		for i := range w.Attempts {
			w.Attempts[i].Err = test.err
			w.Attempts[i].Answer = apply.Answer{UID: "uid", At: metav1.Unix(2000, 0)}
		}
		status := Conclude(s, d, w, nil)
		if diff := cmp.Diff(before, &d.Status); diff != "" {
			t.Errorf("%s: the decision was changed (-before +after):\n%s", name, diff)
		}
		if got := status.Conditions[0].Reason; got != test.want {
			t.Errorf("%s: Ready is %s, want %s", name, got, test.want)
		}
		if got := RecordOf(status, render.SystemdRole); (got.HMAC == w.Attempts[1].fingerprint) != (test.err == nil) {
			t.Errorf("%s: recorded is %+v", name, got)
		}
	}
}

func aState(t *testing.T) State {
	t.Helper()
	url, err := proxyurl.Parse("http://u:hunter2@proxy.example:3128")
	if err != nil {
		t.Fatal(err)
	}
	return State{
		Cluster: &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c1", UID: "u", Generation: 3},
			Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: "10.0.0.1"}},
		},
		Installation: resolve.Installation{Name: "default", HTTP: url},
	}
}

func TestDecideLeavesTheLastGoodDescriptionInPlaceOnAProblem(t *testing.T) {
	s := aState(t)
	s.Report = &v1alpha1.ProxyReport{Status: Decide(s, findings.OfList).Status}
	s.Problem = &resolve.Problem{Reason: resolve.ReasonAmbiguous, Object: "Cluster ns/c1", Detail: "two match"}
	d := Decide(s, findings.OfList)
	if d.Secrets != nil {
		t.Error("Secrets are to be written in spite of a problem")
	}
	if d.Status.ProxyName != "default" || !strings.Contains(d.Status.NoProxy.Go, "10.0.0.1") {
		t.Errorf("the last good description is gone: %+v", d.Status)
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
		s.Report, s.Problem = tc.report, &resolve.Problem{Reason: resolve.ReasonNotSelected}
		d := Decide(s, findings.OfList)
		if got := len(d.Secrets) == 2; got != tc.blank || d.note != tc.note {
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
	s.Report = &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{v1alpha1.HadProxyAnnotation: "false"}}}
	s.Problem = &resolve.Problem{Reason: resolve.ReasonNotSelected}
	s.Exists = []string{"Secret c1-cluster-values"}
	d := Decide(s, findings.OfList)
	if d.note != "true" || len(d.Secrets) != 0 || d.Problem == nil || d.Problem.Reason != resolve.ReasonNotSelected {
		t.Errorf("noted %s, %d Secrets, %v", d.note, len(d.Secrets), d.Problem)
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
		s.Report = report
		if d := Decide(s, findings.OfList); d.note != "true" || len(d.Secrets) != 2 {
			t.Errorf("%s: noted is %q", name, d.note)
		}
	}
	s := aState(t)
	s.Problem = &resolve.Problem{Reason: resolve.ReasonEndpointUnknown}
	if d := Decide(s, findings.OfList); d.note != "false" {
		t.Errorf("one that waits for its first: noted is %q", d.note)
	}
}

// Machines of a cluster that goes direct are built from the same template, which
// waits for every key that it names; and the company's registries stay.
func TestTheTrustedCAStaysWhenTheOwnerGoesDirect(t *testing.T) {
	s := aState(t)
	s.Installation.Node.TrustedCA, s.Installation.Delegation.Direct = []byte("PEM"), true
	for mode, override := range map[string]*v1alpha1.ProxyOverride{
		"Proxied": nil, "Direct": {Spec: v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect}},
	} {
		s.Override = override
		d := Decide(s, findings.OfList)
		if d.Status.Mode != mode || len(d.Secrets) != 2 || string(d.Secrets[1].Data[render.TrustedCAKey]) != "PEM" {
			t.Errorf("%s: %s, %v", mode, d.Status.Mode, d.Secrets)
		}
	}
	s.Problem = &resolve.Problem{Reason: resolve.ReasonNotSelected}
	if d := Decide(s, findings.OfList); len(d.Secrets) != 2 || len(d.Secrets[1].Data[render.TrustedCAKey]) > 0 {
		t.Errorf("Unproxied: %v", d.Secrets)
	}
}

func TestDecideKeepsTheReportWithinItsBounds(t *testing.T) {
	s := aState(t)
	refusals := make([]string, 500)
	s.Problem = &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Refusals: refusals, Detail: strings.Repeat("x", 10_000)}
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
		pause(s.Cluster)
		if d := Decide(s, findings.OfList); !d.Paused || d.Secrets != nil {
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
		s.Installation.ConfigMap, s.Report = tc.asked, &v1alpha1.ProxyReport{Status: tc.last}
		if d := Decide(s, findings.OfList); (d.configMap != nil) != tc.there {
			t.Errorf("%s: %v", name, d.configMap)
		}
		s.Problem = &resolve.Problem{Reason: resolve.ReasonAmbiguous}
		if d := Decide(s, findings.OfList); d.configMap != nil {
			t.Errorf("%s: it is written in spite of a problem", name)
		}
	}
}

func TestFactsThatCouldNotBeReadAreACondition(t *testing.T) {
	s := aState(t)
	s.Facts = &v1alpha1.ReportedFacts{Kind: "K", Name: "c1"}
	s.Unread = inputs.Unread{Reason: v1alpha1.ReasonForbidden, Problem: "not readable"}
	unread := func(status v1alpha1.ProxyReportStatus) *metav1.Condition {
		return meta.FindStatusCondition(status.Conditions, v1alpha1.ConditionFactsUnread)
	}
	d := Decide(s, findings.OfList)
	if c := unread(d.Status); c == nil || c.Reason != v1alpha1.ReasonForbidden || c.Message != "not readable" || len(d.Secrets) != 2 {
		t.Errorf("%+v", c)
	}
	s.Report = &v1alpha1.ProxyReport{Status: d.Status}
	s.Unread = inputs.Unread{}
	s.Problem = &resolve.Problem{Reason: resolve.ReasonAmbiguous}
	if unread(Decide(s, findings.OfList).Status) == nil {
		t.Error("it is gone although nobody tried to read them")
	}
	s.Problem = nil
	if c := unread(Decide(s, findings.OfList).Status); c != nil {
		t.Errorf("they were read, and %+v stays", c)
	}
}

// concluded returns the status where nothing was written.
func concluded(s State) v1alpha1.ProxyReportStatus {
	d := Decide(s, findings.OfList)
	if s.Report == nil {
		s.Report = &v1alpha1.ProxyReport{}
	}
	return Conclude(s, d, Writes{}, nil)
}

func aTarget(role, name string) target {
	return target{Object: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, Role: role}
}
