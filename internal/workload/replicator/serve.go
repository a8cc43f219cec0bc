package replicator

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/fairlead-io/fairlead/internal/core/selection"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// served says what the annotation selection.Served of a namespace is to be. Where it is, the policies let a pod wait for the
// copies. So it comes with the first copy, and goes where none can be written: a pod would wait for what never comes.
type served struct {
	settled bool // without, the annotation stays as it is: what was written is not in the cache yet
	since   time.Time
}

// decideServed takes what is decided about the Secret, and whether what pods refer to could not be written.
func decideServed(s state, secret decision, lacking bool) served {
	switch {
	case s.terminating:
		return served{}
	case lacking:
		return served{settled: true}
	case isOurs(s.copy) && secret.verb != remove:
		return served{settled: true, since: s.copy.CreationTimestamp.Time}
	case s.spared && s.source.problem == "": // it gets one as soon as a pod refers to it
		return served{settled: true, since: s.now}
	}
	return served{settled: secret.verb != create}
}

// serve puts the annotation right, with one request at most. A time that is there stays: pods that started before it are known by
// it.
func (r *Reconciler) serve(ctx context.Context, namespace *metav1.PartialObjectMetadata, to served) (ctrl.Result, error) {
	_, is := namespace.Annotations[selection.Served]
	if !to.settled || is == !to.since.IsZero() {
		return ctrl.Result{}, nil
	}
	if !r.serving.allow(namespace.Name) {
		return ctrl.Result{RequeueAfter: pace}, nil
	}
	var value any
	if !to.since.IsZero() {
		value = to.since.UTC().Format(time.RFC3339)
	}
	patch := map[string]any{"metadata": map[string]any{"annotations": map[string]any{selection.Served: value}}}
	if err := apply.Merge(ctx, r.Client, namespace, patch); err != nil && !apierrors.IsNotFound(err) {
		return ctrl.Result{}, fmt.Errorf("annotate namespace %s with %s: %w", namespace.Name, selection.Served, err)
	}
	log.FromContext(ctx).Info("annotated the namespace", selection.Served, value)
	return ctrl.Result{}, nil
}

// servedChanged lets through what somebody else has made of the annotation.
var servedChanged = predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
	return e.ObjectOld.GetAnnotations()[selection.Served] != e.ObjectNew.GetAnnotations()[selection.Served]
}}
