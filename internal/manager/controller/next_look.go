package controller

import (
	"time"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/observation"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// nextLook is when a cluster is looked at again without an event. It does not go before what an event asks for, unless the
// cluster still waits for its first Secrets.
func (r *ClusterReconciler) nextLook(s state, d decision, out outcome) ctrl.Result {
	result := ctrl.Result{Priority: ptr.To(background)}
	if d.problem != nil && d.problem.Reason == resolve.ReasonFactsPending {
		result.Priority = ptr.To(0)
	}
	next, _ := inputs.Next(s.overrideEnds, s.overrideNow)
	for _, wait := range []time.Duration{
		r.nextAttempt(s, d, out),
		max(s.settles, 0),
		observation.Fresh(s.last().Observed, s.now), // then it does not count any more
		untilEnd(s.nextEnd, s.now),                  // of the CorporateProxy; with spec.rollout, the waves tell
		untilEnd(next.Time, s.now),                  // of the ProxyOverride
		r.untilCollected(s.report),
	} {
		result.RequeueAfter = soonest(result.RequeueAfter, wait)
	}
	return result
}

// nextAttempt is how long until what cannot be served is tried again, or everything is applied again; 0: whoever ends the pause tells.
func (r *ClusterReconciler) nextAttempt(s state, d decision, out outcome) time.Duration {
	key, circumstances := client.ObjectKeyFromObject(s.cluster), s.circumstances()
	if d.problem != nil {
		circumstances = string(d.problem.Reason) + " " + circumstances
	}
	wait := func(first time.Duration) time.Duration {
		return r.memory.failed(key, circumstances, first, r.Interval, time.Now())
	}
	due := max(r.memory.untilTurn(key, r.Interval, time.Now()), time.Second)
	switch {
	case d.paused:
		return 0
	case d.held:
		return wait(r.Interval)
	case d.problem != nil && d.problem.Reason == resolve.ReasonFactsPending && s.unread.Reason == v1alpha1.ReasonReadFailed:
		return min(wait(firstPending), lastErrorRetry)
	case d.problem != nil && d.problem.Reason == resolve.ReasonFactsPending:
		return wait(firstPending)
	case d.problem != nil && d.problem.Reason == resolve.ReasonInvalidFacts:
		return wait(firstUnread)
	case d.problem != nil: // an event says when it is over, unless it is lost
		return wait(r.Interval)
	case len(out.refused) > 0:
		return min(wait(firstRefused), due)
	case len(out.taken) > 0:
		return min(wait(firstTaken), due)
	case s.unread.Reason != "":
		return min(wait(firstUnread), due)
	}
	r.memory.succeeded(key)
	return due
}

// soonest is the shorter of two times to wait, of which 0 is for ever.
func soonest(a, b time.Duration) time.Duration {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}
