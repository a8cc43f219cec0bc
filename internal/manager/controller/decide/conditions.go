package decide

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
	"github.com/fairlead-io/fairlead/internal/core/observation"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

// The operator alone writes conditions: who has the token of "fairlead-operator deliver" changes what was delivered, and nothing
// else of a report.

// setDelivered sets the condition that follows from status.delivered and from the Secrets as they are now. It removes
// the condition where nothing is delivered.
func setDelivered(status *v1alpha1.ProxyReportStatus) {
	condition := delivery.Condition(status.Delivered, RecordOf(*status, render.ValuesRole).HMAC)
	if condition == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionDelivered)
		return
	}
	condition.Message = machinery.Shorten(condition.Message)
	meta.SetStatusCondition(&status.Conditions, *condition)
}

// DeliveredNews reports whether the condition of a report differs from the one that follows from the rest of it. The
// report is taken as it is now: the event may come while a reconcile has an older one.
func DeliveredNews(e event.UpdateEvent) bool {
	report, ok := e.ObjectNew.(*v1alpha1.ProxyReport)
	if !ok {
		return false
	}
	next := v1alpha1.ProxyReportStatus{
		Delivered: report.Status.Delivered, Secrets: report.Status.Secrets, Conditions: slices.Clone(report.Status.Conditions),
	}
	setDelivered(&next)
	return !equality.Semantic.DeepEqual(next.Conditions, report.Status.Conditions)
}

// setObserved sets the conditions that follow from an observation, and removes them from a report without any.
func setObserved(conditions *[]metav1.Condition, s State) {
	found := observation.Conditions(s.Last().Observed, s.Account, s.Now)
	for _, condition := range found {
		condition.Message = machinery.Shorten(condition.Message)
		meta.SetStatusCondition(conditions, condition)
	}
	if found == nil {
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionEgressVerified)
		meta.RemoveStatusCondition(conditions, v1alpha1.ConditionPodsReached)
	}
}

// ObservedNews reports whether the conditions of a report have to be looked at: an observation says something new, or one that
// was too old is followed by another.
func ObservedNews(e event.UpdateEvent, now time.Time) bool {
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
