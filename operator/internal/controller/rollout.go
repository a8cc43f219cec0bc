package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
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
)

// RolloutReconciler replaces outdated machines where a CorporateProxy says Rolling:
// it sets spec.rollout.after of one owner at a time, in one cluster at a time. It
// looks at the whole fleet, and has one worker.
type RolloutReconciler struct {
	Client   client.Client
	Live     client.Reader
	Events   events.EventRecorder
	Interval time.Duration // at least this long from the beginning of one cluster's to the next
}

// retryUnwatched is for permissions, and for machines that are to become available.
const retryUnwatched = time.Minute

// Reconcile does the next thing, if there is one.
func (r *RolloutReconciler) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	fleet, err := r.fleet(ctx, r.Client)
	if err != nil {
		return ctrl.Result{}, err
	}
	next := planRollout(fleet, time.Now(), r.Interval)
	if len(next.turn) > 0 && !next.underWay {
		// The cache may not have what the last look wrote, and two at a time must not be.
		if fleet, err = r.fleet(ctx, r.Live); err != nil {
			return ctrl.Result{}, err
		}
		next = planRollout(fleet, time.Now(), r.Interval)
	}
	result := ctrl.Result{RequeueAfter: next.wait}
	for i, c := range next.turn {
		begun, err := r.advance(ctx, c)
		var blocked *blockedError
		if errors.As(err, &blocked) {
			err, result.RequeueAfter, begun = r.sayBlocked(ctx, c, blocked), sooner(result.RequeueAfter, retryUnwatched), true
		}
		if apierrors.IsConflict(err) { // somebody was faster, or the cache is behind
			return ctrl.Result{RequeueAfter: fleetDelay}, nil
		}
		if err != nil {
			return ctrl.Result{}, err
		}
		if begun {
			next.rest = append(next.rest, next.turn[i+1:]...)
			break
		}
	}
	for _, c := range next.rest {
		if err := r.say(ctx, c, c.describe()); err != nil {
			return ctrl.Result{}, err
		}
	}
	return result, nil
}

// advance rolls the first owner of a cluster that has outdated machines, unless it
// is being rolled, or the one before has not all its machines yet. It returns false
// if there is nothing left that Fairlead can roll: then another cluster may begin.
func (r *RolloutReconciler) advance(ctx context.Context, c *fleetCluster) (bool, error) {
	owners := c.toRoll()
	if len(owners) > 0 && !c.mayBegin() { // it is under way, and may not go on
		said := c.describe()
		said.After, said.Owner = c.rollout.After, c.rollout.Owner
		return true, r.say(ctx, c, said)
	}
	if o, is := c.lastRolled(); is {
		state, err := readOwner(ctx, r.Live, c.key.Namespace, o)
		if err != nil {
			return false, err
		}
		if !state.complete() {
			return false, &blockedError{fmt.Sprintf("waits: not all machines of %s are up to date and available", ownerName(o))}
		}
	}
	left := c.left()
	for _, o := range owners {
		state, err := readOwner(ctx, r.Live, c.key.Namespace, o)
		if err != nil {
			return false, err
		}
		if why := state.leftAlone(c.nodes.Since, time.Now()); why != "" {
			left = append(left, "not rolled by Fairlead: "+ownerName(o)+", "+why)
			continue
		}
		if state.told(c.nodes.Since) {
			return true, r.say(ctx, c, c.underWay(time.Now(), o))
		}
		return true, r.begin(ctx, c, o, state)
	}
	said := c.describe()
	said.Message = strings.Join(left, "; ")
	return false, r.say(ctx, c, said)
}

// begin says in the report what is going to happen, which keeps others from
// beginning, and then does it. What would be refused is not begun.
func (r *RolloutReconciler) begin(ctx context.Context, c *fleetCluster, o v1alpha1.ReportedOwner, state ownerState) error {
	if err := checkRolloutCage(ctx, r.Client, o, state); err != nil {
		return err
	}
	if err := roll(ctx, r.Client, o, state, c.nodes.Since, client.DryRunAll); err != nil {
		return err
	}
	if err := r.apply(ctx, c, c.underWay(time.Now(), o), c.version); err != nil {
		return err
	}
	if err := roll(ctx, r.Client, o, state, c.nodes.Since); err != nil {
		return err
	}
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: c.key.Namespace, Name: c.key.Name, UID: c.uid}}
	r.Events.Eventf(report, state.object, corev1.EventTypeNormal, "RolloutBegun", "Roll", "set spec.rollout.after of %s to %s", ownerName(o), c.nodes.Since.UTC().Format(time.RFC3339))
	return nil
}

