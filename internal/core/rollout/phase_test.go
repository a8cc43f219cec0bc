package rollout

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

func TestHowARolloutStandsIsWhatItsStatusSaysOnceThatIsOfWhatWasAskedFor(t *testing.T) {
	now := metav1.Now()
	stalled := func(reason string) metav1.Condition {
		return metav1.Condition{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason}
	}
	for name, test := range map[string]struct {
		change  func(*v1alpha1.CorporateProxy)
		control *revision.Control
		want    Phase
		reason  string
	}{
		"what was asked for is refused": {func(p *v1alpha1.CorporateProxy) {
			p.Status.Rollout.Completed = &now
			p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReady, Status: metav1.ConditionFalse, Reason: "InvalidProxy"})
		}, &revision.Control{}, Stalled, "InvalidProxy"},
		"under way":                 {func(*v1alpha1.CorporateProxy) {}, &revision.Control{}, Underway, ""},
		"completed":                 {func(p *v1alpha1.CorporateProxy) { p.Status.Rollout.Completed = &now }, &revision.Control{}, Completed, ""},
		"a change that is not seen": {func(p *v1alpha1.CorporateProxy) { p.Generation, p.Status.Rollout.Completed = 3, &now }, &revision.Control{}, Waiting, ""},
		"nothing is recorded":       {func(p *v1alpha1.CorporateProxy) { p.Status.Rollout = nil }, &revision.Control{}, Waiting, ""},
		"halted":                    {func(p *v1alpha1.CorporateProxy) { p.Status.Rollout.Halted = true }, nil, Halted, "Halted"},
		"halted, by the condition":  {func(p *v1alpha1.CorporateProxy) { p.Status.Conditions = append(p.Status.Conditions, stalled("Halted")) }, nil, Halted, "Halted"},
		"stalled": {func(p *v1alpha1.CorporateProxy) {
			p.Status.Conditions = append(p.Status.Conditions, stalled("WaveEmpty"))
		}, nil, Stalled, "WaveEmpty"},
		"stalled before any revision": {func(p *v1alpha1.CorporateProxy) {
			p.Status.Rollout = nil
			p.Status.Conditions = append(p.Status.Conditions, stalled("InvalidRollout"))
		}, nil, Stalled, "InvalidRollout"},
		"halted, and going back": {func(p *v1alpha1.CorporateProxy) {
			p.Status.Rollout.Halted = true
			p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonUndoing})
		}, nil, Underway, ""},
		"completed once, and something goes on": {func(p *v1alpha1.CorporateProxy) {
			p.Status.Rollout.Completed = &now
			p.Status.Conditions = append(p.Status.Conditions, metav1.Condition{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRollingOut})
		}, nil, Underway, ""},
		"a rejection that is not seen": {func(p *v1alpha1.CorporateProxy) { p.Status.Rollout.Completed = &now }, &revision.Control{Rejected: []string{"b"}}, Waiting, ""},
		"a rejection that is seen":     {func(p *v1alpha1.CorporateProxy) { p.Status.Revisions[0].Rejected = true }, &revision.Control{Rejected: []string{"b"}}, Underway, ""},
		"a pause that is not seen":     {func(*v1alpha1.CorporateProxy) {}, &revision.Control{Paused: true}, Waiting, ""},
		"a pause that is": {func(p *v1alpha1.CorporateProxy) {
			p.Status.Rollout.Paused = true
			p.Status.Conditions = append(p.Status.Conditions, stalled("Paused"))
		}, &revision.Control{Paused: true}, Stalled, "Paused"},
		"its end that is not seen": {func(p *v1alpha1.CorporateProxy) {
			p.Status.Rollout.Paused = true
			p.Status.Conditions = append(p.Status.Conditions, stalled("Paused"))
		}, &revision.Control{}, Waiting, ""},
		"what people say is not known": {func(p *v1alpha1.CorporateProxy) {
			p.Status.Rollout.Paused = true
			p.Status.Conditions = append(p.Status.Conditions, stalled("Paused"))
		}, nil, Stalled, "Paused"},
		"paused by the object": {func(p *v1alpha1.CorporateProxy) {
			p.Spec.Rollout.Paused, p.Status.Rollout.Paused = true, true
			p.Status.Rollout.Completed = &now
		}, &revision.Control{}, Completed, ""},
	} {
		proxy := &v1alpha1.CorporateProxy{Spec: v1alpha1.CorporateProxySpec{Rollout: &v1alpha1.Rollout{}}}
		proxy.Generation, proxy.Status.ObservedGeneration = 2, 2
		proxy.Status.Rollout = &v1alpha1.RolloutStatus{Revision: 2}
		proxy.Status.Revisions = []v1alpha1.RevisionStatus{{Number: 2, Digest: "b"}, {Number: 1, Digest: "a"}}
		test.change(proxy)
		got := StandingOf(proxy, test.control)
		if got.Phase != test.want || got.Reason != test.reason || got.Phase == Waiting && got.Message == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}
