package cluster

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"time"

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
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// endpointsDelay lets endpoints that come together be evaluated together: each evaluation is about all of them.
const endpointsDelay = 2 * time.Second

// endpoints reconciles the management cluster when another one's endpoint changes, a moment later.
func (r *Reconciler) endpoints() handler.EventHandler {
	return machinery.EveryEvent(func(q machinery.Queue, _ client.Object) {
		machinery.Enqueue(q, endpointsDelay, reconcile.Request{NamespacedName: r.Management})
	})
}

// endpointsChange holds where another cluster's endpoint appears, changes or goes.
func endpointsChange(management types.NamespacedName) predicate.Predicate {
	known := func(o client.Object) bool { return endpointOf(o).Host != "" }
	return predicate.And(predicate.NewPredicateFuncs(func(o client.Object) bool {
		return client.ObjectKeyFromObject(o) != management
	}), predicate.Funcs{
		CreateFunc: func(e event.CreateEvent) bool { return known(e.Object) },
		DeleteFunc: func(e event.DeleteEvent) bool { return known(e.Object) },
		UpdateFunc: func(e event.UpdateEvent) bool { return endpointOf(e.ObjectOld) != endpointOf(e.ObjectNew) },
	})
}

func endpointOf(o client.Object) clusterv1.APIEndpoint {
	cluster, ok := o.(*clusterv1.Cluster)
	if !ok {
		return clusterv1.APIEndpoint{}
	}
	return cluster.Spec.ControlPlaneEndpoint
}

// Register adds the controller to the manager.
func (r *Reconciler) Register(mgr ctrl.Manager, concurrency int) error {
	r.newcomers.most = concurrency - 2
	same := handler.EnqueueRequestsFromMapFunc(func(_ context.Context, o client.Object) []reconcile.Request {
		return []reconcile.Request{{NamespacedName: client.ObjectKeyFromObject(o)}}
	})
	controlled := ctrl.NewControllerManagedBy(mgr).
		Named("cluster").
		For(&clusterv1.Cluster{}, builder.WithPredicates(machinery.Meant)).
		Watches(&v1alpha1.ProxyOverride{}, same, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.ProxyReport{}, r.reports()).
		Watches(&v1alpha1.CorporateProxy{}, r.fanOut(r.selectedByEither), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Secret{}, r.fanOut(r.readersOf), builder.WithPredicates(contentChanged)).
		Watches(&corev1.ConfigMap{}, r.fanOut(r.readersOf), builder.WithPredicates(contentChanged)).
		WatchesMetadata(&corev1.Namespace{}, r.fanOut(r.clustersIn), builder.WithPredicates(machinery.LabelsOnly)).
		WatchesRawSource(r.Waves.ToClusters.Source()).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: concurrency,
			EnableWarmup:            ptr.To(true), // a standby has warm caches
			RateLimiter:             machinery.Retries(),
		})
	if r.Management != (types.NamespacedName{}) {
		controlled.Watches(&clusterv1.Cluster{}, r.endpoints(), builder.WithPredicates(endpointsChange(r.Management)))
	}
	for _, object := range MachineMetadata() {
		controlled.WatchesMetadata(object, machinesChanged, builder.WithPredicates(countsChanged))
	}
	return errors.Join(mgr.Add(r.changes), controlled.Complete(r))
}

// reports reconciles a report's cluster when the report is created, deleted, asked for something, or has news of the cluster;
// the operator's own status updates come back as events that need no answer.
func (r *Reconciler) reports() handler.EventHandler {
	asks := r.reportChanged()
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q machinery.Queue) {
			if !e.IsInInitialList { // its Cluster is in one, too
				q.Add(machinery.RequestFor(e.Object))
				return
			}
			machinery.Enqueue(q, 0, machinery.RequestFor(e.Object))
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q machinery.Queue) {
			if report, ok := e.ObjectNew.(*v1alpha1.ProxyReport); ok {
				r.memory.latest(client.ObjectKeyFromObject(report), report) // nothing newer needs to be kept
			}
			switch {
			case asks.Update(e):
				q.Add(machinery.RequestFor(e.ObjectNew))
			case decide.ObservedNews(e, time.Now()), decide.DeliveredNews(e):
				machinery.Enqueue(q, 0, machinery.RequestFor(e.ObjectNew))
			}
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q machinery.Queue) {
			r.memory.change(client.ObjectKeyFromObject(e.Object), func(c *clusterMemory) { c.written = writtenReport{} })
			q.Add(machinery.RequestFor(e.Object))
		},
	}
}

