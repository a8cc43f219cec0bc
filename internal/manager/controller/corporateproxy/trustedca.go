package corporateproxy

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/cabundle"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

// trustedCAStatus writes the state of the certificates into the status of the
// CorporateProxy that names them. While they cannot be read, the last known expiry
// stays, since machines still get that bundle.
func trustedCAStatus(status *v1alpha1.CorporateProxyStatus, proxy *v1alpha1.CorporateProxy, certificates []cabundle.Certificate, now time.Time) {
	if proxy.Spec.TrustedCARef == nil {
		status.TrustedCAExpiry = nil
		meta.RemoveStatusCondition(&status.Conditions, v1alpha1.ConditionTrustedCA)
		return
	}
	if expiry, ok := cabundle.Expiry(certificates); ok {
		at := metav1.Unix(expiry.Unix, 0)
		status.TrustedCAExpiry = &at
	}
	condition := trustedCA(certificates, now.Unix())
	condition.ObservedGeneration = proxy.Generation
	meta.SetStatusCondition(&status.Conditions, condition)
}

// trustedCA returns the condition. The worst certificate gives the reason.
func trustedCA(certificates []cabundle.Certificate, now int64) metav1.Condition {
	condition := metav1.Condition{Type: v1alpha1.ConditionTrustedCA, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonUnreadable, Message: "not read: see Ready"}
	expiry, ok := cabundle.Expiry(certificates)
	if !ok {
		return condition
	}
	next := map[cabundle.Validity][]string{}
	for _, c := range certificates {
		validity := c.At(now)
		next[validity] = append(next[validity], c.Says(validity))
	}
	bad := slices.Concat(next[cabundle.Expired], next[cabundle.NotYetValid], next[cabundle.ExpiresSoon])
	condition.Message = machinery.Shorten(strings.Join(bad, "; "))
	condition.Status = metav1.ConditionTrue
	switch {
	case next[cabundle.Expired] != nil:
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonExpired
	case next[cabundle.NotYetValid] != nil:
		condition.Status, condition.Reason = metav1.ConditionFalse, v1alpha1.ReasonNotYetValid
	case next[cabundle.ExpiresSoon] != nil:
		condition.Reason = v1alpha1.ReasonExpiresSoon
	default:
		condition.Reason = v1alpha1.ReasonValid
		condition.Message = fmt.Sprintf("%d valid, the first expires on %s", len(certificates), expiry)
	}
	return condition
}

// untilChange returns how long the condition stays as it is, unless something else
// changes; 0 if it does for good.
func untilChange(certificates []cabundle.Certificate, now time.Time) time.Duration {
	var wait time.Duration
	for _, c := range certificates {
		if next, changes := c.Next(now.Unix()); changes {
			until := min(time.Unix(next, 0).Sub(now), settings.LongestLook)
			if wait == 0 || until < wait {
				wait = until
			}
		}
	}
	return wait
}
