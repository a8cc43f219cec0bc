package delivery

import (
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

const maxMessage = 1024

// Answer is how Cluster API answered the settings that were delivered to it.
type Answer struct {
	HMAC     string    // of the Secret whose settings it was given
	Revision int64     // of them
	Given    time.Time // when
	Applied  bool
	At       time.Time // when it applied them
	Words    string    // why it did not
}

// Next is status.delivered after an answer. What is not applied is said once that lasts: until then the last one stays, but for
// what blocked it, and is to be looked at again after wait. An answer without news changes nothing.
func Next(last *v1alpha1.Delivered, a Answer, now time.Time, patience time.Duration) (next *v1alpha1.Delivered, wait time.Duration) {
	if a.Applied {
		at := metav1.NewTime(a.At)
		if last != nil && last.HMAC == a.HMAC && last.Time != nil {
			at = *last.Time
		}
		return &v1alpha1.Delivered{State: v1alpha1.DeliveryApplied, HMAC: a.HMAC, Revision: a.Revision, Time: &at}, 0
	}
	since := metav1.NewTime(a.Given)
	if last != nil && last.State == v1alpha1.DeliveryNotApplied && last.Since != nil && last.Since.Before(&since) {
		since = *last.Since
	}
	if wait := patience - now.Sub(since.Time); wait > 0 && (last == nil || last.State != v1alpha1.DeliveryNotApplied) {
		return unblocked(last), wait
	}
	return failed(last, v1alpha1.DeliveryNotApplied, since, a.Words), 0
}

// Blocked is status.delivered of a Cluster for which nothing is written.
func Blocked(last *v1alpha1.Delivered, message string, now time.Time) *v1alpha1.Delivered {
	since := metav1.NewTime(now)
	if last != nil && last.State == v1alpha1.DeliveryBlocked && last.Since != nil {
		since = *last.Since
	}
	return failed(last, v1alpha1.DeliveryBlocked, since, message)
}

// unblocked returns what was applied before, nil for nothing.
func unblocked(last *v1alpha1.Delivered) *v1alpha1.Delivered {
	switch {
	case last == nil || last.State != v1alpha1.DeliveryBlocked:
		return last
	case last.Time == nil:
		return nil
	}
	return &v1alpha1.Delivered{State: v1alpha1.DeliveryApplied, HMAC: last.HMAC, Revision: last.Revision, Time: last.Time}
}

// failed keeps what was applied before.
func failed(last *v1alpha1.Delivered, state string, since metav1.Time, message string) *v1alpha1.Delivered {
	next := &v1alpha1.Delivered{State: state, Since: &since, Message: shorten(message)}
	if last != nil {
		next.HMAC, next.Revision, next.Time = last.HMAC, last.Revision, last.Time
	}
	return next
}

func shorten(message string) string {
	const cut = "…"
	if len(message) <= maxMessage {
		return message
	}
	return strings.ToValidUTF8(message[:maxMessage-len(cut)], "") + cut
}
