// Package corporateproxy keeps the status of each CorporateProxy.
package corporateproxy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/findings"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/internal/manager/controller/waves"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// Reconciler keeps the status of each CorporateProxy: whether it
// can be used, and by how many clusters it is. It decides nothing for clusters.
type Reconciler struct {
	Client  client.Client
	Proxies *settings.Installations
	Waves   *waves.Reconciler
	Events  events.EventRecorder
}

// Reconcile writes the status of one CorporateProxy.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	proxy, err := machinery.Get[v1alpha1.CorporateProxy](ctx, r.Client, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if proxy == nil {
		r.Proxies.Forget(request.Name)
		return ctrl.Result{}, nil
	}
	now := time.Now()
	read, err := r.Proxies.Get(ctx, proxy, now)
	var unsettled *settings.UnsettledError
	if errors.As(err, &unsettled) {
		return ctrl.Result{RequeueAfter: unsettled.Wait}, nil
	}
	var problem *resolve.Problem
	if err != nil && !errors.As(err, &problem) {
		return ctrl.Result{}, err
	}
	if wait := r.Proxies.Settles(proxy, now); wait > 0 { // the status would say of this generation what is true of another
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	var said waves.Status
	if proxy.Spec.Rollout != nil {
		var decided bool
		if said, decided = r.Waves.StatusOf(proxy, read.Version); !decided { // the status would say of this generation that nothing goes on
			return ctrl.Result{RequeueAfter: waves.Undecided}, nil
		}
	}
	reports := &v1alpha1.ProxyReportList{}
	if err := r.Client.List(ctx, reports, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	after := proxy.DeepCopy()
	after.Status = proxyStatus(proxy, read.Installation, problem, usedBy(proxy.Name, reports.Items))
	trustedCAStatus(&after.Status, proxy, read.Installation.Node.Certificates, now)
	after.Status.NextEnd = nil
	if !read.NextEnd.IsZero() {
		after.Status.NextEnd = machinery.PtrTime(read.NextEnd)
	}
	said.AddTo(&after.Status, proxy.Generation)
	if _, err = apply.Status(ctx, r.Client, proxy, after, apply.FieldManager); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.announce(proxy, after)
	return ctrl.Result{RequeueAfter: machinery.Soonest(untilChange(read.Installation.Node.Certificates, now), settings.UntilEnd(read.NextEnd, now))}, nil
}

// announce records an Event for each step of a rollout. Two that differ in nothing but the message would be one, told again,
// which is a patch and keeps the first message: so an Event is related to the revision, and its action names the wave.
func (r *Reconciler) announce(before, after *v1alpha1.CorporateProxy) {
	for _, step := range rollout.Steps(before.Status.Rollout, after.Status.Rollout) {
		kind := corev1.EventTypeNormal
		if step.Warning {
			kind = corev1.EventTypeWarning
		}
		var related runtime.Object
		if s := after.Status.Rollout; s != nil && s.Revision > 0 {
			related = &corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: inputs.KindConfigMap},
				ObjectMeta: metav1.ObjectMeta{Namespace: r.Proxies.Namespace, Name: revision.Name(after.Name, s.Revision)},
			}
		}
		r.Events.Eventf(after, related, kind, step.Reason, "Rollout"+step.Wave, "%s", machinery.Shorten(step.Message))
	}
}

func usedBy(proxy string, reports []v1alpha1.ProxyReport) int32 {
	var clusters int32
	for _, report := range reports {
		if report.Status.ProxyName == proxy {
			clusters++
		}
	}
	return clusters
}

func proxyStatus(proxy *v1alpha1.CorporateProxy, installation resolve.Installation, problem *resolve.Problem, clusters int32) v1alpha1.CorporateProxyStatus {
	status := *proxy.Status.DeepCopy()
	status.ObservedGeneration, status.Clusters = proxy.Generation, clusters
	ready := metav1.Condition{Type: v1alpha1.ConditionReady, ObservedGeneration: proxy.Generation}
	if problem != nil {
		ready.Status, ready.Reason = metav1.ConditionFalse, string(problem.Reason)
		ready.Message = machinery.Shorten(problem.Error() + "; clusters keep what was last written")
	} else {
		status.Entries = int32(len(installation.NoProxy))
		status.Findings = findings.OfInstallation(installation)
		ready.Status, ready.Reason = metav1.ConditionTrue, v1alpha1.ReasonAccepted
		ready.Message = fmt.Sprintf("http %s, https %s", cmp.Or(installation.HTTP.String(), "direct"), cmp.Or(installation.HTTPS.String(), "direct"))
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

// Register adds the controller to the manager.
func (r *Reconciler) Register(mgr ctrl.Manager) error {
	inputsOf := handler.EnqueueRequestsFromMapFunc(r.readers)
	return ctrl.NewControllerManagedBy(mgr).
		Named("corporateproxy").
		For(&v1alpha1.CorporateProxy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Secret{}, inputsOf).
		Watches(&corev1.ConfigMap{}, inputsOf).
		Watches(&v1alpha1.ProxyReport{}, countAgain, builder.WithPredicates(changesProxy)).
		WatchesRawSource(r.Waves.ToProxies.Source()).
		WithOptions(controller.Options{EnableWarmup: ptr.To(true), RateLimiter: machinery.Retries()}).
		Complete(r)
}

// readers returns the CorporateProxies that name a Secret or ConfigMap.
func (r *Reconciler) readers(ctx context.Context, o client.Object) []reconcile.Request {
	proxies := &v1alpha1.CorporateProxyList{}
	if err := r.Client.List(ctx, proxies, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range proxies.Items {
		if slices.Contains(inputs.References(&proxies.Items[i]), settings.Reference(o)) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: proxies.Items[i].Name}})
		}
	}
	return requests
}

// countAgain asks for a new count of the clusters of a report's CorporateProxy, a moment later: a fan-out changes hundreds at
// once.
var countAgain = machinery.EveryEvent(func(q machinery.Queue, o client.Object) {
	if report, ok := o.(*v1alpha1.ProxyReport); ok && report.Status.ProxyName != "" {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: report.Status.ProxyName}}, waves.CountDelay)
	}
})

var changesProxy = machinery.Updates(func(before, after *v1alpha1.ProxyReport) bool {
	return before.Status.ProxyName != after.Status.ProxyName
})
