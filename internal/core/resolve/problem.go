package resolve

import "fmt"

// Reason is the machine-readable name of a Problem. The operator uses it as the
// reason of the condition Ready.
type Reason string

// The reasons for which a cluster has no new configuration. In all of them the
// last good Secrets stay as they are.
const (
	// The installation's proxy cannot be used.
	ReasonInvalidProxy  Reason = "InvalidProxy"
	ReasonSourceMissing Reason = "SourceMissing"
	// No CorporateProxy, several of one priority, or none that may be used here.
	ReasonNoProxy             Reason = "NoCorporateProxy"
	ReasonAmbiguous           Reason = "AmbiguousCorporateProxy"
	ReasonNamespaceNotAllowed Reason = "NamespaceNotAllowed"
	// The one whose settings the cluster has does not exist any more, and another would take its place.
	ReasonProxyGone Reason = "CorporateProxyGone"
	// None selects the cluster: an answer rather than a failure where it never
	// had a proxy, once the grace period is over.
	ReasonNotSelected    Reason = "NotSelected"
	ReasonNotSelectedYet Reason = "NotSelectedYet"
	// The Cluster is not ready to be configured, or says something impossible.
	ReasonEndpointUnknown Reason = "EndpointUnknown"
	ReasonFactsPending    Reason = "FactsPending"
	ReasonInvalidFacts    Reason = "InvalidProviderFacts"
	// A form or a version of the facts that this program does not have, as after a downgrade.
	ReasonUnknownPromise Reason = "UnknownPromise"
	ReasonInvalidCluster Reason = "InvalidCluster"
	// The cluster's owner asks for what cannot be, or may not be.
	ReasonInvalidOverride Reason = "InvalidOverride"
	ReasonNotDelegated    Reason = "NotDelegated"
	// The result is more than the places it goes to can carry.
	ReasonTooLarge Reason = "TooLarge"
	// The result has what such a place cannot carry, whatever its length.
	ReasonNotCarriable Reason = "NotCarriable"
)

// Problem says why no configuration could be resolved. It names the object and
// the field; it never contains a credential.
type Problem struct {
	Reason   Reason
	Object   string // for example "CorporateProxy default"
	Field    string // for example "spec.noProxy[3].value"; may be empty
	Detail   string
	Refusals []string // each refused entry with its field and reason, if several
	Cause    error    // for errors.Is; may be nil
}

// Unwrap returns the cause.
func (p *Problem) Unwrap() error { return p.Cause }

// Error returns object, field and detail in one line.
func (p *Problem) Error() string {
	if p.Field == "" {
		return fmt.Sprintf("%s: %s", p.Object, p.Detail)
	}
	return fmt.Sprintf("%s: %s: %s", p.Object, p.Field, p.Detail)
}

// NewProblem returns a Problem without a cause.
func NewProblem(reason Reason, object, field, format string, args ...any) *Problem {
	return &Problem{Reason: reason, Object: object, Field: field, Detail: fmt.Sprintf(format, args...)}
}
