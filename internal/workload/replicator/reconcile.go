package replicator

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/selection"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// Reconciler keeps the copies right.
type Reconciler struct {
	Client    client.Client // reads from the cache
	Live      client.Reader // for pods, which are not watched
	Events    events.EventRecorder
	Namespace string   // where the source is
	Excluded  []string // namespaces, by name
	OnDemand  onDemand

	origin     origin
	settling   settling
	secrets    copies
	trustedCAs copies
	serving    paces
	marks      latest[string] // of namespaces that may not be annotated
	served     atomic.Bool    // there is a copy
}

// Reconcile looks at one namespace.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if request.Name == r.Namespace {
		var again ctrl.Result
		err := r.reportSource(ctx)
		if err == nil && r.served.Load() {
			again, err = r.serveOwn(ctx)
		}
		if err != nil || !r.origin.apart() {
			return again, err
		}
	}
	namespace := metadata("Namespace")
	if err := r.Client.Get(ctx, types.NamespacedName{Name: request.Name}, namespace); err != nil {
		if apierrors.IsNotFound(err) {
			r.forget(request.Name)
		}
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	s, err := r.read(ctx, namespace)
	if err != nil {
		return ctrl.Result{}, err
	}
	secret, trustedCA := outcome{decision: decide(s)}, outcome{decision: decideTrustedCA(s)}
	var again, more ctrl.Result
	again, secret.err = r.write(ctx, namespace, s, secret.decision, &r.secrets)
	more, trustedCA.err = r.write(ctx, namespace, s, trustedCA.decision, &r.trustedCAs)
	annotated, err := r.serve(ctx, namespace, s, secret, trustedCA)
	return sooner(annotated, sooner(again, more)), errors.Join(secret.err, trustedCA.err, err)
}

func sooner(a, b ctrl.Result) ctrl.Result {
	if a.RequeueAfter == 0 || b.RequeueAfter > 0 && b.RequeueAfter < a.RequeueAfter {
		return b
	}
	return a
}

func (r *Reconciler) forget(namespace string) {
	r.settling.forget(namespace)
	r.secrets.forget(namespace)
	r.trustedCAs.forget(namespace)
	r.serving.forget(namespace)
	r.marks.change(namespace, "")
}

func (r *Reconciler) read(ctx context.Context, namespace *metav1.PartialObjectMetadata) (state, error) {
	s := state{
		namespace:   namespace.Name,
		created:     namespace.CreationTimestamp.Time,
		terminating: namespace.DeletionTimestamp != nil,
		excluded:    slices.Contains(r.Excluded, namespace.Name) || namespace.Labels[selection.Key] == selection.Exclude,
		now:         time.Now(),
	}
	spared, err := r.OnDemand.spares(ctx, s.namespace)
	if err != nil {
		return s, err
	}
	s.excluded = s.excluded || spared
	if _, s.source, err = r.readOrigin(ctx); err != nil {
		return s, err
	}
	if s.copy, err = find(ctx, r.Client, s.namespace, proxysecret.Name, &corev1.Secret{}); err != nil {
		return s, err
	}
	if s.trustedCA, err = r.readTrustedCA(ctx, s.namespace); err != nil {
		return s, err
	}
	if !mayRemove(s) {
		r.settling.forget(s.namespace)
		return s, nil
	}
	seen, err := needsIn(ctx, r.Live, s.namespace)
	if err != nil {
		return s, fmt.Errorf("asking which pods refer to Secret %s/%s: %w", s.namespace, proxysecret.Name, err)
	}
	s.inUse = r.settling.watch(s.namespace, s.now, seen)
	s.nextPoll = r.settling.nextPoll(s.namespace, s.now, stillNeeded(s, seen))
	return s, nil
}

func (r *Reconciler) readTrustedCA(ctx context.Context, namespace string) (trustedCA, error) {
	var c trustedCA
	if namespace == r.Namespace { // there is the chart's, and no copy
		return c, nil
	}
	origin, err := find(ctx, r.Client, r.Namespace, proxysecret.TrustedCAName, &corev1.ConfigMap{})
	if err != nil {
		return c, err
	}
	c.source = readTrustedCA(origin)
	if c.copy, err = find(ctx, r.Client, namespace, proxysecret.TrustedCAName, &corev1.ConfigMap{}); err != nil {
		return c, err
	}
	pods := metadataList("PodList")
	err = r.Client.List(ctx, pods, client.InNamespace(namespace), client.Limit(1))
	c.needed = len(pods.Items) > 0
	return c, err
}

