package egress

import "fmt"

// Reason is why a request is refused: the label of a metric, and what its status follows from. Reasons keep their names.
type Reason string

// The reasons.
const (
	BadRequest   Reason = "BadRequest"   // the request cannot be read as one
	OddAddress   Reason = "OddAddress"   // the host is an address in an odd spelling
	Loopback     Reason = "Loopback"     // the destination is the relay's own machine
	LinkLocal    Reason = "LinkLocal"    // an address that no router forwards
	Metadata     Reason = "Metadata"     // a cloud's metadata service
	Special      Reason = "Special"      // multicast, unspecified, broadcast
	Denied       Reason = "Denied"       // a network that the configuration denies: nodes, the API server
	ShortName    Reason = "ShortName"    // the name of a Service without its domain
	ServiceName  Reason = "ServiceName"  // the name of a Service, which the company's proxy cannot reach
	Source       Reason = "Source"       // the client is outside the configured networks
	Itself       Reason = "Itself"       // the request has passed this relay before, or leads to it
	NotSupported Reason = "NotSupported" // neither CONNECT nor a request for an http URL
)

// Refusal is an answer to a request that goes nowhere. Its text is for people, and has nothing of a credential.
type Refusal struct {
	Reason Reason
	Text   string
}

func (r *Refusal) Error() string { return r.Text }

func refuse(reason Reason, format string, args ...any) *Refusal {
	return &Refusal{reason, fmt.Sprintf(format, args...)}
}
