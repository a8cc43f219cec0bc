package controller

import (
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// retryCollected is for a report that the garbage collector works on. It takes no
// more than a moment, and the event of its end may be lost with a restart.
const retryCollected = time.Second

// reportChanged lets through what concerns us of a report: that it is asked for
// something, deleted, or that the garbage collector is done with it, which is
// remembered. Our own status updates come back as events, too.
func (r *ClusterReconciler) reportChanged() predicate.Predicate {
	finalizers := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		if beingCollected(e.ObjectOld) && !beingCollected(e.ObjectNew) {
			r.collected.add(client.ObjectKeyFromObject(e.ObjectNew))
		}
		return !slices.Equal(e.ObjectOld.GetFinalizers(), e.ObjectNew.GetFinalizers())
	}}
	return predicate.Or(finalizers, predicate.AnnotationChangedPredicate{}, predicate.GenerationChangedPredicate{})
}

// collected are the reports that the garbage collector was done with since everything
// was last applied. The first deletion raises the generation, further ones do not.
type collected struct {
	mu   sync.Mutex
	keys map[types.NamespacedName]bool
}

func (c *collected) add(report types.NamespacedName) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keys == nil {
		c.keys = map[types.NamespacedName]bool{}
	}
	c.keys[report] = true
}

// take reports whether it is one of them, and from now on it is not.
func (c *collected) take(report types.NamespacedName) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.keys[report]
	delete(c.keys, report)
	return was
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
	return r.collected.take(client.ObjectKeyFromObject(s.report)) || observedGeneration(s) != s.report.Generation
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

// afterCollector has a report that the garbage collector works on looked at soon.
func afterCollector(report *v1alpha1.ProxyReport, result ctrl.Result) ctrl.Result {
	if report != nil && beingCollected(report) && (result.RequeueAfter == 0 || result.RequeueAfter > retryCollected) {
		result.RequeueAfter = retryCollected
	}
	return result
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
