package cluster

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

// MachineMetadata returns an object of each kind that is counted, for caches and watches.
func MachineMetadata() []*metav1.PartialObjectMetadata {
	var objects []*metav1.PartialObjectMetadata
	for _, kind := range []string{"Machine", decide.MachinePoolKind} {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(kind))
		objects = append(objects, object)
	}
	return objects
}

// ClusterIndex finds machines by the name of their Cluster.
const ClusterIndex = "cluster"

// readMachines returns the machines and pools of a cluster that are not being deleted.
func (r *Reconciler) readMachines(ctx context.Context, cluster types.NamespacedName) ([]decide.Machine, error) {
	var machines []decide.Machine
	for _, object := range MachineMetadata() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(object.GroupVersionKind())
		err := r.Client.List(ctx, list, client.InNamespace(cluster.Namespace), client.MatchingFields{ClusterIndex: cluster.Name},
			client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			m := &list.Items[i]
			if m.DeletionTimestamp == nil {
				machines = append(machines, decide.Machine{Pool: object.Kind == decide.MachinePoolKind, Created: m.CreationTimestamp, Owner: decide.OwnerOf(m)})
			}
		}
	}
	return machines, nil
}

// machineDelay lets machines that come and go together be counted together.
const machineDelay = time.Second

// machinesChanged asks for a look at the Cluster of a machine, a moment later.
var machinesChanged = machinery.EveryEvent(func(q machinery.Queue, m client.Object) {
	if cluster := m.GetLabels()[clusterv1.ClusterNameLabel]; cluster != "" {
		machinery.Enqueue(q, machineDelay, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: m.GetNamespace(), Name: cluster}})
	}
})

// countsChanged ignores the updates of a machine that change no count: Cluster API
// makes many. After a watch was interrupted, another machine of the same name comes
// as an update, too.
var countsChanged = machinery.Updates(func(before, after *metav1.PartialObjectMetadata) bool {
	return !before.CreationTimestamp.Equal(&after.CreationTimestamp) || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
		decide.OwnerOf(before) != decide.OwnerOf(after) ||
		before.Labels[clusterv1.ClusterNameLabel] != after.Labels[clusterv1.ClusterNameLabel]
})
