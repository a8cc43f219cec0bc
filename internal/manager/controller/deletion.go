package controller

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
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
func (r *ClusterReconciler) reportChanged() predicate.Predicate {
	finalizers := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		if beingCollected(e.ObjectOld) && !beingCollected(e.ObjectNew) {
			r.memory.collect(client.ObjectKeyFromObject(e.ObjectNew), time.Now())
		}
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
	return predicate.Or(finalizers, predicate.AnnotationChangedPredicate{}, predicate.GenerationChangedPredicate{})
}

// beingCollected reports whether the garbage collector takes the references to an
// owner away, or what it owns, by the finalizer that the deletion left on it.
func beingCollected(owner metav1.Object) bool {
	return owner.GetDeletionTimestamp() != nil &&
		(slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents) || slices.Contains(owner.GetFinalizers(), metav1.FinalizerOrphanDependents))
}

// deletionDue reports whether everything is to be applied because somebody deleted
// the report: its reference is gone from the Secrets, or they are. Only a deletion
// raises the generation: a report has no spec.
func (r *ClusterReconciler) deletionDue(s *state) bool {
	if s.report.DeletionTimestamp == nil || beingCollected(s.report) {
		return false
	}
	key, now := client.ObjectKeyFromObject(s.report), time.Now()
	if observedGeneration(s) != s.report.Generation && r.memory.untilCollected(key, now) == 0 {
		r.memory.collect(key, now) // before this process started, or in the background
	}
	return r.memory.takeCollected(key, now)
}

func observedGeneration(s *state) int64 {
	if ready := meta.FindStatusCondition(s.last().Conditions, v1alpha1.ConditionReady); ready != nil {
		return ready.ObservedGeneration
	}
	return 0
}

// nextGeneration is the generation of the report that its conditions are about: that
// of a deletion only once everything was applied after it.
func nextGeneration(s *state, d decision, out outcome) int64 {
	done := !d.paused && d.problem == nil && out.retry == nil
	switch {
	case beingCollected(s.report):
		return s.report.Generation - 1
	case s.report.DeletionTimestamp == nil, done:
		return s.report.Generation
	}
	return observedGeneration(s)
}

// untilCollected is how long until a report is looked at again that the garbage collector works on, or was done with just now; 0:
// there is none.
func (r *ClusterReconciler) untilCollected(report *v1alpha1.ProxyReport) time.Duration {
	switch {
	case report == nil || report.DeletionTimestamp == nil:
		return 0
	case beingCollected(report):
		return retryCollected
	}
	return r.memory.untilCollected(client.ObjectKeyFromObject(report), time.Now())
}

// sharedOwnership reports whether an object is to be owned by the Cluster, beside the report.
// While the Cluster waits for its dependents, the collector takes that reference
// away, and must not find it again. With a new key of the write memory, only the
// API server's answer tells whether the content changed, so nothing else may.
func sharedOwnership(cluster *clusterv1.Cluster, last v1alpha1.SecretRecord, newKey bool) bool {
	switch {
	case beingCollected(cluster):
		return false
	case newKey && last.UID != "":
		return last.OwnedByCluster
	}
	return true
}
