package machines

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
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
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// Register adds the controller to the manager.
func (r *Reconciler) Register(mgr ctrl.Manager) error {
	concerned := predicate.NewPredicateFuncs(r.concerns)
	return ctrl.NewControllerManagedBy(mgr).
		Named("rollout").
		Watches(&v1alpha1.ProxyReport{}, fleetChanged, builder.WithPredicates(concernsRollout, concerned)).
		Watches(&v1alpha1.CorporateProxy{}, fleetChanged, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&clusterv1.Cluster{}, fleetChanged, builder.WithPredicates(machinery.Meant, concerned)).
		Watches(&corev1.ConfigMap{}, fleetChanged, builder.WithPredicates(controls)).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, EnableWarmup: ptr.To(true), UsePriorityQueue: ptr.To(false), RateLimiter: machinery.Retries()}).
		Complete(r)
}

// fleetChanged asks for one look at the fleet, a moment later: the queue has one
// item for all events until then.
var fleetChanged = machinery.EveryEvent(func(q machinery.Queue, _ client.Object) {
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: "fleet"}}, fleetDelay)
})

const fleetDelay = time.Second

// concerns reports whether an event can matter at all: in a fleet that nobody wants
// rolled, none leads to a look at the others.
func (r *Reconciler) concerns(o client.Object) bool {
	rolling, err := r.rolling(context.Background())
	if err != nil {
		return true // looking once too often is the safe mistake
	}
	report, ok := o.(*v1alpha1.ProxyReport)
	if !ok {
		return len(rolling) > 0
	}
	next := ptr.Deref(report.Status.Rollout, v1alpha1.ReportedRollout{})
	next.Started = nil
	_, wanted := rolling[report.Status.ProxyName]
	return wanted || next != (v1alpha1.ReportedRollout{})
}

// concernsRollout leaves out what the rollout does not decide from; its own messages
// are among that.
var concernsRollout = machinery.Updates(func(before, after *v1alpha1.ProxyReport) bool {
	return !equality.Semantic.DeepEqual(before.Status.Nodes, after.Status.Nodes) ||
		!rollout.Same(placeOf(before), placeOf(after)) ||
		before.Status.ProxyName != after.Status.ProxyName ||
		meta.IsStatusConditionTrue(before.Status.Conditions, v1alpha1.ConditionReady) != meta.IsStatusConditionTrue(after.Status.Conditions, v1alpha1.ConditionReady)
})

// controls lets through where people pause a rollout.
var controls = predicate.NewPredicateFuncs(func(o client.Object) bool {
	_, ok := revision.ControlledProxy(o.GetName())
	return ok
})

func placeOf(report *v1alpha1.ProxyReport) v1alpha1.ReportedRollout {
	next := ptr.Deref(report.Status.Rollout, v1alpha1.ReportedRollout{})
	next.Message = ""
	return next
}

