package replicator

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/operator/internal/proxysecret"
)

// Reconciler keeps the copies right.
type Reconciler struct {
	Client    client.Client // reads from the cache
	Live      client.Reader // for pods, which are not watched
	Events    events.EventRecorder
	Namespace string              // where the source is
	Excluded  map[string]struct{} // namespaces, by name

	settling settling
	paces    paces
	states   states
}

// Reconcile looks at one namespace.
func (r *Reconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	if request.Name == r.Namespace {
		return ctrl.Result{}, r.reportSource(ctx)
	}
	namespace := namespaceMetadata()
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
	d := decide(s)
	return r.write(ctx, namespace, s, d)
}

func (r *Reconciler) forget(namespace string) {
	r.settling.forget(namespace)
	r.paces.forget(namespace)
	r.states.forget(namespace)
}

func (r *Reconciler) read(ctx context.Context, namespace *metav1.PartialObjectMetadata) (state, error) {
	_, byName := r.Excluded[namespace.Name]
	s := state{
		namespace:   namespace.Name,
		terminating: namespace.DeletionTimestamp != nil,
		excluded:    byName || namespace.Labels[proxysecret.SelectionKey] == proxysecret.Exclude,
		now:         time.Now(),
	}
	origin, err := r.secret(ctx, r.Namespace)
	if err != nil {
		return s, err
	}
	s.source = readSource(origin)
	if s.copy, err = r.secret(ctx, s.namespace); err != nil {
		return s, err
	}
	if !takesAway(s) {
		r.settling.forget(s.namespace)
		return s, nil
	}
	pods := &corev1.PodList{}
	if err := r.Live.List(ctx, pods, client.InNamespace(s.namespace)); err != nil {
		return s, fmt.Errorf("asking which pods refer to Secret %s/%s: %w", s.namespace, proxysecret.Name, err)
	}
	s.inUse, s.nextLook = r.settling.watch(s.namespace, s.now, useBy(pods.Items))
	return s, nil
}

// secret returns nil if there is none.
func (r *Reconciler) secret(ctx context.Context, namespace string) (*corev1.Secret, error) {
	secret := &corev1.Secret{}
	err := r.Client.Get(ctx, types.NamespacedName{Namespace: namespace, Name: proxysecret.Name}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return secret, err
}

// write carries a decision out, with one request at most.
func (r *Reconciler) write(ctx context.Context, namespace *metav1.PartialObjectMetadata, s state, d decision) (ctrl.Result, error) {
	if d.secret != nil && !r.paces.allow(s.namespace) {
		return r.contended(ctx, namespace, d), nil
	}
	var err error
	switch d.verb {
	case create:
		err = r.Client.Create(ctx, d.secret)
	case update:
		err = r.Client.Update(ctx, d.secret) // of the version that was read
	case remove:
		err = r.Client.Delete(ctx, d.secret, client.Preconditions{UID: &d.secret.UID, ResourceVersion: &d.secret.ResourceVersion})
	}
	if err != nil {
		return r.failed(ctx, namespace, d, err)
	}
	if d.secret != nil {
		writes.WithLabelValues(d.verb, resultWritten).Inc()
		log.FromContext(ctx).Info("wrote the copy", "verb", d.verb, "state", d.state)
	}
	if r.states.change(s.namespace, d.state) && d.verb == refuse {
		r.Events.Eventf(s.copy, namespace, corev1.EventTypeWarning, d.state, "Copy", "Secret %s/%s: %s", s.namespace, proxysecret.Name, d.detail)
		log.FromContext(ctx).Info("the copy is refused", "state", d.state, "detail", d.detail)
	}
	if d.lookAgain {
		return ctrl.Result{RequeueAfter: s.nextLook}, nil
	}
	return ctrl.Result{}, nil
}

// contended tells people that somebody works against us, and waits.
func (r *Reconciler) contended(ctx context.Context, namespace *metav1.PartialObjectMetadata, d decision) ctrl.Result {
	if r.states.change(namespace.Name, stateContended) {
		const text = "somebody keeps changing or deleting it; it is put right every %s. metadata.managedFields says who changes it"
		r.Events.Eventf(d.secret, namespace, corev1.EventTypeWarning, stateContended, "Copy", text, pace)
		log.FromContext(ctx).Info("somebody keeps changing or deleting the copy", "state", stateContended)
	}
	return ctrl.Result{RequeueAfter: pace}
}

// behind is how soon the cache has what the API server knows better.
const behind = time.Second

// failed tells what will come right by itself from what somebody must know.
func (r *Reconciler) failed(ctx context.Context, namespace *metav1.PartialObjectMetadata, d decision, err error) (ctrl.Result, error) {
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		r.states.change(namespace.Name, stateTerminating)
		return ctrl.Result{}, nil
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err), apierrors.IsNotFound(err):
		log.FromContext(ctx).V(1).Info("somebody was faster", "verb", d.verb)
		return ctrl.Result{RequeueAfter: behind}, nil
	}
	writes.WithLabelValues(d.verb, resultFailed).Inc()
	if r.states.change(namespace.Name, stateFailed) {
		r.Events.Eventf(namespace, nil, corev1.EventTypeWarning, stateFailed, "Copy", "%s Secret %s/%s: %s", d.verb, namespace.Name, proxysecret.Name, err)
	}
	return ctrl.Result{}, fmt.Errorf("%s Secret %s/%s: %w", d.verb, namespace.Name, proxysecret.Name, err)
}

// reportSource tells people when the source cannot be used, and when it can again.
func (r *Reconciler) reportSource(ctx context.Context) error {
	secret, err := r.secret(ctx, r.Namespace)
	if err != nil {
		return err
	}
	origin := readSource(secret)
	now := origin.problem
	if now == "" {
		now = stateSource
	}
	if !r.states.change(r.Namespace, now) {
		return nil
	}
	if origin.problem == "" {
		log.FromContext(ctx).Info("the source can be used")
		return nil
	}
	if secret == nil {
		secret = &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Namespace: r.Namespace, Name: proxysecret.Name},
		}
	}
	const text = "Secret %s/%s cannot be copied, and every copy stays as it is: %s"
	r.Events.Eventf(secret, nil, corev1.EventTypeWarning, origin.problem, "Copy", text, r.Namespace, proxysecret.Name, origin.detail)
	log.FromContext(ctx).Error(nil, fmt.Sprintf(text, r.Namespace, proxysecret.Name, origin.detail), "state", origin.problem)
	return nil
}
