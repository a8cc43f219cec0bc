package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/intern"
)

// Of Machines and MachinePools the operator sees metadata only.
const (
	kindMachine     = "Machine"
	kindMachinePool = "MachinePool"
)

// machineMetadata is an object of each kind that is counted, for caches and watches.
func machineMetadata() []*metav1.PartialObjectMetadata {
	var objects []*metav1.PartialObjectMetadata
	for _, kind := range []string{kindMachine, kindMachinePool} {
		object := &metav1.PartialObjectMetadata{}
		object.SetGroupVersionKind(clusterv1.GroupVersion.WithKind(kind))
		objects = append(objects, object)
	}
	return objects
}

// trimMachine keeps of a machine what counting needs: there are far more of them than of anything else. What the
// machines of one cluster have in common is kept once.
func trimMachine(object any) (any, error) {
	meta, is := object.(*metav1.PartialObjectMetadata)
	if !is || meta.Generation == 0 { // it comes through here twice; what the API server sends has a generation
		return object, nil
	}
	kept := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: intern.Text(meta.Kind), APIVersion: intern.Text(meta.APIVersion)}, ObjectMeta: metav1.ObjectMeta{
		Namespace: intern.Text(meta.Namespace), Name: meta.Name, ResourceVersion: meta.ResourceVersion,
		CreationTimestamp: meta.CreationTimestamp, DeletionTimestamp: meta.DeletionTimestamp,
	}}
	if o := ownerOf(meta); o != (owner{}) {
		kept.OwnerReferences = ownersOnce.Get(o, func() []metav1.OwnerReference {
			return []metav1.OwnerReference{{Kind: o.kind, Name: o.name, Controller: ptr.To(true)}} // ownerOf finds it again
		})
	}
	if cluster := meta.Labels[clusterv1.ClusterNameLabel]; cluster != "" {
		kept.Labels = labelsOnce.Get(cluster, func() map[string]string { return map[string]string{clusterv1.ClusterNameLabel: cluster} })
	}
	return kept, nil
}

// Of 5,000 clusters, some owners each.
var (
	ownersOnce = intern.Map[owner, []metav1.OwnerReference]{Most: 50_000}
	labelsOnce = intern.Map[string, map[string]string]{Most: 50_000}
)

// ownerOf says who replaces a machine: the MachineDeployment or MachinePool that
// Cluster API labels it with, or else its controller: a control plane, a
// MachineSet that stands alone.
func ownerOf(m *metav1.PartialObjectMetadata) owner {
	if name := m.Labels[clusterv1.MachineDeploymentNameLabel]; name != "" {
		return owner{rollout.MachineDeployment, name}
	}
	if name := m.Labels[clusterv1.MachinePoolNameLabel]; name != "" {
		return owner{kindMachinePool, name}
	}
	if controller := metav1.GetControllerOfNoCopy(m); controller != nil {
		return owner{controller.Kind, controller.Name}
	}
	return owner{}
}

// clusterIndex finds machines by the name of their Cluster.
const clusterIndex = "cluster"

// newInformer gives machines, of which there are far more than of anything else, the one index that is read. The name and
// the form of its keys are those by which controller-runtime's caches look for a field in a namespace.
func newInformer(lw toolscache.ListerWatcher, object runtime.Object, resync time.Duration, indexers toolscache.Indexers) toolscache.SharedIndexInformer {
	if machines, is := object.(*metav1.PartialObjectMetadata); is && machines.GroupVersionKind().Group == clusterv1.GroupVersion.Group {
		indexers = toolscache.Indexers{"field:" + clusterIndex: func(o any) ([]string, error) {
			m, err := meta.Accessor(o)
			if err != nil {
				return nil, err
			}
			return []string{m.GetNamespace() + "/" + m.GetLabels()[clusterv1.ClusterNameLabel]}, nil
		}}
	}
	return toolscache.NewSharedIndexInformer(lw, object, resync, indexers)
}

// readMachines returns the machines and pools of a cluster that are not being deleted.
func (r *ClusterReconciler) readMachines(ctx context.Context, cluster types.NamespacedName) ([]machine, error) {
	var machines []machine
	for _, object := range machineMetadata() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(object.GroupVersionKind())
		err := r.Client.List(ctx, list, client.InNamespace(cluster.Namespace), client.MatchingFields{clusterIndex: cluster.Name},
			client.UnsafeDisableDeepCopy)
		if err != nil {
			return nil, err
		}
		for i := range list.Items {
			m := &list.Items[i]
			if m.DeletionTimestamp == nil {
				machines = append(machines, machine{object.Kind == kindMachinePool, m.CreationTimestamp, ownerOf(m)})
			}
		}
	}
	return machines, nil
}

// machineDelay lets machines that come and go together be counted together.
const machineDelay = time.Second

// machinesChanged asks for a look at the Cluster of a machine, a moment later.
var machinesChanged = handler.Funcs{
	CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueueCluster(q, e.Object) },
	UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
		enqueueCluster(q, e.ObjectOld)
		enqueueCluster(q, e.ObjectNew)
	},
	DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueueCluster(q, e.Object) },
}

func enqueueCluster(q queue, m client.Object) {
	if cluster := m.GetLabels()[clusterv1.ClusterNameLabel]; cluster != "" {
		enqueue(q, machineDelay, reconcile.Request{NamespacedName: types.NamespacedName{Namespace: m.GetNamespace(), Name: cluster}})
	}
}

// countsChanged ignores the updates of a machine that change no count: Cluster API
// makes many. After a watch was interrupted, another machine of the same name comes
// as an update, too.
var countsChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, isBefore := e.ObjectOld.(*metav1.PartialObjectMetadata)
	after, isAfter := e.ObjectNew.(*metav1.PartialObjectMetadata)
	if !isBefore || !isAfter {
		return true
	}
	return !before.CreationTimestamp.Equal(&after.CreationTimestamp) || (before.DeletionTimestamp == nil) != (after.DeletionTimestamp == nil) ||
		ownerOf(before) != ownerOf(after) ||
		before.Labels[clusterv1.ClusterNameLabel] != after.Labels[clusterv1.ClusterNameLabel]
}}
