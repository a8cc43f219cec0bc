package observation

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// Conditions are EgressVerified and PodsReached of a ProxyReport. Current is the fingerprint of the credentials in the cluster's
// Secrets, empty for none; nil: it is not known. A report that nobody ever observed has neither.
//
// Their messages have no time in them: an observation without news changes nothing.
func Conditions(o *v1alpha1.Observed, current *string, now time.Time) []metav1.Condition {
	if o == nil {
		return nil
	}
	return []metav1.Condition{egressVerified(o, now), podsReached(o, current, now)}
}

// Fresh returns how long an observation counts: nothing else tells when it does not any more. It is 0 for one that does not count.
func Fresh(o *v1alpha1.Observed, now time.Time) time.Duration {
	if o == nil || o.Time.IsZero() || o.Period == nil {
		return 0
	}
	return max(2*o.Period.Duration-now.Sub(o.Time.Time)+time.Second, 0) // a second, which the status does not have
}

// News reports whether an observation says anything that a decision is made from. Time alone is none, and neither is how many
// have something: whether anybody does, is. Nil is no observation.
func News(before, after *v1alpha1.Observed) bool {
	if before == nil || after == nil {
		return before != after
	}
	same := before.Egress == after.Egress && before.Message == after.Message && before.Targets == after.Targets && before.Revision == after.Revision &&
		before.FailedTargets == after.FailedTargets && sameNodes(before.Nodes, after.Nodes) && before.Time.IsZero() == after.Time.IsZero() &&
		slices.Equal(before.Unseen, after.Unseen) && slices.EqualFunc(before.Credentials, after.Credentials, sameUse)
	return !same
}

// Changing reports whether several credentials were in use lately: each observation may be the one by which older ones are
// unseen.
func Changing(o *v1alpha1.Observed) bool {
	n := 0
	if o == nil {
		return false
	}
	for _, c := range o.Credentials {
		if c.LastUsed != nil && o.Period != nil && o.Time.Sub(c.LastUsed.Time) < 4*o.Period.Duration {
			n++
		}
	}
	return n > 1
}

func sameNodes(a, b *v1alpha1.ObservedNodes) bool {
	return a == b || a != nil && b != nil && a.Failed == b.Failed && (a.Total == 0) == (b.Total == 0)
}

func sameUse(a, b v1alpha1.ObservedCredentials) bool {
	return a.Fingerprint == b.Fingerprint && a.Refused == b.Refused &&
		(a.Namespaces == 0) == (b.Namespaces == 0) && (a.Relays == 0) == (b.Relays == 0) && (a.Pods == 0) == (b.Pods == 0)
}

// unknown returns the condition where nothing can be said, as far as that goes for both.
func unknown(kind string, o *v1alpha1.Observed, now time.Time) *metav1.Condition {
	c := &metav1.Condition{Type: kind, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNotObserved, Message: o.Message}
	switch {
	case o.Time.IsZero():
		if c.Message == "" {
			c.Message = "nothing was observed yet"
		}
	case Fresh(o, now) == 0:
		c.Reason, c.Message = v1alpha1.ReasonStale, "the last observation is older than two periods"
		if o.Egress == v1alpha1.EgressUnknown && o.Message != "" {
			c.Message = shorten(c.Message+": "+o.Message, maxMessage)
		}
	default:
		return nil
	}
	return c
}

func egressVerified(o *v1alpha1.Observed, now time.Time) metav1.Condition {
	if c := unknown(v1alpha1.ConditionEgressVerified, o, now); c != nil {
		return *c
	}
	c := metav1.Condition{Type: v1alpha1.ConditionEgressVerified, Message: o.Message}
	switch o.Egress {
	case v1alpha1.EgressVerified:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonVerified, "every target is reached in the way that is expected"
	case v1alpha1.EgressFailed:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonFailed
	default:
		c.Status, c.Reason = metav1.ConditionUnknown, v1alpha1.ReasonNotObserved
	}
	return c
}

func podsReached(o *v1alpha1.Observed, current *string, now time.Time) metav1.Condition {
	if c := unknown(v1alpha1.ConditionPodsReached, o, now); c != nil {
		return *c
	}
	c := metav1.Condition{Type: v1alpha1.ConditionPodsReached, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNotObserved}
	if current == nil {
		c.Message = "which credentials the Secrets have is not known"
		return c
	}
	var others v1alpha1.ObservedCredentials
	for _, seen := range o.Credentials {
		if seen.Fingerprint != *current {
			others.Namespaces += seen.Namespaces
			others.Relays += seen.Relays
			others.Pods += seen.Pods
		}
	}
	switch {
	case rank(others) == 0:
		c.Status, c.Reason = metav1.ConditionFalse, v1alpha1.ReasonOtherCredentials
		c.Message = fmt.Sprintf("copies in %d namespaces, %d relays and %d pods have other credentials than the Secrets", others.Namespaces, others.Relays, others.Pods)
	case len(o.Unseen) > 0:
		c.Message = join([]string{"not seen: " + strings.Join(o.Unseen, ", ")})
	case *current != "" && len(o.Credentials) == 0:
		c.Message = "no copy, relay or pod with credentials was seen"
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, v1alpha1.ReasonReached, "no copy, relay or pod has other credentials than the Secrets"
	}
	return c
}