// rolling has the CorporateProxies that say Rolling, by name. What it reads is the
// cache's: nothing of it is changed.
func (r *Reconciler) rolling(ctx context.Context) (map[string]*v1alpha1.CorporateProxy, error) {
	proxies := &v1alpha1.CorporateProxyList{}
	if err := r.Client.List(ctx, proxies, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	rolling := map[string]*v1alpha1.CorporateProxy{}
	for i := range proxies.Items {
		if proxy := &proxies.Items[i]; proxy.Spec.Node.Rollout == v1alpha1.RolloutRolling {
			rolling[proxy.Name] = proxy
		}
	}
	return rolling, nil
}

// machinePolicy has the settings for rolling machines of a CorporateProxy that says Rolling.
type machinePolicy struct {
	pool     rollout.Pool
	waves    rollout.Policy
	deadline time.Duration
	stopped  string
}

func (r *Reconciler) policies(ctx context.Context) (map[string]machinePolicy, error) {
	rolling, err := r.rolling(ctx)
	if err != nil {
		return nil, err
	}
	policies := make(map[string]machinePolicy, len(rolling))
	for name, proxy := range rolling {
		if policies[name], err = r.policyOf(ctx, proxy); err != nil {
			return nil, err
		}
	}
	return policies, nil
}

// policyOf is one cluster at a time, of all CorporateProxies together, without spec.rollout. Where that says something
// impossible, none begins.
func (r *Reconciler) policyOf(ctx context.Context, proxy *v1alpha1.CorporateProxy) (machinePolicy, error) {
	spec := proxy.Spec.Rollout
	if spec == nil {
		return machinePolicy{}, nil
	}
	p := machinePolicy{pool: rollout.Pool{Name: proxy.Name, Places: int(spec.Machines.MaxParallel)}}
	if deadline := spec.Machines.ProgressDeadline; deadline != nil {
		p.deadline = deadline.Duration
	}
	waves, invalid := rollout.ParsePolicy(*spec)
	p.waves = waves
	control, err := r.Revisions.Control(ctx, proxy.Name)
	var unclear *settings.ControlError
	switch {
	case err != nil && !errors.As(err, &unclear):
		return p, err
	case invalid != nil:
		p.stopped = "spec.rollout of the CorporateProxy is invalid"
	case spec.Paused || control.Paused:
		p.stopped = "the rollout of the CorporateProxy is paused"
	}
	return p, nil
}

// fleet reads the reports of clusters that are to be rolled, or were, and what
// decides about each. It returns false while the cache does not have the last claim.
// What it reads is the cache's: nothing of it is changed.
func (r *Reconciler) fleet(ctx context.Context, now time.Time) ([]*rollout.MachineCluster, bool, error) {
	policies, err := r.policies(ctx)
	if err != nil {
		return nil, false, err
	}
	reports := &v1alpha1.ProxyReportList{}
	if err := r.Client.List(ctx, reports, client.UnsafeDisableDeepCopy); err != nil {
		return nil, false, err
	}
	var fleet []*rollout.MachineCluster
	claimed := false
	for i := range reports.Items {
		report := &reports.Items[i]
		if r.claim != nil && report.UID == r.claim.uid {
			if older, err := resourceversion.CompareResourceVersion(report.ResourceVersion, r.claim.version); err != nil || older < 0 {
				return nil, false, err
			}
			claimed = report.Status.Rollout != nil && report.Status.Rollout.After != nil
		}
		policy, wanted := policies[report.Status.ProxyName]
		if !wanted && report.Status.Rollout == nil {
			continue
		}
		c, err := r.cluster(ctx, report, policy)
		if err != nil {
			return nil, false, err
		}
		c.Wanted = wanted
		c.Claimed = claimed && report.UID == r.claim.uid
		fleet = append(fleet, c)
	}
	if !claimed {
		r.claim = nil // its report is gone, or somebody has released it
	}
	r.memory.recall(fleet, now)
	return fleet, true, nil
}

func (r *Reconciler) cluster(ctx context.Context, report *v1alpha1.ProxyReport, policy machinePolicy) (*rollout.MachineCluster, error) {
	c := &rollout.MachineCluster{
		Key: client.ObjectKeyFromObject(report), ReportUID: report.UID, ReportVersion: report.ResourceVersion,
		Ready:   meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionReady),
		Nodes:   report.Status.Nodes,
		Rollout: ptr.Deref(report.Status.Rollout, v1alpha1.ReportedRollout{}),
		Pool:    policy.pool, Deadline: policy.deadline, Stopped: policy.stopped,
	}
	cluster := &clusterv1.Cluster{}
	err := r.Client.Get(ctx, c.Key, cluster, client.UnsafeDisableDeepCopy)
	c.Deleting = err != nil || cluster.DeletionTimestamp != nil
	c.Paused = err == nil && machinery.Paused(cluster)
	if c.Pool.Name != "" {
		c.Pool.Wave = policy.waves.WaveNumber(cluster.Labels)
	}
	return c, client.IgnoreNotFound(err)
}
