package dialect

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"
)

// Target is a URL that a client is asked for, taken apart but not normalized:
// clients normalize each in their own way.
type Target struct {
	URL       string // as written, with a scheme
	Scheme    string // "http" or "https"
	Host      string // as written, without brackets
	Bracketed bool   // the host stood in brackets: an IPv6 address
	Port      string // digits as written; empty where there is none
	// User is the text before "@" in the URL, as written. Most clients cut it
	// off, and so does URL; it is secret.
	User Auth
	// Addrs are the addresses to which the host resolves, as far as the caller
	// knows. Only clients that resolve names before they decide look at them.
	Addrs []netip.Addr
}

// ParseTarget takes a URL apart. Where it has no scheme, https is meant. The
// error says what is wrong with it; user information is dropped.
func ParseTarget(text string) (Target, error) {
	for _, c := range []byte(text) {
		if c <= ' ' || c == 0x7f {
			return Target{}, errors.New("contains white space or a control character")
		}
	}
	scheme, rest, ok := strings.Cut(text, "://")
	if !ok || strings.ContainsAny(scheme, "/?#") { // behind the host stands another URL

		if before, _, slash := strings.Cut(text, ":/"); slash && isWebScheme(before) {
			return Target{}, errors.New("two slashes follow the scheme")
		}
		scheme, rest = "https", text
	}
	t := Target{Scheme: strings.ToLower(scheme)}
	if !isWebScheme(t.Scheme) {
		return Target{}, fmt.Errorf("the scheme is http or https, not %q: write https://host:port", scheme)
	}
	authority, rest := cutAuthority(rest)
	if userinfo, hostPort, ok := cutLastAt(authority); ok {
		t.User, authority = Sends(userinfo), hostPort
	}
	t.URL = t.Scheme + "://" + authority + rest
	return t, t.parseAuthority(authority)
}

func isWebScheme(scheme string) bool {
	return strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https")
}

func (t *Target) parseAuthority(authority string) error {
	host, port, bracketed, ok := splitHostPort(authority)
	switch {
	case bracketed && (!ok || !literal(host).Is6()):
		return errors.New("brackets hold an IPv6 address, and only a port may follow them")
	case !bracketed && strings.Contains(port, ":"):
		return errors.New("an IPv6 address stands in brackets")
	}
	t.Host, t.Port, t.Bracketed = host, port, bracketed
	switch {
	case host == "":
		return errors.New("has no host")
	case port != "" && !isPort(port):
		return errors.New("the port is a number from 1 to 65535")
	}
	return nil
}

// EffectivePort returns the port, or the default one of the scheme.
func (t Target) EffectivePort() string {
	return cmp.Or(t.Port, webPorts[t.Scheme], "80")
}

// webPorts are the default ports of the two schemes.
var webPorts = map[string]string{"http": "80", "https": "443"}

// bracketed is the host as it is written, an IPv6 address in brackets.
func (t Target) bracketed() string {
	if t.Bracketed {
		return "[" + t.Host + "]"
	}
	return t.Host
}

// rawAuthority is host and port as they are written, even a colon without a port.
func (t Target) rawAuthority() string {
	authority, _ := t.cut()
	return authority
}

// requestTarget is path and query as they are written.
func (t Target) requestTarget() string {
	_, rest := t.cut()
	rest, _, _ = strings.Cut(rest, "#")
	return rest
}

// cut splits the URL behind its authority.
func (t Target) cut() (authority, rest string) {
	_, text, _ := strings.Cut(t.URL, "://")
	return cutAuthority(text)
}

// resolved returns the addresses of the host. They are the ones that the caller
// knows, those of names that are loopback everywhere (RFC 6761, 6.3), or the
// address that the host is.
func (t Target) resolved() []netip.Addr {
	if len(t.Addrs) > 0 {
		return t.Addrs
	}
	if addr := literal(t.Host); addr.IsValid() {
		return []netip.Addr{addr}
	}
	name := strings.TrimSuffix(strings.ToLower(t.Host), ".")
	if name == "localhost" || strings.HasSuffix(name, ".localhost") || name == "localhost.localdomain" {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}
	}
	return nil
}
