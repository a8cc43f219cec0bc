// Package probe defines the probes of egress: the targets, the verdict whether a target behaves as expected, and the
// result that a workload cluster publishes. It opens no connection: package internal/workload/probe does.
package probe

import "time"

// ConfigMapName has the result, in the namespace of charts/fairlead-policies, under ResultKey. Only "fairlead-operator probe"
// writes it.
const (
	ConfigMapName = "fairlead-probe"
	ResultKey     = "result.json"
)

// MaxResultBytes is how long a result may be as JSON; MaxWorstNodes is how many nodes it names.
const (
	MaxResultBytes = 64 << 10
	MaxWorstNodes  = 20
)

// Expectation is whether a target is to be reached.
type Expectation string

// The expectations.
const (
	Reachable   Expectation = "Reachable"
	Unreachable Expectation = "Unreachable"
)

// Route is the way to a target. Empty, it is the one that the settings choose, or either one for Unreachable.
type Route string

// The routes.
const (
	Proxied Route = "Proxied"
	Direct  Route = "Direct"
)

// Target is a destination, and the expectation about it.
type Target struct {
	URL    string      `json:"url"` // https://host, http://host or tcp://host:port, without user information
	Expect Expectation `json:"expect"`
	Route  Route       `json:"route,omitempty"`
}

// State says whether the expectation about a target holds.
type State string

// The states. Unknown says nothing about the target, as when a look-up failed or the positive control did.
const (
	Held    State = "Held"
	Failed  State = "Failed"
	Unknown State = "Unknown"
)

// Result has the observations in a workload cluster in one period.
type Result struct {
	Version     int               `json:"version"` // 1
	Time        time.Time         `json:"time"`
	Since       time.Time         `json:"since"`              // when results began that had no gap longer than two periods
	Period      string            `json:"period"`             // of time.Duration
	Revision    string            `json:"revision,omitempty"` // of the settings that were tried; empty: they do not say
	Targets     []TargetResult    `json:"targets,omitempty"`
	Nodes       *Nodes            `json:"nodes,omitempty"`
	Credentials []CredentialsSeen `json:"credentials,omitempty"`
	Unseen      []string          `json:"unseen,omitempty"` // what could not be looked at, in words
}

// TargetResult has the observations of a target from the probe's own pod.
type TargetResult struct {
	Target
	State       State      `json:"state"`
	Reason      Reason     `json:"reason,omitempty"` // why it is not Held
	Message     string     `json:"message,omitempty"`
	Via         Route      `json:"via,omitempty"`  // the way that the settings choose; if it must not be reached, the one that reached it
	Peer        string     `json:"peer,omitempty"` // address and port of the other end of the connection: via Proxied, the proxy's
	LastSuccess *time.Time `json:"lastSuccess,omitempty"`
	LastFailure *time.Time `json:"lastFailure,omitempty"`
}

// Nodes are the nodes with a relay, through which the targets were tried.
type Nodes struct {
	Total    int `json:"total"`
	Verified int `json:"verified"`
	Failed   int `json:"failed"`
	// Pending nodes were not tried yet with the current settings, or not lately. Those that are new are none.
	Pending int `json:"pending,omitempty"`
	// Until is the creation of the youngest node of which it and every older one was tried at least once. A node that is
	// not younger, and not in Worst while that has all failed ones, is verified.
	Until *time.Time `json:"until,omitempty"`
	Worst []Node     `json:"worst,omitempty"`
}

// Node is one that failed, now or lately.
type Node struct {
	Name        string     `json:"name"`
	State       State      `json:"state"`
	LastSuccess *time.Time `json:"lastSuccess,omitempty"`
	LastFailure *time.Time `json:"lastFailure,omitempty"`
	Outages     []Outage   `json:"outages,omitempty"` // the latest first
}

// Outage is a time in which a target failed.
type Outage struct {
	Begin  time.Time  `json:"begin"`
	End    *time.Time `json:"end,omitempty"` // nil: it goes on
	URL    string     `json:"url"`
	Reason Reason     `json:"reason"`
}

// CredentialsSeen says who has or uses credentials. The fingerprint is the operator's, as it came with the settings.
type CredentialsSeen struct {
	Fingerprint string     `json:"fingerprint"`
	Namespaces  int        `json:"namespaces,omitempty"`
	Relays      int        `json:"relays,omitempty"`
	Pods        int        `json:"pods,omitempty"`
	LastUsed    *time.Time `json:"lastUsed,omitempty"`
	Refused     bool       `json:"refused,omitempty"`
}

// Reason is why a target is not reached in the way that is expected.
type Reason string

// The reasons. They are released: a name stays.
const (
	LookupFailed          Reason = "LookupFailed"          // DNS has no answer; of a name that does not exist, too
	ConnectionRefused     Reason = "ConnectionRefused"     // by the target
	ConnectionTimeout     Reason = "ConnectionTimeout"     // of the target
	NetworkUnreachable    Reason = "NetworkUnreachable"    // the network says that no way leads to the target, or to the proxy
	ProxyLookupFailed     Reason = "ProxyLookupFailed"     // DNS has no answer for the proxy
	ProxyRefused          Reason = "ProxyRefused"          // nobody listens at the proxy's port
	ProxyTimeout          Reason = "ProxyTimeout"          // the proxy does not answer
	ProxyNotHTTP          Reason = "ProxyNotHTTP"          // what answers is no proxy: another port, or TLS
	ProxyAuthorityUnknown Reason = "ProxyAuthorityUnknown" // of a proxy with TLS
	CredentialsRefused    Reason = "CredentialsRefused"    // 407
	ProxyForbids          Reason = "ProxyForbids"          // 403
	ProxyCannotReach      Reason = "ProxyCannotReach"      // 502, 503, 504
	ProxyAnswers          Reason = "ProxyAnswers"          // any other status
	Intercepted           Reason = "Intercepted"           // TLS of the target is signed by a proxy that inspects it, and the bundle lacks its authority
	AuthorityUnknown      Reason = "AuthorityUnknown"      // TLS of the target is signed by nobody who is known
	TLSFailed             Reason = "TLSFailed"
	NoHTTP                Reason = "NoHTTP"           // the target does not speak HTTP
	WentAround            Reason = "WentAround"       // the settings lead around the proxy
	WentThroughProxy      Reason = "WentThroughProxy" // the settings lead through the proxy
	Reached               Reason = "Reached"          // and must not be
	NoControl             Reason = "NoControl"        // nothing else was reached in this round either
)
