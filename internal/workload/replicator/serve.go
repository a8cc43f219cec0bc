package replicator

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/core/selection"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// outcome is a decision and what came of it.
type outcome struct {
	decision
	err error
}

// refused reports whether the API server, or the decision, says that it will not be written until somebody does something. What
// fails otherwise is tried again soon, and pods wait.
func (o outcome) refused() bool {
	return o.verb == refuse || apierrors.IsForbidden(o.err) || apierrors.IsInvalid(o.err)
}

// decideServed says what the annotation selection.Served of a namespace is to be; with false, it stays as it is.
func decideServed(s state, is string, secret, trustedCA outcome) (string, bool) {
	bundle := s.trustedCA.copy
	switch {
	case s.terminating:
		return "", false
	case s.excluded: // a pod that comes after the exclusion, or is the first to ask, waits. But nothing is written there
		return s.now.UTC().Format(time.RFC3339), is == "" && s.source.problem == ""
	case secret.refused() && !isOurs(s.copy), trustedCA.refused() && (bundle == nil || bundle.Data[proxysecret.CAKey] == ""):
		return selection.Unserved, is != selection.Unserved
	case is == "" && isOurs(s.copy):
		return since(s.copy.CreationTimestamp.Time), true
	case is == selection.Unserved && isOurs(s.copy) && (s.trustedCA.source == nil || bundle != nil):
		return since(s.now), true
	}
	return "", false
}

// since returns when every container that starts has what came at a time: kubelet reads it before, and clocks differ.
func since(came time.Time) string { return came.Add(time.Minute).UTC().Format(time.RFC3339) }

// serve puts the annotation right, with one request at most, and once there is a copy, that of the release's own namespace.
func (r *Reconciler) serve(ctx context.Context, namespace *metav1.PartialObjectMetadata, s state, secret, trustedCA outcome) (ctrl.Result, error) {
	var again ctrl.Result
	if value, change := decideServed(s, namespace.Annotations[selection.Served], secret, trustedCA); change {
		if !r.serving.allow(namespace.Name) {
			return ctrl.Result{RequeueAfter: pace}, nil
		}
		var err error
		if again, err = r.annotate(ctx, namespace, value); err != nil {
			return ctrl.Result{}, err
		}
	}
	if s.excluded || !isOurs(s.copy) || r.served.Swap(true) {
		return again, nil
	}
	own, err := r.serveOwn(ctx)
	r.served.Store(err == nil && own.RequeueAfter == 0)
	return sooner(again, own), err
}

// serveOwn says, once a namespace is served, by the annotation of the release's own that new ones will be. Every namespace tries until
// it is said: hence the pace.
func (r *Reconciler) serveOwn(ctx context.Context) (ctrl.Result, error) {
	own := metadata("Namespace")
	if err := r.Client.Get(ctx, types.NamespacedName{Name: r.Namespace}, own); err != nil || own.Annotations[selection.Served] != "" {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.serving.allow(r.Namespace) {
		return ctrl.Result{RequeueAfter: refusedRetry}, nil
	}
	return r.annotate(ctx, own, since(time.Now()))
}

// annotate tells people of a namespace that may not be annotated, and tries again much later: who refuses one refuses many.
func (r *Reconciler) annotate(ctx context.Context, namespace *metav1.PartialObjectMetadata, value string) (ctrl.Result, error) {
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{selection.Served: value}}}
	err := apply.Merge(ctx, r.Client, namespace, patch)
	switch {
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err):
		if r.marks.change(namespace.Name, stateFailed) {
			r.Events.Eventf(namespace, nil, corev1.EventTypeWarning, stateFailed, "Annotate", "annotate with %s=%s: %s", selection.Served, value, err)
			log.FromContext(ctx).Info("the annotation is refused", "namespace", namespace.Name, "error", err.Error())
		}
		return ctrl.Result{RequeueAfter: refusedRetry}, nil
	case err != nil && !apierrors.IsNotFound(err):
		return ctrl.Result{}, fmt.Errorf("annotate namespace %s with %s=%s: %w", namespace.Name, selection.Served, value, err)
	}
	r.marks.change(namespace.Name, "")
	log.FromContext(ctx).Info("annotated the namespace", "namespace", namespace.Name, selection.Served, value)
	return ctrl.Result{}, nil
}

// refusedRetry is how long a refused annotation rests.
const refusedRetry = 10 * time.Minute

// servedChanged lets through what somebody else has made of the annotation.
var servedChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetAnnotations()[selection.Served] != e.ObjectNew.GetAnnotations()[selection.Served]
}}
