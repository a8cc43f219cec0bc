package rollout

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// Phase is how a rollout stands, in a word.
type Phase string

// The phases. Halted and Stalled wait for somebody.
const (
	Waiting   Phase = "Waiting" // the status is not yet of what was asked for
	Completed Phase = "Completed"
	Underway  Phase = "Progressing"
	Halted    Phase = "Halted"
	Stalled   Phase = "Stalled"
)

// Standing is a phase, and why.
type Standing struct {
	Phase   Phase
	Reason  string // of Halted and Stalled: the condition's reason
	Message string
}

// StandingOf returns the standing of a CorporateProxy's rollout, by its status. control has what people asked for; nil:
// unknown.
func StandingOf(proxy *v1alpha1.CorporateProxy, control *revision.Control) Standing {
	if awaited := unseen(proxy, control); awaited != "" {
		return Standing{Phase: Waiting, Message: "the operator has not yet seen " + awaited}
	}
	conditions := proxy.Status.Conditions
	if ready := meta.FindStatusCondition(conditions, v1alpha1.ConditionReady); ready != nil && ready.Status == metav1.ConditionFalse {
		return Standing{Stalled, ready.Reason, ready.Message} // what was asked for last is no revision, whatever the clusters have
	}
	if stalled := meta.FindStatusCondition(conditions, v1alpha1.ConditionStalled); stalled != nil && stalled.Status == metav1.ConditionTrue {
		phase := Stalled
		if stalled.Reason == v1alpha1.ReasonHalted {
			phase = Halted
		}
		return Standing{phase, stalled.Reason, stalled.Message}
	}
	state := proxy.Status.Rollout
	switch {
	case state == nil:
		return Standing{Phase: Waiting, Message: "no revision is recorded yet"}
	case meta.IsStatusConditionTrue(conditions, v1alpha1.ConditionReconciling): // also while clusters go back from a revision that halted
		return Standing{Phase: Underway, Message: state.Message}
	case state.Completed != nil:
		return Standing{Phase: Completed, Message: state.Message}
	case state.Halted:
		return Standing{Halted, v1alpha1.ReasonHalted, state.Message}
	}
	return Standing{Phase: Underway, Message: state.Message}
}

// unseen names a request that the status does not show yet; empty: none.
func unseen(proxy *v1alpha1.CorporateProxy, control *revision.Control) string {
	status := proxy.Status
	if status.ObservedGeneration != proxy.Generation {
		return "the last change of the object"
	}
	if control == nil || status.Rollout == nil {
		return ""
	}
	for _, r := range status.Revisions {
		if slices.Contains(control.Rejected, r.Digest) != r.Rejected {
			return fmt.Sprintf("which revisions are rejected: %d", r.Number)
		}
	}
	asked := control.Paused || proxy.Spec.Rollout != nil && proxy.Spec.Rollout.Paused
	switch {
	case asked && !status.Rollout.Paused:
		return "that the rollout is paused"
	case !asked && status.Rollout.Paused:
		return "that the rollout continues"
	}
	return ""
}
