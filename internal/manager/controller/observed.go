package controller

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/observation"
)

// The operator alone writes conditions: who has the token of "fairlead-operator observe" changes what was observed, and
// nothing else.

// readAccount notes whose credentials the cluster's Secrets are to have, where somebody observes the cluster.
func (r *ClusterReconciler) readAccount(ctx context.Context, s *state) error {
	if s.last().Observed == nil || s.account != nil || s.held != nil && s.held.condition == v1alpha1.ConditionRevisionUnknown {
		return nil
	}
	key, err := r.Key.get(ctx)
	if err != nil {
		return err
	}
	account := fingerprint(key, s.installation.HTTP, s.installation.HTTPS)
	s.account = &account
	return nil
}

// setObserved sets the conditions that follow from an observation, and removes them from a report without any.
func setObserved(conditions *[]metav1.Condition, s state) {
	found := observation.Conditions(s.last().Observed, s.account, s.now)
	for _, condition := range found {
		condition.Message = shorten(condition.Message)
		meta.SetStatusCondition(conditions, condition)
	}
	if found == nil {
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionEgressVerified)
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionPodsReached)
	}
}

// observedNews reports whether the conditions of a report have to be looked at: an observation says something new, or one that
// was too old is followed by another.
func observedNews(e event.UpdateEvent, now time.Time) bool {
	before, isBefore := e.ObjectOld.(*v1alpha1.ProxyReport)
	after, isAfter := e.ObjectNew.(*v1alpha1.ProxyReport)
	if !isBefore || !isAfter || after.Status.Observed == nil {
		return isBefore && isAfter && before.Status.Observed != nil
	}
	if observation.News(before.Status.Observed, after.Status.Observed) {
		return true
	}
	says := meta.FindStatusCondition(after.Status.Conditions, v1alpha1.ConditionEgressVerified)
	stale := observation.Fresh(after.Status.Observed, now) == 0
	return says == nil || (says.Reason == v1alpha1.ReasonStale) != (stale && !after.Status.Observed.Time.IsZero())
}
