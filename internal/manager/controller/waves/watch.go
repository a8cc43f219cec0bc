package waves

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
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
	"github.com/fairlead-io/fairlead/internal/core/observation"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

// The fleet is looked at some time after an event: the queue has one item for all events until then. A look at a large fleet
// takes longer, and it waits longer for the next, so that it takes a tenth of a processor at most.
const (
	waveDelay        = 200 * time.Millisecond
	longestWaveDelay = 2 * time.Second
	pausePerPass     = 10
)

func (r *Reconciler) delay() time.Duration { return max(time.Duration(r.pause.Load()), waveDelay) }

var fleetRequest = reconcile.Request{NamespacedName: types.NamespacedName{Name: "fleet"}}

// Register adds the controller to the manager.
func (r *Reconciler) Register(mgr ctrl.Manager) error {
	soon := machinery.EveryEvent(func(q machinery.Queue, _ client.Object) { q.AddAfter(fleetRequest, r.delay()) })
	wanted := predicate.NewPredicateFuncs(func(client.Object) bool { return r.Wanted() })
	return ctrl.NewControllerManagedBy(mgr).
		Named("waves").
		Watches(&v1alpha1.CorporateProxy{}, soon, builder.WithPredicates(machinery.Meant)).
		Watches(&clusterv1.Cluster{}, soon, builder.WithPredicates(wanted, predicate.Or(machinery.Meant, beingDeleted))).
		Watches(&v1alpha1.ProxyOverride{}, soon, builder.WithPredicates(wanted, predicate.GenerationChangedPredicate{})).
		Watches(&v1alpha1.ProxyReport{}, soon, builder.WithPredicates(wanted, Concerned)).
		Watches(&v1alpha1.ProxyReport{}, r.observed(), builder.WithPredicates(wanted)).
		Watches(&corev1.Secret{}, soon, builder.WithPredicates(wanted)).
		Watches(&corev1.ConfigMap{}, soon, builder.WithPredicates(wanted)).
		WatchesMetadata(&corev1.Namespace{}, soon, builder.WithPredicates(wanted, machinery.LabelsOnly)).
		WatchesRawSource(r.again.Source()).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, EnableWarmup: ptr.To(true), UsePriorityQueue: ptr.To(false), RateLimiter: machinery.Retries()}).
		Complete(r)
}

// Wanted reports whether any CorporateProxy has a rollout, or had one, and clusters still have its revisions. Otherwise no event
// leads to a look at the fleet.
func (r *Reconciler) Wanted() bool {
	if r.linger.Load() {
		return true
	}
	proxies := &v1alpha1.CorporateProxyList{}
	if err := r.Client.List(context.Background(), proxies, client.UnsafeDisableDeepCopy); err != nil {
		return true // looking once too often is the safe mistake
	}
	return anyRollout(proxies.Items)
}

// Concerned leaves out what the decision is not made from.
var Concerned = machinery.Updates(func(before, after *v1alpha1.ProxyReport) bool {
	earlier, current := meta.FindStatusCondition(before.Status.Conditions, v1alpha1.ConditionReady), meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionReady)
	return before.Annotations[v1alpha1.RevisionAnnotation] != after.Annotations[v1alpha1.RevisionAnnotation] ||
		before.Annotations[v1alpha1.HadProxyAnnotation] != after.Annotations[v1alpha1.HadProxyAnnotation] ||
		before.Status.Mode != after.Status.Mode ||
		!equality.Semantic.DeepEqual(earlier, current) ||
		!equality.Semantic.DeepEqual(before.Status.Revision, after.Status.Revision) ||
		observation.News(before.Status.Observed, after.Status.Observed) ||
		firstSinceRevision(before.Status, after.Status) ||
		!equality.Semantic.DeepEqual(before.Status.Nodes, after.Status.Nodes)
})

// calmDelay is how long an observation without news may wait: of a large fleet, there are several each second.
const calmDelay = 30 * time.Second

// observed is for observations without news: with time, older credentials become unseen.
func (r *Reconciler) observed() handler.EventHandler {
	return handler.Funcs{UpdateFunc: func(_ context.Context, e event.UpdateEvent, q machinery.Queue) {
		before, isBefore := e.ObjectOld.(*v1alpha1.ProxyReport)
		after, isAfter := e.ObjectNew.(*v1alpha1.ProxyReport)
		if isBefore && isAfter && !equality.Semantic.DeepEqual(before.Status.Observed, after.Status.Observed) {
			delay := calmDelay
			if observation.Changing(after.Status.Observed) {
				delay = r.delay()
			}
			q.AddAfter(fleetRequest, delay)
		}
	}}
}

// firstSinceRevision reports whether an observation is the first that says anything about the revision of the Secrets, even if it
// says what the last one said.
func firstSinceRevision(before, after v1alpha1.ProxyReportStatus) bool {
	since, seen := after.RevisionSince, after.Observed
	return since != nil && seen != nil && seen.Time.After(since.Time) && (before.Observed == nil || !before.Observed.Time.After(since.Time))
}

var beingDeleted = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return (e.ObjectOld.GetDeletionTimestamp() == nil) != (e.ObjectNew.GetDeletionTimestamp() == nil)
}}
