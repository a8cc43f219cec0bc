package cluster

import (
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
)

const (
	// retryCollected is for a report that the garbage collector works on. It takes no
	// more than a moment, and the event of its end may be lost with a restart.
	retryCollected = time.Second
	// settleCollected is when everything is applied a second time: the collector looks
	// at the report, and later takes the reference to it away, also if its finalizer is
	// gone in between.
	settleCollected = 10 * time.Second
)

// reportChanged lets through what concerns us of a report: that it is asked for
// something, deleted, or that the garbage collector is done with it, which is
// remembered. Our own status updates come back as events, too.
func (r *Reconciler) reportChanged() predicate.Predicate {
	finalizers := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		if decide.BeingCollected(e.ObjectOld) && !decide.BeingCollected(e.ObjectNew) {
			r.memory.collect(client.ObjectKeyFromObject(e.ObjectNew), time.Now())
		}
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
	return predicate.Or(finalizers, predicate.AnnotationChangedPredicate{}, predicate.GenerationChangedPredicate{})
}

// deletionDue reports whether everything is to be applied because somebody deleted
// the report: its reference is gone from the Secrets, or they are. Only a deletion
// raises the generation: a report has no spec.
func (r *Reconciler) deletionDue(s *decide.State) bool {
	if s.Report.DeletionTimestamp == nil || decide.BeingCollected(s.Report) {
		return false
	}
	key, now := client.ObjectKeyFromObject(s.Report), time.Now()
	if decide.ObservedGeneration(s) != s.Report.Generation && r.memory.untilCollected(key, now) == 0 {
		r.memory.collect(key, now) // before this process started, or in the background
	}
	return r.memory.takeCollected(key, now)
}

// untilCollected returns how long until a report is looked at again that the garbage collector works on, or was done with just now; 0:
// there is none.
func (r *Reconciler) untilCollected(report *v1alpha1.ProxyReport) time.Duration {
	switch {
	case report == nil || report.DeletionTimestamp == nil:
		return 0
	case decide.BeingCollected(report):
		return retryCollected
	}
	return r.memory.untilCollected(client.ObjectKeyFromObject(report), time.Now())
}