// affected returns the clusters that a change of an object concerns; old is nil for one that is new, now for one that is gone.
type affected func(ctx context.Context, old, now client.Object) []reconcile.Request

// fanOut reconciles the clusters that a change concerns, at a lower priority than changes of a single cluster.
func (r *Reconciler) fanOut(of affected) handler.EventHandler {
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q machinery.Queue) {
			machinery.Enqueue(q, 0, of(ctx, nil, e.Object)...)
		},
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q machinery.Queue) {
			machinery.Enqueue(q, 0, of(ctx, e.ObjectOld, e.ObjectNew)...)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q machinery.Queue) {
			machinery.Enqueue(q, 0, of(ctx, e.Object, nil)...)
		},
	}
}

func isFacts(o client.Object) bool {
	_, labelled := o.GetLabels()[v1alpha1.ProviderFactsLabel]
	return labelled
}

// contentChanged ignores updates of a Secret or ConfigMap that change nothing in it. Which rows of the table of providers
// are a user's is told by a label.
var contentChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return isFacts(e.ObjectOld) != isFacts(e.ObjectNew) || !maps.EqualFunc(settings.DataOf(e.ObjectOld), settings.DataOf(e.ObjectNew), bytes.Equal)
}}

// selectedByEither returns the clusters that a CorporateProxy selected before or selects now. The others are
// not concerned, unless it is new or was the last.
func (r *Reconciler) selectedByEither(ctx context.Context, old, now client.Object) []reconcile.Request {
	proxies := r.proxies(ctx)
	if old == nil || now == nil && len(proxies) == 0 { // several may be the first at once
		return r.requests(ctx, nil)
	}
	var either []*v1alpha1.CorporateProxy
	for _, object := range []client.Object{old, now} {
		if proxy, ok := object.(*v1alpha1.CorporateProxy); ok {
			either = append(either, proxy)
		}
	}
	return r.requests(ctx, either)
}

// readersOf returns the clusters selected by the CorporateProxies that name a Secret or ConfigMap of the operator's namespace; all for
// rows of the table of providers, and for the key of the write memory.
func (r *Reconciler) readersOf(ctx context.Context, old, now client.Object) []reconcile.Request {
	object := cmp.Or(now, old)
	ref := settings.Reference(object)
	if ref == (inputs.Reference{Kind: inputs.KindSecret, Name: settings.MemorySecret}) || isFacts(object) || old != nil && isFacts(old) {
		return r.requests(ctx, nil)
	}
	var readers []*v1alpha1.CorporateProxy
	proxies := r.proxies(ctx)
	for i := range proxies {
		if slices.Contains(inputs.References(&proxies[i]), ref) {
			readers = append(readers, &proxies[i])
		}
	}
	if len(readers) == 0 {
		return nil
	}
	return r.requests(ctx, readers)
}

func (r *Reconciler) clustersIn(ctx context.Context, _, namespace client.Object) []reconcile.Request {
	return r.requests(ctx, nil, client.InNamespace(namespace.GetName()))
}

func (r *Reconciler) proxies(ctx context.Context) []v1alpha1.CorporateProxy {
	proxies := &v1alpha1.CorporateProxyList{}
	if err := r.Client.List(ctx, proxies, client.UnsafeDisableDeepCopy); err != nil {
		log.FromContext(ctx).Error(err, "listing CorporateProxies in the cache")
	}
	return proxies.Items
}

// requests returns the clusters that one of the proxies selects, all if there are none.
func (r *Reconciler) requests(ctx context.Context, proxies []*v1alpha1.CorporateProxy, opts ...client.ListOption) []reconcile.Request {
	clusters := &clusterv1.ClusterList{}
	if err := r.Client.List(ctx, clusters, append(opts, client.UnsafeDisableDeepCopy)...); err != nil {
		log.FromContext(ctx).Error(err, "listing Clusters in the cache")
		return nil
	}
	var requests []reconcile.Request
	for i := range clusters.Items {
		labels := clusters.Items[i].Labels
		if proxies == nil || slices.ContainsFunc(proxies, func(p *v1alpha1.CorporateProxy) bool { return inputs.Selects(p, labels) }) {
			requests = append(requests, machinery.RequestFor(&clusters.Items[i]))
		}
	}
	return requests
}