// find returns nil if there is none.
func find[T client.Object](ctx context.Context, reader client.Reader, namespace, name string, object T) (found T, err error) {
	err = reader.Get(ctx, types.NamespacedName{Namespace: namespace, Name: name}, object)
	if err != nil {
		return found, client.IgnoreNotFound(err)
	}
	return object, nil
}

// write carries a decision out, with one request at most.
func (r *Reconciler) write(ctx context.Context, namespace *metav1.PartialObjectMetadata, s state, d decision, of *copies) (ctrl.Result, error) {
	if d.object != nil && !of.allow(s.namespace) {
		return r.contended(ctx, namespace, d, of), nil
	}
	var err error
	switch d.verb {
	case create:
		err = apply.Create(ctx, r.Client, d.object)
	case update:
		err = apply.Update(ctx, r.Client, d.object)
	case remove:
		err = apply.Delete(ctx, r.Client, d.object)
	}
	if err != nil {
		return r.failed(ctx, namespace, d, of, err)
	}
	if d.object != nil {
		of.count(d.verb, resultWritten)
		log.FromContext(ctx).Info("wrote the copy", "kind", of.kind, "verb", d.verb, "state", d.state)
	}
	if of.change(s.namespace, d.state) && d.verb == refuse {
		r.Events.Eventf(of.present(s), namespace, corev1.EventTypeWarning, d.state, "Copy", "%s %s/%s: %s", of.kind, s.namespace, of.name, d.detail)
		log.FromContext(ctx).Info("the copy is refused", "kind", of.kind, "state", d.state, "detail", d.detail)
	}
	if d.pollAgain {
		return ctrl.Result{RequeueAfter: s.nextPoll}, nil
	}
	return ctrl.Result{}, nil
}

// contended tells people that somebody works against us, and waits.
func (r *Reconciler) contended(ctx context.Context, namespace *metav1.PartialObjectMetadata, d decision, of *copies) ctrl.Result {
	if of.change(namespace.Name, stateContended) {
		const text = "somebody keeps changing or deleting it; it is put right every %s. metadata.managedFields says who changes it"
		r.Events.Eventf(d.object, namespace, corev1.EventTypeWarning, stateContended, "Copy", text, pace)
		log.FromContext(ctx).Info("somebody keeps changing or deleting the copy", "state", stateContended)
	}
	return ctrl.Result{RequeueAfter: pace}
}

// behind is how soon the cache has what the API server knows better.
const behind = time.Second

// failed tells what will come right by itself from what somebody must know.
func (r *Reconciler) failed(ctx context.Context, namespace *metav1.PartialObjectMetadata, d decision, of *copies, err error) (ctrl.Result, error) {
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		of.change(namespace.Name, stateTerminating)
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		log.FromContext(ctx).V(1).Info("somebody was faster", "verb", d.verb)
		return ctrl.Result{RequeueAfter: behind}, nil
	}
	of.count(d.verb, resultFailed)
	if of.change(namespace.Name, stateFailed) {
		r.Events.Eventf(namespace, nil, corev1.EventTypeWarning, stateFailed, "Copy", "%s %s %s/%s: %s", d.verb, of.kind, namespace.Name, of.name, err)
	}
	return ctrl.Result{}, fmt.Errorf("%s %s %s/%s: %w", d.verb, of.kind, namespace.Name, of.name, err)
}

// reportSource tells people when the source cannot be used, and when it can again.
func (r *Reconciler) reportSource(ctx context.Context) error {
	secret, origin, err := r.readOrigin(ctx)
	if err != nil {
		return err
	}
	if !r.secrets.change(r.origin.key(r.Namespace), cmp.Or(origin.problem, stateSource)) {
		return nil
	}
	if origin.problem == "" {
		log.FromContext(ctx).Info("the source can be used")
		return nil
	}
	if secret == nil {
		secret = &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: r.origin.name},
		}
	}
	const text = "Secret %s/%s cannot be copied, and every copy stays as it is: %s"
	r.Events.Eventf(secret, nil, corev1.EventTypeWarning, origin.problem, "Copy", text, r.Namespace, r.origin.name, origin.detail)
	log.FromContext(ctx).Error(nil, fmt.Sprintf(text, r.Namespace, r.origin.name, origin.detail), "state", origin.problem)
	return nil
}
