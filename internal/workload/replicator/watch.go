package replicator

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
)

const (
	concurrency = 10               // namespaces at a time
	firstRetry  = time.Second / 10 // of what the API server refused
	lastRetry   = 30 * time.Second
)

// Register adds the controller to the manager.
func (r *Reconciler) Register(mgr ctrl.Manager) error {
	all := ctrl.NewControllerManagedBy(mgr).
		Named("replicator").
		For(&corev1.Namespace{}, builder.OnlyMetadata, builder.WithPredicates(predicate.Or(predicate.LabelChangedPredicate{}, servedChanged))).
		Watches(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.concerned)).
		Watches(&corev1.ConfigMap{}, handler.EnqueueRequestsFromMapFunc(r.concerned)).
		WatchesMetadata(&corev1.Pod{}, handler.EnqueueRequestsFromMapFunc(r.firstToNeed), builder.WithPredicates(created)).
		WithOptions(options())
	var failed error
	if r.OnDemand.pods != nil {
		failed = mgr.Add(r.OnDemand.pods)
		all = all.WatchesRawSource(r.OnDemand.source())
	}
	if r.origin.apart() {
		failed = errors.Join(failed, mgr.Add(r.origin.secrets))
		all = all.WatchesRawSource(r.origin.source(r.concerned))
	}
	return errors.Join(failed, all.Complete(r))
}

func options() controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: concurrency,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstRetry, lastRetry),
		EnableWarmup:            ptr.To(true), // a standby has warm caches
		UsePriorityQueue:        ptr.To(false),
	}
}

// concerned returns all namespaces if a source changed, or the namespace of a copy.
func (r *Reconciler) concerned(ctx context.Context, object client.Object) []reconcile.Request {
	if object.GetNamespace() != r.Namespace || r.origin.apart() && object.GetName() == proxysecret.Name {
		return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: object.GetNamespace()}}}
	}
	namespaces := metadataList("NamespaceList")
	if err := r.Client.List(ctx, namespaces); err != nil {
		log.FromContext(ctx).Error(err, "listing namespaces in the cache")
		return nil
	}
	requests := make([]reconcile.Request, len(namespaces.Items))
	for i, namespace := range namespaces.Items {
		requests[i].Name = namespace.Name
	}
	return requests
}

// firstToNeed returns the namespace of a pod that mounts the ConfigMap, if there is none yet.
func (r *Reconciler) firstToNeed(ctx context.Context, pod client.Object) []reconcile.Request {
	found, err := find(ctx, r.Client, pod.GetNamespace(), proxysecret.TrustedCAName, &corev1.ConfigMap{})
	if err != nil {
		log.FromContext(ctx).Error(err, "reading a ConfigMap in the cache")
	}
	if found != nil || pod.GetNamespace() == r.Namespace {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Name: pod.GetNamespace()}}}
}

// created lets only new objects through: a pod's label does not come later.
var created = predicate.Funcs{
	UpdateFunc: func(event.UpdateEvent) bool { return false },
	DeleteFunc: func(event.DeleteEvent) bool { return false },
}

// metadata returns an object of a core kind of which nothing else is read.
func metadata(kind string) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return object
}

func metadataList(kind string) *metav1.PartialObjectMetadataList {
	list := &metav1.PartialObjectMetadataList{}
	list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(kind))
	return list
}
