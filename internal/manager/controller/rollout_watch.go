package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
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
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

// Register adds the controller to the manager.
func (r *RolloutReconciler) Register(mgr ctrl.Manager) error {
	concerned := predicate.NewPredicateFuncs(r.concerns)
	meant := predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{})
	return ctrl.NewControllerManagedBy(mgr).
		Named("rollout").
		Watches(&v1alpha1.ProxyReport{}, fleetChanged, builder.WithPredicates(concernsRollout, concerned)).
		Watches(&v1alpha1.CorporateProxy{}, fleetChanged, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&clusterv1.Cluster{}, fleetChanged, builder.WithPredicates(meant, concerned)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, EnableWarmup: ptr.To(true), UsePriorityQueue: ptr.To(false), RateLimiter: retries()}).
		Complete(r)
}

// fleetChanged asks for one look at the fleet, a moment later: the queue has one
// item for all events until then.
var fleetChanged = handler.Funcs{
	CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { enqueueFleet(q) },
	UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q queue) { enqueueFleet(q) },
	DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { enqueueFleet(q) },
}

const fleetDelay = time.Second

func enqueueFleet(q queue) {
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: "fleet"}}, fleetDelay)
}

// concerns reports whether an event can matter at all: in a fleet that nobody wants
// rolled, none leads to a look at the others.
func (r *RolloutReconciler) concerns(o client.Object) bool {
	rolling, err := r.rolling(context.Background())
	if err != nil {
		return true // looking once too often is the safe mistake
	}
	report, is := o.(*v1alpha1.ProxyReport)
	if !is {
		return len(rolling) > 0
	}
	next := ptr.Deref(report.Status.Rollout, v1alpha1.ReportedRollout{})
	next.Started = nil
	return rolling[report.Status.ProxyName] || next != (v1alpha1.ReportedRollout{})
}

// concernsRollout leaves out what the rollout does not decide from; its own messages
// are among that.
var concernsRollout = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, isBefore := e.ObjectOld.(*v1alpha1.ProxyReport)
	after, isAfter := e.ObjectNew.(*v1alpha1.ProxyReport)
	if !isBefore || !isAfter {
		return true
	}
	return !equality.Semantic.DeepEqual(before.Status.Nodes, after.Status.Nodes) ||
		!rollout.Same(placeOf(before), placeOf(after)) ||
		before.Status.ProxyName != after.Status.ProxyName ||
		meta.IsStatusConditionTrue(before.Status.Conditions, v1alpha1.ConditionReady) != meta.IsStatusConditionTrue(after.Status.Conditions, v1alpha1.ConditionReady)
}}

func placeOf(report *v1alpha1.ProxyReport) v1alpha1.ReportedRollout {
	next := ptr.Deref(report.Status.Rollout, v1alpha1.ReportedRollout{})
	next.Message = ""
	return next
}

// rolling names the CorporateProxies that say Rolling. What it reads is the cache's:
// nothing of it is changed.
func (r *RolloutReconciler) rolling(ctx context.Context) (map[string]bool, error) {
	proxies := &v1alpha1.CorporateProxyList{}
	if err := r.Client.List(ctx, proxies, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	rolling := map[string]bool{}
	for i := range proxies.Items {
		if proxies.Items[i].Spec.Node.Rollout == v1alpha1.RolloutRolling {
			rolling[proxies.Items[i].Name] = true
		}
	}
	return rolling, nil
}

// fleet reads the reports of clusters that are to be rolled, or were, and what
// decides about each. It returns false while the cache does not have the last claim.
// What it reads is the cache's: nothing of it is changed.
func (r *RolloutReconciler) fleet(ctx context.Context, now time.Time) ([]*rollout.Cluster, bool, error) {
	rolling, err := r.rolling(ctx)
	if err != nil {
		return nil, false, err
	}
	reports := &v1alpha1.ProxyReportList{}
	if err := r.Client.List(ctx, reports, client.UnsafeDisableDeepCopy); err != nil {
		return nil, false, err
	}
	var fleet []*rollout.Cluster
	claimed := false
	for i := range reports.Items {
		report := &reports.Items[i]
		if r.claim != nil && report.UID == r.claim.uid {
			if older, err := resourceversion.CompareResourceVersion(report.ResourceVersion, r.claim.version); err != nil || older < 0 {
				return nil, false, err
			}
			claimed = report.Status.Rollout != nil && report.Status.Rollout.After != nil
		}
		if !rolling[report.Status.ProxyName] && report.Status.Rollout == nil {
			continue
		}
		c, err := r.cluster(ctx, report)
		if err != nil {
			return nil, false, err
		}
		c.Wanted = rolling[report.Status.ProxyName]
		c.Claimed = claimed && report.UID == r.claim.uid
		fleet = append(fleet, c)
	}
	if !claimed {
		r.claim = nil // its report is gone, or somebody has released it
	}
	r.memory.recall(fleet, now)
	return fleet, true, nil
}

func (r *RolloutReconciler) cluster(ctx context.Context, report *v1alpha1.ProxyReport) (*rollout.Cluster, error) {
	c := &rollout.Cluster{
		Key: client.ObjectKeyFromObject(report), ReportUID: report.UID, ReportVersion: report.ResourceVersion,
		Ready:   meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionReady),
		Nodes:   report.Status.Nodes,
		Rollout: ptr.Deref(report.Status.Rollout, v1alpha1.ReportedRollout{}),
	}
	cluster := &clusterv1.Cluster{}
	err := r.Client.Get(ctx, c.Key, cluster, client.UnsafeDisableDeepCopy)
	c.Deleting = err != nil || cluster.DeletionTimestamp != nil
	c.Paused = err == nil && paused(cluster)
	return c, client.IgnoreNotFound(err)
}
