package rollout

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// Preflight is how the newest revision did in the management cluster, before the first cluster gets it.
type Preflight struct {
	Off    string            // why nothing is tried; empty: it is
	Answer *probe.Answer     // nil: there is none
	Asked  string            // digest of the revision that is to be tried; empty: none is
	Since  time.Time         // when this process asked for it
	Full   bool              // there is no room to ask for it
	Last   *metav1.Condition // what was said before; nil: nothing
}

// patience is how long after it was asked for, or was announced, an answer may take.
const patience = 2 * time.Minute

// gate decides whether the first cluster may get the target, and what the condition ProxyReachable says.
func (e *engine) gate() {
	p := e.Preflight
	if p == nil || e.target == nil {
		return
	}
	say := func(status metav1.ConditionStatus, reason, format string, args ...any) string {
		message := fmt.Sprintf("revision %d ", e.target.Number) + fmt.Sprintf(format, args...)
		e.reachable = &metav1.Condition{Type: v1alpha1.ConditionProxyReachable, Status: status, Reason: reason, Message: message}
		return message
	}
	switch {
	case p.Off != "":
		say(metav1.ConditionUnknown, v1alpha1.ReasonNotTried, "is not tried in the management cluster: %s", p.Off)
		return
	case e.given() && e.saidOfTarget():
		e.reachable = p.Last
		return
	case e.given():
		say(metav1.ConditionUnknown, v1alpha1.ReasonNotTried, "is not tried in the management cluster: clusters have it already")
		return
	}
	e.try = true
	switch answer := e.answer(); {
	case answer == nil:
		e.awaitAnswer(say)
	case answer.State == probe.Held:
		say(metav1.ConditionTrue, v1alpha1.ReasonReached, "was tried in the management cluster: %s", answer.Message)
	case answer.State == probe.Unknown:
		say(metav1.ConditionUnknown, v1alpha1.ReasonNotReachableFromHere,
			"cannot be tried in the management cluster, which gets no further with what clusters have (%s); clusters get it all the same: %s", answer.Reason, answer.Message)
	case answer.Next != nil && !answer.Next.Add(patience).After(e.Now):
		e.noAnswer(say)
	default:
		say(metav1.ConditionFalse, string(answer.Reason), "failed in the management cluster: %s", answer.Message)
		e.stop = &Problem{v1alpha1.ReasonPreflightFailed, fmt.Sprintf("revision %d failed in the management cluster (%s), and no cluster gets it: %s", e.target.Number, answer.Reason, remedy(answer.Reason))}
		if answer.Next != nil {
			e.within(answer.Next.Add(patience).Sub(e.Now))
		}
	}
}

// sayer sets the condition, and returns its message.
type sayer func(status metav1.ConditionStatus, reason, format string, args ...any) string

func (e *engine) awaitAnswer(say sayer) {
	since := e.Now // it is asked for now
	if e.Preflight.Asked == e.target.Digest {
		since = e.past(e.Preflight.Since)
	}
	if wait := since.Add(patience).Sub(e.Now); wait > 0 {
		e.hold = &Problem{v1alpha1.ReasonPreflight, say(metav1.ConditionUnknown, v1alpha1.ReasonTrying, "is tried in the management cluster before the first cluster gets it")}
		e.within(wait)
		return
	}
	e.noAnswer(say)
}

func (e *engine) noAnswer(say sayer) {
	if e.Preflight.Full {
		message := say(metav1.ConditionUnknown, v1alpha1.ReasonNoRoom, "waits to be tried in the management cluster, and the Secret %s has no room for it", probe.PreflightName)
		e.stop = &Problem{v1alpha1.ReasonPreflightNoRoom, message + "; correct the changes of other CorporateProxies that failed, make the bundle of spec.trustedCARef smaller, or set spec.probes.beforeChange to Never"}
		return
	}
	message := say(metav1.ConditionUnknown, v1alpha1.ReasonNoAnswer, "waits to be tried in the management cluster, and the preflight does not answer")
	e.stop = &Problem{v1alpha1.ReasonPreflightNoAnswer, message + "; look at the pods and the log of Deployment fairlead-preflight, or set spec.probes.beforeChange to Never"}
}

// answer is that about the target.
func (e *engine) answer() *probe.Answer {
	if a := e.Preflight.Answer; a != nil && a.Revision == e.target.Number && a.Digest == e.target.Digest {
		return a
	}
	return nil
}

// given reports whether some cluster is to have the target already, or has it and only is recorded so now.
func (e *engine) given() bool {
	return slices.ContainsFunc(e.Rows, func(row Row) bool { return !row.New && (e.has(&row) || e.adopts(&row)) })
}

// saidOfTarget reports whether what was found before is about the target, and stays: clusters have it, so nobody tries it again,
// and a failure would stand for ever.
func (e *engine) saidOfTarget() bool {
	last := e.Preflight.Last
	return last != nil && e.Last != nil && e.Last.Revision == e.target.Number && (last.Reason == v1alpha1.ReasonReached || last.Reason == v1alpha1.ReasonNotReachableFromHere)
}

// shut reports whether nobody gets the target for now.
func (e *engine) shut() bool { return e.hold != nil || e.stop != nil }

// control returns the newest revision before the target that has passed its first wave, or that a cluster has; nil: there is none.
func (e *engine) control() *Revision {
	return e.newest(func(r Revision) bool {
		return r.Number < e.target.Number && !r.Rejected && (r.Passed || r.Completed || slices.ContainsFunc(e.Rows, func(row Row) bool {
			return row.Record != nil && row.Record.Proxy == e.Proxy && row.Record.Number == r.Number && row.Record.Digest == r.Digest
		}))
	})
}

// remedy says what to do about a reason.
func remedy(reason probe.Reason) string {
	const never = ", or set spec.probes.beforeChange to Never"
	switch reason {
	case probe.CredentialsRefused:
		return "correct the user or the password, or add the account at the proxy"
	case probe.ProxyForbids:
		return "have the proxy allow it to this account, or correct spec.probes" + never
	case probe.ProxyNotHTTP, probe.ProxyLookupFailed, probe.ProxyRefused, probe.ProxyTimeout, probe.NetworkUnreachable:
		return "correct the proxy's URL, or let the management cluster reach it" + never
	case probe.ProxyAuthorityUnknown, probe.Intercepted, probe.AuthorityUnknown:
		return "add the authority to the bundle of spec.trustedCARef" + never
	}
	return "correct the change or spec.probes" + never
}
