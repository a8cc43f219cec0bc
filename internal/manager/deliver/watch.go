package deliver

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const (
	labelIndex = "label"
	atATime    = 10
)

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func byLabel(o client.Object) []string {
	if value := o.GetLabels()[v1alpha1.DeliverLabel]; value != "" {
		return []string{value}
	}
	return nil
}

func (r *Reconciler) register(mgr ctrl.Manager) error {
	owner := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return named(o.GetNamespace(), o.GetLabels()[v1alpha1.DeliverLabel])
	})
	same := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return named(o.GetNamespace(), o.GetName())
	})
	// The caches hold only the fields that are read. A change of any other field is
	// no event.
	return ctrl.NewControllerManagedBy(mgr).
		Named("deliver").
		Watches(&clusterv1.Cluster{}, clusters, builder.WithPredicates(changed)).
		Watches(&v1alpha1.ProxyReport{}, same, builder.WithPredicates(changed)).
		Watches(&addonsv1.ClusterResourceSet{}, owner, builder.WithPredicates(changed)).
		Watches(&addonsv1.ClusterResourceSetBinding{}, same, builder.WithPredicates(changed)).
		WithOptions(controller.Options{MaxConcurrentReconciles: atATime}).
		Complete(r)
}

// clusters reconciles a Cluster, and whom its label names now and named before.
var clusters = handler.Funcs{
	CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) { enqueue(q, e.Object) },
	UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
		enqueue(q, e.ObjectOld)
		enqueue(q, e.ObjectNew)
	},
	DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) { enqueue(q, e.Object) },
}

func enqueue(q queue, o client.Object) {
	for _, request := range append(named(o.GetNamespace(), o.GetName()), named(o.GetNamespace(), o.GetLabels()[v1alpha1.DeliverLabel])...) {
		q.Add(request)
	}
}

func named(namespace, name string) []reconcile.Request {
	if name == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}}
}

// changed ignores updates by which nothing changes that the caches hold.
var changed = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, after := e.ObjectOld.DeepCopyObject().(client.Object), e.ObjectNew.DeepCopyObject().(client.Object)
	before.SetResourceVersion("")
	after.SetResourceVersion("")
	return !equality.Semantic.DeepEqual(before, after)
}}
