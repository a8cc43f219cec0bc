package cluster

import (
	"time"

	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/observation"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// nextLook returns when a cluster is looked at again without an event. It does not go before what an event asks for, unless the
// cluster still waits for its first Secrets.
func (r *Reconciler) nextLook(s decide.State, d decide.Decision, out decide.Outcome) ctrl.Result {
	result := ctrl.Result{Priority: ptr.To(machinery.Background)}
	if d.Problem != nil && d.Problem.Reason == resolve.ReasonFactsPending {
		result.Priority = ptr.To(0)
	}
	next, _ := inputs.Next(s.OverrideEnds, s.OverrideNow)
	for _, wait := range []time.Duration{
		r.nextAttempt(s, d, out),
		max(s.Settles, 0),
		observation.Fresh(s.Last().Observed, s.Now), // then it does not count any more
		settings.UntilEnd(s.NextEnd, s.Now),         // of the CorporateProxy; with spec.rollout, the waves tell
		settings.UntilEnd(next.Time, s.Now),         // of the ProxyOverride
		r.untilCollected(s.Report),
	} {
		result.RequeueAfter = machinery.Soonest(result.RequeueAfter, wait)
	}
	return result
}

// nextAttempt returns how long until what cannot be served is tried again, or everything is applied again; 0: whoever ends the pause tells.
func (r *Reconciler) nextAttempt(s decide.State, d decide.Decision, out decide.Outcome) time.Duration {
	key, circumstances := client.ObjectKeyFromObject(s.Cluster), s.Circumstances()
	if d.Problem != nil {
		circumstances = string(d.Problem.Reason) + " " + circumstances
	}
	wait := func(first time.Duration) time.Duration {
		return r.memory.failed(key, circumstances, first, r.Interval, time.Now())
	}
	due := max(r.memory.untilTurn(key, r.Interval, time.Now()), time.Second)
	switch {
	case d.Paused:
		return 0
	case d.Held:
		return wait(r.Interval)
	case d.Problem != nil && d.Problem.Reason == resolve.ReasonFactsPending && s.Unread.Reason == v1alpha1.ReasonReadFailed:
		return min(wait(firstPending), machinery.LastErrorRetry)
	case d.Problem != nil && d.Problem.Reason == resolve.ReasonFactsPending:
		return wait(firstPending)
	case d.Problem != nil && d.Problem.Reason == resolve.ReasonInvalidFacts:
		return wait(firstUnread)
	case d.Problem != nil: // an event says when it is over, unless it is lost
		return wait(r.Interval)
	case len(out.Refused) > 0:
		return min(wait(firstRefused), due)
	case len(out.Taken) > 0:
		return min(wait(firstTaken), due)
	case s.Unread.Reason != "":
		return min(wait(firstUnread), due)
	}
	r.memory.change(key, func(c *clusterMemory) { c.failures = failures{} })
	return due
}
