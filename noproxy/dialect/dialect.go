// Package dialect says what HTTP clients do with the proxy variables: for any
// environment and URL, whether a client goes direct, uses the proxy (how, and
// as whom) or fails, and which entry of NO_PROXY decided.
//
// There is no standard for NO_PROXY, so every client is a port of its own
// code: one file per family, one [Behaviour] per version that changed the
// rules, and the source of each rule beside it. Nothing is fitted to measured
// cases; the measured cases (vector/table, made by "make vectors") are how
// the ports are tested.
//
// The URL of a proxy is read once for all clients, each of which has a row of
// traits (proxy_url.go). What they would take apart differently is [NotJudged].
//
// The package is pure: it resolves no name and opens no connection. It knows
// nothing of Fairlead's own reading of entries (package noproxy), because
// clients do not either.
package dialect

import (
	"net/netip"
	"strconv"
	"strings"
)

// Env is the environment of a client: variables by their exact names. Java reads
// system properties instead; those stand here under their own names, such as
// "http.nonProxyHosts".
type Env map[string]string

// Decider is a client that has read its environment: it decides for a URL.
type Decider func(Target) Decision

// Route is where a request goes.
type Route uint8

// The routes.
const (
	Direct  Route = iota + 1 // to the host of the URL
	Proxy                    // to a proxy
	Fails                    // nowhere: the client reports an error
	Depends                  // it is up to what its name resolves to, or not judged
)

// String returns "direct", "proxy", "fails" or "depends".
func (r Route) String() string {
	switch r {
	case Direct:
		return "direct"
	case Proxy:
		return "proxy"
	case Fails:
		return "fails"
	case Depends:
		return "depends"
	}
	return "route " + strconv.Itoa(int(r))
}

// Decision is a client's decision about a URL, and the reason.
type Decision struct {
	Route Route
	// Entry is the deciding entry, as a place in the value of Variable. It is
	// empty where no entry decided.
	Entry Span
	// Variable is the one that decided: of NO_PROXY, where an entry did; of the
	// proxy, where one is used or could not be; otherwise empty.
	Variable string
	// Reason is why, in words for people, such as "the name itself" or
	// "loopback is never proxied". It never contains a credential.
	Reason string
	// Hop is how the proxy is reached; only with the route Proxy.
	Hop Hop
}

// Span is a half-open range of bytes, [Start, End), in a list as it was given.
type Span struct{ Start, End int }

// Empty reports whether the span covers nothing.
func (s Span) Empty() bool { return s.Start >= s.End }

// Of returns the text of the span in a list.
func (s Span) Of(list string) string {
	if s.Start < 0 || s.End > len(list) || s.Empty() {
		return ""
	}
	return list[s.Start:s.End]
}

// Hop is how a client talks to a proxy.
type Hop struct {
	Address  string // host:port of the connection; an IPv6 host is in brackets
	Protocol Protocol
	// Auth is the credential that the proxy receives: the bytes of
	// "user:password" as they are sent, decoded or not. It is secret.
	Auth Auth
	// result is the answer of the client's own function, for a Behaviour with
	// Observe. It is secret too.
	result Auth
}

// toward is the hop for a URL of a scheme: a proxy that takes CONNECT gets a
// request as it is for http. With TLS the credential is inside the handshake.
func (h Hop) toward(scheme string) Hop {
	switch {
	case h.Protocol == TLS:
		h.Auth = Auth{}
	case h.Protocol == Connect && scheme == "http":
		h.Protocol = Absolute
	}
	return h
}

// Protocol is the first protocol that a client speaks to a proxy.
type Protocol string

// The protocols.
const (
	Absolute    Protocol = "http"               // a request with an absolute URL (RFC 9112, 3.2.2)
	Connect     Protocol = "CONNECT"            // a tunnel (RFC 9110, 9.3.6)
	TLS         Protocol = "tls"                // a TLS handshake with the proxy itself
	Socks4      Protocol = "socks4"             //
	Socks5Name  Protocol = "socks5 target=name" // the proxy resolves the name
	Socks5Local Protocol = "socks5 target=ip"   // the client does
)

// Auth is a credential that prints as nothing but its presence.
type Auth struct {
	sent  bool
	bytes string
}

// Sends returns the credential with these bytes.
func Sends(userAndPassword string) Auth { return Auth{true, userAndPassword} }

// IsZero reports whether no credential is sent.
func (a Auth) IsZero() bool { return !a.sent }

// Bytes returns the credential itself: for checks against measurements, never
// for output.
func (a Auth) Bytes() string { return a.bytes }

// String returns "***" or "".
func (a Auth) String() string {
	if a.sent {
		return "***"
	}
	return ""
}

// GoString is String: %#v must not show the credential either.
func (a Auth) GoString() string { return a.String() }

// direct, proxied, fails and depends are the kinds of decision.

func direct(variable string, entry Span, reason string) Decision {
	return Decision{Route: Direct, Variable: variable, Entry: entry, Reason: reason}
}

func proxied(variable string, hop Hop) Decision {
	return Decision{Route: Proxy, Variable: variable, Hop: hop, Reason: NoEntry}
}

func fails(variable, reason string) Decision {
	return Decision{Route: Fails, Variable: variable, Reason: reason}
}

func depends(variable, reason string) Decision {
	return Decision{Route: Depends, Variable: variable, Reason: reason}
}

// hasPercent tells whether a host has a percent sign. A client that looks up a
// host as it is written goes nowhere then; an IPv6 address may have one before
// its zone.
func hasPercent(host string) bool {
	return strings.Contains(host, "%") && !strings.Contains(host, ":")
}

// NoEntry is the reason to use a proxy where the client has asked its list, and
// the list alone is why. Every other reason for the route Proxy is the client's own.
const NoEntry = "no entry matches"

// Reasons that several clients share. A family adds its own where none of
// these says what happened. They are said of one client and of several.
const (
	noVariable    = "no proxy variable that is read for this scheme is set"
	noneRead      = "no proxy variable is read in this version"
	proxyOff      = "the proxy variable is set but empty, which turns the proxy off"
	theName       = "the name itself"
	belowName     = "a name below it"
	endsWith      = "the host ends with this text, without regard to dots"
	theAddress    = "the address itself"
	inNetwork     = "an address in this network"
	everything    = "covers everything"
	everyName     = "covers every name"
	samePort      = "this host at this port"
	loopback      = "loopback is never proxied"
	unusableProxy = "the value of the proxy variable cannot be used, and is ignored"
	brokenProxy   = "the value of the proxy variable cannot be used"
)

// literal returns the address that a host is written as, in Go's strict
// reading of it (dotted quad, RFC 4291), or the zero Addr.
func literal(host string) netip.Addr {
	addr, err := netip.ParseAddr(host)
	if err != nil {
		return netip.Addr{}
	}
	return addr
}
