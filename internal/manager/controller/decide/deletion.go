package decide

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// BeingCollected reports whether the garbage collector takes the references to an
// owner away, or what it owns, by the finalizer that the deletion left on it.
func BeingCollected(owner metav1.Object) bool {
	return owner.GetDeletionTimestamp() != nil &&
		(slices.Contains(owner.GetFinalizers(), metav1.FinalizerDeleteDependents) || slices.Contains(owner.GetFinalizers(), metav1.FinalizerOrphanDependents))
}

// NextGeneration returns the generation of the report that its conditions are about. The
// generation of a deletion counts only once everything was applied after it.
func NextGeneration(s *State, d Decision, out Outcome) int64 {
	done := !d.Paused && d.Problem == nil && out.Retry == nil
	switch {
	case BeingCollected(s.Report):
		return s.Report.Generation - 1
	case s.Report.DeletionTimestamp == nil, done:
		return s.Report.Generation
	}
	return ObservedGeneration(s)
}

// sharedOwnership reports whether an object is to be owned by the Cluster, beside the report.
// While the Cluster waits for its dependents, the collector takes that reference
// away, and must not find it again. With a new key of the write memory, only the
// API server's answer tells whether the content changed, so nothing else may.
func sharedOwnership(cluster *clusterv1.Cluster, last v1alpha1.SecretRecord, newKey bool) bool {
	switch {
	case BeingCollected(cluster):
		return false
	case newKey && last.UID != "":
		return last.OwnedByCluster
	}
	return true
}
