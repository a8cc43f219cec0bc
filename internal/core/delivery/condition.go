package delivery

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Condition returns the condition Delivered of a ProxyReport; nil where nothing is delivered. hmac is the HMAC of the
// Secret with the Helm values as it is now.
func Condition(d *v1alpha1.Delivered, hmac string) *metav1.Condition {
	if d == nil {
		return nil
	}
	set := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: v1alpha1.ConditionDelivered, Status: status, Reason: reason, Message: message}
	}
	same := d.HMAC != "" && d.HMAC == hmac
	switch {
	case d.State == v1alpha1.DeliveryBlocked:
		return set(metav1.ConditionFalse, v1alpha1.ReasonBlocked, d.Message)
	case d.State == v1alpha1.DeliveryNotApplied && same:
		return set(metav1.ConditionUnknown, v1alpha1.ReasonNotRenewed, fmt.Sprintf("the settings arrived, and are not applied again%s: %s", since(d), d.Message))
	case d.State == v1alpha1.DeliveryNotApplied:
		return set(metav1.ConditionFalse, v1alpha1.ReasonNotDelivered, fmt.Sprintf("the settings have not been applied%s: %s", since(d), d.Message))
	case same:
		return set(metav1.ConditionTrue, v1alpha1.ReasonDelivered, "Cluster API has applied the settings in the workload cluster")
	}
	return set(metav1.ConditionFalse, v1alpha1.ReasonPending, "the settings have changed, and Cluster API has not applied them yet")
}

func since(d *v1alpha1.Delivered) string {
	if d.Since == nil {
		return ""
	}
	return " since " + d.Since.UTC().Format(time.RFC3339)
}
