package controller

import (
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
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// CorporateProxyReconciler keeps the status of each CorporateProxy: whether it
// can be used, and by how many clusters it is. It decides nothing for clusters.
type CorporateProxyReconciler struct {
	Client  client.Client
	Proxies *installations
	Waves   *WaveReconciler
	Events  events.EventRecorder
	Now     func() time.Time
}

// Reconcile writes the status of one CorporateProxy.
func (r *CorporateProxyReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	proxy, err := get[v1alpha1.CorporateProxy](ctx, r.Client, request.NamespacedName)
	if err != nil {
		return ctrl.Result{}, err
	}
	if proxy == nil {
		r.Proxies.forget(request.Name)
		return ctrl.Result{}, nil
	}
	now := r.Now()
	read, err := r.Proxies.get(ctx, proxy, now)
	var unsettled *unsettledError
	if errors.As(err, &unsettled) {
		return ctrl.Result{RequeueAfter: unsettled.wait}, nil
	}
	var problem *resolve.Problem
	if err != nil && !errors.As(err, &problem) {
		return ctrl.Result{}, err
	}
	if wait := r.Proxies.settles(proxy, now); wait > 0 { // the status would say of this generation what is true of another
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	var waves waveStatus
	if proxy.Spec.Rollout != nil {
		var decided bool
		if waves, decided = r.Waves.statusOf(proxy, read.version); !decided { // the status would say of this generation that nothing goes on
			return ctrl.Result{RequeueAfter: undecided}, nil
		}
	}
	reports := &v1alpha1.ProxyReportList{}
	if err := r.Client.List(ctx, reports, client.UnsafeDisableDeepCopy); err != nil {
		return ctrl.Result{}, err
	}
	after := proxy.DeepCopy()
	after.Status = proxyStatus(proxy, read.installation, problem, usedBy(proxy.Name, reports.Items))
	trustedCAStatus(&after.Status, proxy, read.installation.Node.Certificates, now)
	nextEndStatus(&after.Status, read.nextEnd)
	waves.addTo(&after.Status, proxy.Generation)
	if _, err = apply.Status(ctx, r.Client, proxy, after, apply.FieldManager); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	r.announce(proxy, after)
	return ctrl.Result{RequeueAfter: soonest(untilChange(read.installation.Node.Certificates, now), untilEnd(read.nextEnd, now))}, nil
}

// announce records an Event for each step of a rollout. Two that differ in nothing but the message would be one, told again,
// which is a patch and keeps the first message: so an Event is related to the revision, and its action names the wave.
func (r *CorporateProxyReconciler) announce(before, after *v1alpha1.CorporateProxy) {
	for _, step := range rollout.Steps(before.Status.Rollout, after.Status.Rollout) {
		kind := corev1.EventTypeNormal
		if step.Warning {
			kind = corev1.EventTypeWarning
		}
		var related runtime.Object
		if s := after.Status.Rollout; s != nil && s.Revision > 0 {
			related = &corev1.ConfigMap{
				TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: inputs.KindConfigMap},
				ObjectMeta: metav1.ObjectMeta{Namespace: r.Proxies.namespace, Name: revision.Name(after.Name, s.Revision)},
			}
		}
		r.Events.Eventf(after, related, kind, step.Reason, "Rollout"+step.Wave, "%s", shorten(step.Message))
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
		ready.Message = shorten(problem.Error() + "; clusters keep what was last written")
	} else {
		status.Entries = int32(len(installation.NoProxy))
		status.Findings = installationFindings(installation)
		ready.Status, ready.Reason = metav1.ConditionTrue, v1alpha1.ReasonAccepted
		ready.Message = fmt.Sprintf("http %s, https %s", orNone(installation.HTTP.String()), orNone(installation.HTTPS.String()))
	}
	meta.SetStatusCondition(&status.Conditions, ready)
	return status
}

func orNone(url string) string {
	if url == "" {
		return "direct"
	}
	return url
}

// Register adds the controller to the manager.
func (r *CorporateProxyReconciler) Register(mgr ctrl.Manager) error {
	inputsOf := handler.EnqueueRequestsFromMapFunc(r.readers)
	return ctrl.NewControllerManagedBy(mgr).
		Named("corporateproxy").
		For(&v1alpha1.CorporateProxy{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&corev1.Secret{}, inputsOf).
		Watches(&corev1.ConfigMap{}, inputsOf).
		Watches(&v1alpha1.ProxyReport{}, countAgain{}).
		WatchesRawSource(r.Waves.proxies.source()).
		WithOptions(controller.Options{EnableWarmup: ptr.To(true), RateLimiter: retries()}).
		Complete(r)
}

// readers returns the CorporateProxies that name a Secret or ConfigMap.
func (r *CorporateProxyReconciler) readers(ctx context.Context, o client.Object) []reconcile.Request {
	proxies := &v1alpha1.CorporateProxyList{}
	if err := r.Client.List(ctx, proxies, client.UnsafeDisableDeepCopy); err != nil {
		return nil
	}
	var requests []reconcile.Request
	for i := range proxies.Items {
		if slices.Contains(inputs.References(&proxies.Items[i]), reference(o)) {
			requests = append(requests, reconcile.Request{NamespacedName: types.NamespacedName{Name: proxies.Items[i].Name}})
		}
	}
	return requests
}

// countAgain asks for a new count of a proxy's clusters when a report changes
// its proxy, a moment later: a fan-out changes hundreds at once.
type countAgain struct{}

const countDelay = time.Second

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func (countAgain) Create(_ context.Context, e event.CreateEvent, q queue) { recount(q, e.Object) }
func (countAgain) Delete(_ context.Context, e event.DeleteEvent, q queue) { recount(q, e.Object) }
func (countAgain) Generic(context.Context, event.GenericEvent, queue)     {}
func (countAgain) Update(_ context.Context, e event.UpdateEvent, q queue) {
	if proxyOf(e.ObjectOld) != proxyOf(e.ObjectNew) {
		recount(q, e.ObjectOld)
		recount(q, e.ObjectNew)
	}
}

func recount(q queue, report client.Object) {
	if name := proxyOf(report); name != "" {
		q.AddAfter(reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}, countDelay)
	}
}

func proxyOf(object client.Object) string {
	report, ok := object.(*v1alpha1.ProxyReport)
	if !ok {
		return ""
	}
	return report.Status.ProxyName
}
