package replicator

import (
	"context"
	"fmt"
	"time"

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
	case s.excluded: // a pod that comes after the exclusion, or is the first to ask, waits
		return s.now.UTC().Format(time.RFC3339), is == "" && s.source.problem == ""
	case secret.refused() && !isOurs(s.copy), trustedCA.refused() && (bundle == nil || bundle.Data[proxysecret.CAKey] == ""):
		return selection.Unserved, is != selection.Unserved
	case is == "" && isOurs(s.copy):
		return s.copy.CreationTimestamp.UTC().Format(time.RFC3339), true
	case is == selection.Unserved && isOurs(s.copy) && (s.trustedCA.source == nil || bundle != nil):
		return s.now.UTC().Format(time.RFC3339), true
	}
	return "", false
}

// serve puts the annotation right, with one request at most, and with the first that is, that of the release's own namespace.
func (r *Reconciler) serve(ctx context.Context, namespace *metav1.PartialObjectMetadata, s state, secret, trustedCA outcome) (ctrl.Result, error) {
	value := namespace.Annotations[selection.Served]
	if becomes, change := decideServed(s, value, secret, trustedCA); change {
		if !r.serving.allow(namespace.Name) {
			return ctrl.Result{RequeueAfter: pace}, nil
		}
		if err := r.annotate(ctx, namespace, becomes); err != nil {
			return ctrl.Result{}, err
		}
		value = becomes
	}
	if value == "" || value == selection.Unserved || r.served.Swap(true) {
		return ctrl.Result{}, nil
	}
	err := r.serveOwn(ctx)
	r.served.Store(err == nil)
	return ctrl.Result{}, err
}

// serveOwn says, once a namespace is served, by the annotation of the release's own that new ones will be.
func (r *Reconciler) serveOwn(ctx context.Context) error {
	own := metadata("Namespace")
	if err := r.Client.Get(ctx, types.NamespacedName{Name: r.Namespace}, own); err != nil || own.Annotations[selection.Served] != "" {
		return client.IgnoreNotFound(err)
	}
	return r.annotate(ctx, own, time.Now().UTC().Format(time.RFC3339))
}

func (r *Reconciler) annotate(ctx context.Context, namespace *metav1.PartialObjectMetadata, value string) error {
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{selection.Served: value}}}
	if err := apply.Merge(ctx, r.Client, namespace, patch); err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("annotate namespace %s with %s=%s: %w", namespace.Name, selection.Served, value, err)
	}
	log.FromContext(ctx).Info("annotated the namespace", "namespace", namespace.Name, selection.Served, value)
	return nil
}

// servedChanged lets through what somebody else has made of the annotation.
var servedChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetAnnotations()[selection.Served] != e.ObjectNew.GetAnnotations()[selection.Served]
}}