func (r *RolloutReconciler) sayBlocked(ctx context.Context, c *fleetCluster, blocked *blockedError) error {
	said := c.describe()
	said.After, said.Owner, said.Message = c.rollout.After, c.rollout.Owner, blocked.message
	return r.say(ctx, c, said)
}

// say applies status.rollout of a report if it is not so already.
func (r *RolloutReconciler) say(ctx context.Context, c *fleetCluster, said v1alpha1.ReportedRollout) error {
	said.Message = shorten(said.Message)
	if equality.Semantic.DeepEqual(c.rollout, said) {
		return nil
	}
	return client.IgnoreNotFound(r.apply(ctx, c, said, ""))
}

// apply writes status.rollout of a report, if it is still of a version, or of any.
func (r *RolloutReconciler) apply(ctx context.Context, c *fleetCluster, said v1alpha1.ReportedRollout, version string) error {
	said.Message = shorten(said.Message)
	status := map[string]any{}
	if said != (v1alpha1.ReportedRollout{}) {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&said)
		if err != nil {
			return err
		}
		status["rollout"] = content
	}
	metadata := map[string]any{"namespace": c.key.Namespace, "name": c.key.Name, "uid": string(c.uid)}
	if version != "" {
		metadata["resourceVersion"] = version
	}
	object := &unstructured.Unstructured{Object: map[string]any{"metadata": metadata, "status": status}}
	object.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ProxyReport"))
	return r.Client.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(object), rolloutManager, client.ForceOwnership)
}

// fleet reads the reports, and what decides about each.
func (r *RolloutReconciler) fleet(ctx context.Context, reader client.Reader) ([]*fleetCluster, error) {
	reports, proxies := &v1alpha1.ProxyReportList{}, &v1alpha1.CorporateProxyList{}
	if err := errors.Join(reader.List(ctx, reports), r.Client.List(ctx, proxies)); err != nil {
		return nil, err
	}
	rolling := map[string]bool{}
	for _, proxy := range proxies.Items {
		rolling[proxy.Name] = proxy.Spec.Node.Rollout == v1alpha1.RolloutRolling
	}
	var fleet []*fleetCluster
	for i := range reports.Items {
		report := &reports.Items[i]
		c := &fleetCluster{
			key: client.ObjectKeyFromObject(report), uid: report.UID, version: report.ResourceVersion,
			wanted: rolling[report.Status.ProxyName],
			ready:  meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionReady),
			nodes:  report.Status.Nodes,
		}
		if report.Status.Rollout != nil {
			c.rollout = *report.Status.Rollout
		}
		cluster, err := get[clusterv1.Cluster](ctx, r.Client, c.key)
		if err != nil {
			return nil, err
		}
		c.deleting = cluster == nil || cluster.DeletionTimestamp != nil
		c.paused = cluster != nil && paused(cluster)
		fleet = append(fleet, c)
	}
	return fleet, nil
}

// Register adds the controller to the manager.
func (r *RolloutReconciler) Register(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		Named("rollout").
		Watches(&v1alpha1.ProxyReport{}, fleetChanged, builder.WithPredicates(concernsRollout)).
		Watches(&v1alpha1.CorporateProxy{}, fleetChanged, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&clusterv1.Cluster{}, fleetChanged, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}))).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, EnableWarmup: ptr.To(true), UsePriorityQueue: ptr.To(false)}).
		Complete(r)
}

// fleetChanged asks for one look at the fleet, a moment later.
var fleetChanged = handler.Funcs{
	CreateFunc: func(_ context.Context, _ event.CreateEvent, q queue) { lookAtFleet(q) },
	UpdateFunc: func(_ context.Context, _ event.UpdateEvent, q queue) { lookAtFleet(q) },
	DeleteFunc: func(_ context.Context, _ event.DeleteEvent, q queue) { lookAtFleet(q) },
}

const fleetDelay = time.Second

func lookAtFleet(q queue) {
	q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: "fleet"}}, fleetDelay)
}

var concernsRollout = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	before, isBefore := e.ObjectOld.(*v1alpha1.ProxyReport)
	after, isAfter := e.ObjectNew.(*v1alpha1.ProxyReport)
	if !isBefore || !isAfter {
		return true
	}
	return !equality.Semantic.DeepEqual(before.Status.Nodes, after.Status.Nodes) ||
		!equality.Semantic.DeepEqual(before.Status.Rollout, after.Status.Rollout) ||
		before.Status.ProxyName != after.Status.ProxyName ||
		meta.IsStatusConditionTrue(before.Status.Conditions, v1alpha1.ConditionReady) != meta.IsStatusConditionTrue(after.Status.Conditions, v1alpha1.ConditionReady)
}}
