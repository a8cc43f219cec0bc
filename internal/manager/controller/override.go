package controller

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// accepted is the condition of a ProxyOverride after what was decided for its cluster was written, with Ready of its report; nil where
// nothing new was decided.
func accepted(s state, d decision, ready metav1.Condition) *metav1.Condition {
	is := &metav1.Condition{Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse}
	switch {
	case s.wish == nil, d.paused, d.held:
		return nil
	case s.override == nil:
		is.Reason, is.Message = v1alpha1.ReasonEnded, fmt.Sprintf("it ended at %s", s.wish.Spec.Until.UTC().Format(time.RFC3339))
	case d.problem == nil && d.status.Mode == string(resolve.ModeUnproxied):
		is.Reason, is.Message = string(resolve.ReasonNotSelected), "no CorporateProxy selects the cluster"
	case d.problem == nil && ready.Status == metav1.ConditionTrue:
		is.Status, is.Reason = metav1.ConditionTrue, v1alpha1.ReasonAccepted
	case d.problem == nil:
		is.Status, is.Reason, is.Message = metav1.ConditionUnknown, ready.Reason, ready.Message
	case slices.Contains(ofOverride, d.problem.Reason):
		is.Reason, is.Message = string(d.problem.Reason), shorten(d.problem.Error())
	default:
		is.Status, is.Reason, is.Message = metav1.ConditionUnknown, string(d.problem.Reason), shorten("the cluster has no new list: "+d.problem.Error())
	}
	return is
}

// ofOverride are the problems by which a ProxyOverride is not accepted.
var ofOverride = []resolve.Reason{resolve.ReasonInvalidOverride, resolve.ReasonNotDelegated, resolve.ReasonNotSelected}

// noCluster tells the owner of a ProxyOverride that no Cluster has its name.
func (r *ClusterReconciler) noCluster(ctx context.Context, key types.NamespacedName) error {
	override, err := get[v1alpha1.ProxyOverride](ctx, r.Client, key)
	if err != nil || override == nil {
		return err
	}
	if cluster, err := get[clusterv1.Cluster](ctx, r.Client, key); err != nil || cluster != nil { // another one than before
		return err
	}
	return r.writeAccepted(ctx, override, &metav1.Condition{
		Type: v1alpha1.ConditionAccepted, Status: metav1.ConditionFalse, Reason: v1alpha1.ReasonNoCluster,
		Message: fmt.Sprintf("there is no Cluster %s; a ProxyOverride has the name and the namespace of its Cluster", key),
	})
}

// writeAccepted writes the condition where it says something else than before, for this generation. One that the API server refuses
// holds up nothing, and is written with the next look.
func (r *ClusterReconciler) writeAccepted(ctx context.Context, override *v1alpha1.ProxyOverride, condition *metav1.Condition) error {
	if condition == nil {
		return nil
	}
	conditions := append([]metav1.Condition(nil), override.Status.Conditions...)
	condition.ObservedGeneration = override.Generation
	if !meta.SetStatusCondition(&conditions, *condition) {
		return nil
	}
	err := apply.StatusFields(ctx, r.Client, override, map[string]any{"conditions": conditions}, apply.FieldManager)
	if err == nil || !aboutOne(err) {
		return err
	}
	if !apierrors.IsNotFound(err) {
		log.FromContext(ctx).Error(err, "the condition of a ProxyOverride cannot be written")
	}
	return nil
}
