package controller

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// What is decided stays as it is, whatever becomes of it.
func TestConcludeDoesNotChangeTheDecision(t *testing.T) {
	at := metav1.Unix(1000, 0)
	record := v1alpha1.SecretRecord{Role: render.SystemdRole, Name: "c1-systemd-proxy", UID: "uid", HMAC: "before", Written: &at}
	s := aState(t)
	s.machines = []machine{{created: at}}
	s.report = &v1alpha1.ProxyReport{Status: v1alpha1.ProxyReportStatus{
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
		d := decide(s, lintList)
		before := d.status.DeepCopy()
		w := due(make([]byte, apply.KeyBytes), s, d, false)
		for i := range w.attempts {
			w.attempts[i].err = test.err
			w.attempts[i].answer = apply.Answer{UID: "uid", At: metav1.Unix(2000, 0)}
		}
		status := conclude(s, d, w, nil)
		if diff := cmp.Diff(before, &d.status); diff != "" {
			t.Errorf("%s: the decision was changed (-before +after):\n%s", name, diff)
		}
		if got := status.Conditions[0].Reason; got != test.want {
			t.Errorf("%s: Ready is %s, want %s", name, got, test.want)
		}
		if got := recordOf(status, render.SystemdRole); (got.HMAC == w.attempts[1].fingerprint) != (test.err == nil) {
			t.Errorf("%s: recorded is %+v", name, got)
		}
	}
}
