package controller

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/internal/inputs"
)

// Register adds the controller to the manager.
func (r *ClusterReconciler) Register(mgr ctrl.Manager, concurrency int) error {
	// Cluster API updates the status of a Cluster all the time; nothing in it
	// concerns us.
	meant := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.LabelChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	same := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
	})
	all := handler.EnqueueRequestsFromMapFunc(r.allClusters)
	controlled := ctrl.NewControllerManagedBy(mgr).
		Named("cluster").
		For(&clusterv1.Cluster{}, builder.WithPredicates(meant)).
		Watches(&v1alpha1.ProxyOverride{}, same, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		// Our own status updates come back as events; only being created, asked
		// for something or deleted calls for a look.
		Watches(&v1alpha1.ProxyReport{}, same, builder.WithPredicates(predicate.AnnotationChangedPredicate{})).
		Watches(&v1alpha1.CorporateProxy{}, all, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Secret{}, all, builder.WithPredicates(predicate.NewPredicateFuncs(r.isRead))).
		Watches(&corev1.ConfigMap{}, all, builder.WithPredicates(predicate.Or(predicate.NewPredicateFuncs(isFacts), predicate.NewPredicateFuncs(r.isRead)))).
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(r.clustersIn), builder.WithPredicates(labelsOnly)).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			EnableWarmup:            ptr.To(true), // a standby has warm caches
			UsePriorityQueue:        ptr.To(false),
		})
	if r.Management != (types.NamespacedName{}) {
		controlled.Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(r.toManagement), builder.WithPredicates(endpointsChange(r.Management)))
	}
	for _, object := range machineMetadata() {
		controlled.WatchesMetadata(object, machinesChanged, builder.WithPredicates(countsChanged))
	}
	return controlled.Complete(r)
}

// labelsOnly ignores the creation of a namespace, which the API server ensures
// before anything is in it, but not that of the first listing.
var labelsOnly = predicate.Funcs{
	CreateFunc: func(event.CreateEvent) bool { return false },
	UpdateFunc: predicate.LabelChangedPredicate{}.Update,
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

func isFacts(o client.Object) bool {
	_, labelled := o.GetLabels()[v1alpha1.ProviderFactsLabel]
	return labelled
}

// isRead reports whether a Secret or ConfigMap of the operator's namespace is one
// that a CorporateProxy names, or the key of the write memory.
func (r *ClusterReconciler) isRead(o client.Object) bool {
	ref := reference(o)
	if ref == (inputs.Reference{Kind: inputs.KindSecret, Name: MemorySecret}) {
		return true
	}
	proxies := &v1alpha1.CorporateProxyList{}
	if err := r.Client.List(context.Background(), proxies); err != nil {
		return true // looking once too often is the safe mistake
	}
	return slices.ContainsFunc(proxies.Items, func(p v1alpha1.CorporateProxy) bool {
		return slices.Contains(inputs.References(&p), ref)
	})
}

func reference(o client.Object) inputs.Reference {
	if _, is := o.(*corev1.ConfigMap); is {
		return inputs.Reference{Kind: inputs.KindConfigMap, Name: o.GetName()}
	}
	return inputs.Reference{Kind: inputs.KindSecret, Name: o.GetName()}
}

func (r *ClusterReconciler) allClusters(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.requests(ctx)
}

func (r *ClusterReconciler) clustersIn(ctx context.Context, namespace client.Object) []reconcile.Request {
	return r.requests(ctx, client.InNamespace(namespace.GetName()))
}

func (r *ClusterReconciler) requests(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	clusters := &clusterv1.ClusterList{}
	if err := r.Client.List(ctx, clusters, opts...); err != nil {
		log.FromContext(ctx).Error(err, "listing Clusters in the cache")
		return nil
	}
	requests := make([]reconcile.Request, len(clusters.Items))
	for i, cluster := range clusters.Items {
		requests[i].NamespacedName = types.NamespacedName{Namespace: cluster.Namespace, Name: cluster.Name}
	}
	return requests
}
