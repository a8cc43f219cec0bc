package probe

import "strings"

// Stage is how far an attempt came.
type Stage string

// The stages, in their order. On the way through a proxy, the first three are about the proxy.
const (
	Lookup      Stage = "Lookup"
	Connect     Stage = "Connect"
	ProxyTLS    Stage = "ProxyTLS" // of a proxy whose URL begins with https://
	ProxyAnswer Stage = "ProxyAnswer"
	TLS         Stage = "TLS"
	HTTP        Stage = "HTTP"
	Done        Stage = "Done" // the target answered; of tcp://, it took the connection
)

// Fault is the kind of failure that ended an attempt.
type Fault string

// The faults.
const (
	NoAddress        Fault = "NoAddress"        // DNS has none, or does not answer
	Refused          Fault = "Refused"          // nobody listens
	NoRoute          Fault = "NoRoute"          // the network says that there is no way, or may not be one
	Timeout          Fault = "Timeout"          // nothing came in time
	Malformed        Fault = "Malformed"        // what came is another protocol, or was cut off
	UnknownAuthority Fault = "UnknownAuthority" // of a certificate
	BadCertificate   Fault = "BadCertificate"   // of another name, or out of date
	Answered         Fault = "Answered"         // the proxy said no: with Seen.Status
	Resting          Fault = "Resting"          // the proxy refused the credentials a moment ago, and was not asked again
)

// Trust says which authorities know the issuer of a certificate.
type Trust string

// Who knows it: the system's own authorities, or only the company's bundle. Empty: neither.
const (
	BySystem Trust = "System"
	ByBundle Trust = "Bundle"
)

// Seen is the observation of a target on one way.
type Seen struct {
	Route  Route
	Peer   string // address and port of the connection: of the proxy, if it went there
	Stage  Stage  // where it ended
	Fault  Fault  // what ended it; empty for Done
	Detail string // the same in words, without a password
	Status int    // the proxy's answer
	Cause  string // that the proxy gave with it: of Proxy-Status (RFC 9209) or squid's X-Squid-Error

	Issuer    string // of the target's certificate
	Authority string // tells issuers apart that have the same name
	Trust     Trust
	Gateway   bool // an HTTP proxy answered inside of TLS
	ALPN      string
	HTTP      int // the target's status
}

// reached reports that the target itself was there: it answered, or showed a certificate.
func (s Seen) reached() bool {
	return s.Stage == Done || s.Stage == HTTP || s.Stage == TLS && (s.Fault == UnknownAuthority || s.Fault == BadCertificate)
}

// blocked reports that the target was not there, and that this is not for want of a way: a proxy that is down hides what it
// would let through.
func (s Seen) blocked() bool {
	if s.Stage == TLS {
		return !s.reached() // somebody ends the connection when they see the name in it
	}
	if s.Route == Direct {
		return s.Stage == Connect
	}
	switch s.reason() {
	case ProxyForbids:
		return true
	case ProxyCannotReach: // squid says ERR_READ_ERROR, too, of an http URL with a name that DNS does not have
		return !strings.HasPrefix(s.Cause, "ERR_") || s.Cause == "ERR_CONNECT_FAIL"
	}
	return false
}

// answered reports that the proxy decided about the target.
func (s Seen) answered() bool {
	return s.Route == Proxied && (s.Stage == Done || s.Stage == HTTP || s.Stage == TLS || s.Stage == ProxyAnswer && s.Fault == Answered)
}

// reason returns why it ended, as far as one attempt tells.
func (s Seen) reason() Reason {
	switch s.Stage {
	case Lookup:
		return pick(s.Route, LookupFailed, ProxyLookupFailed)
	case Connect:
		switch s.Fault {
		case Refused:
			return pick(s.Route, ConnectionRefused, ProxyRefused)
		case Timeout:
			return pick(s.Route, ConnectionTimeout, ProxyTimeout)
		}
		return NetworkUnreachable
	case ProxyTLS:
		switch s.Fault {
		case Timeout:
			return ProxyTimeout
		case Malformed:
			return ProxyNotHTTP
		}
		return ProxyAuthorityUnknown
	case ProxyAnswer:
		return s.answer()
	case TLS:
		if s.Fault == UnknownAuthority {
			return AuthorityUnknown
		}
		return TLSFailed
	case HTTP:
		return NoHTTP
	}
	return ""
}

func pick(route Route, direct, proxied Reason) Reason {
	if route == Direct {
		return direct
	}
	return proxied
}

// relayed has the reason for each cause that fairlead-relay gives about the company's proxy.
var relayed = map[string]Reason{
	"407": CredentialsRefused, "backoff": CredentialsRefused, "403": ProxyForbids, "timeout": ProxyTimeout, "tls": ProxyAuthorityUnknown,
	"refused": ProxyRefused, "lookup": ProxyLookupFailed, "no-route": NetworkUnreachable, "failed": ProxyNotHTTP,
}

// answer returns what the proxy's answer, or that there is none, means.
func (s Seen) answer() Reason {
	switch s.Fault {
	case Timeout:
		return ProxyTimeout
	case Malformed:
		return ProxyNotHTTP
	case Resting:
		return CredentialsRefused
	}
	if behind, ok := strings.CutPrefix(s.Cause, RelayCause); ok {
		if reason, ok := relayed[behind]; ok {
			return reason
		}
		switch {
		case behind == "502" || behind == "503" || behind == "504":
			return ProxyCannotReach
		case s.Status == 403: // its own
			return ProxyForbids
		}
		return ProxyAnswers
	}
	switch s.Cause {
	case "ERR_DNS_FAIL", "dns_error", noAddress:
		return LookupFailed
	}
	switch s.Status {
	case 407:
		return CredentialsRefused
	case 403:
		return ProxyForbids
	case 502, 503, 504:
		return ProxyCannotReach
	}
	return ProxyAnswers
}

// noAddress is squid's error for a CONNECT to a name that DNS does not have (squid 5, tunnel.cc). squid also gives it
// where no proxy is left through which the request may go.
const noAddress = "ERR_CANNOT_FORWARD"

// RelayCause begins the cause that fairlead-relay gives: what the company's proxy said to it.
const RelayCause = "fairlead-relay: "
