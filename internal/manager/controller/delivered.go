package controller

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// The operator alone writes conditions: who has the token of "fairlead-operator deliver" changes what was delivered, and nothing
// else of a report.

// setDelivered sets the condition that follows from what was delivered and what the Secrets have now, and removes it where nobody
// delivers.
func setDelivered(status *v1alpha1.ProxyReportStatus) {
	condition := delivery.Condition(status.Delivered, recordOf(*status, render.ValuesRole).HMAC)
	if condition == nil {
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionDelivered)
		return
	}
	condition.Message = shorten(condition.Message)
	meta.SetStatusCondition(&status.Conditions, *condition)
}

// deliveredNews reports whether the condition of a report is another than follows from the rest of it. That is asked of the report as
// it is now: the event of what was delivered may come while a reconcile has an older one in its hands.
func deliveredNews(e event.UpdateEvent) bool {
	report, is := e.ObjectNew.(*v1alpha1.ProxyReport)
	if !is {
		return false
	}
	next := v1alpha1.ProxyReportStatus{
		Delivered: report.Status.Delivered, Secrets: report.Status.Secrets, Conditions: slices.Clone(report.Status.Conditions),
	}
	setDelivered(&next)
	return !equality.Semantic.DeepEqual(next.Conditions, report.Status.Conditions)
}
