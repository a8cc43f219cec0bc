// Package proxyurl holds the URL of an HTTP proxy, credentials included, in a
// type that does not give them away: printing, logging or marshalling a [URL]
// shows "***" in their place. [URL.Reveal] is the one way out, and only packages
// render and relay take it; a test at the root of the module enforces that.
//
// One shape is accepted and emitted, because clients agree on no other:
// http://[username[:password]@]host:port, with a lower-case scheme, an explicit
// port, no path, and RFC 3986 percent-encoding in the user information.
//
// The package is pure: no Kubernetes library, no clock, no file, no network.
package proxyurl

import (
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strings"
)

// URL is a proxy URL. The zero value means that no proxy is set.
//
// The parts stand behind a pointer to a pointer: fmt cannot call the methods of
// a value in somebody's unexported field and prints its memory. There it does
// not follow pointers, except one, for a verb that is not for pointers (%s).
type URL struct{ hidden **parts }

type parts struct {
	scheme   string // "http" or "https"
	userinfo string // as it stands in front of the @, percent-encoded; empty if there is none
	address  string // host:port, IPv6 in brackets
}

func newURL(p parts) URL {
	hidden := &p
	return URL{&hidden}
}

func (u URL) parts() parts {
	if u.hidden == nil {
		return parts{}
	}
	return **u.hidden
}

// IsZero reports whether no proxy is set.
func (u URL) IsZero() bool { return u.hidden == nil }

// HasCredentials reports whether the URL carries user information.
func (u URL) HasCredentials() bool { return u.parts().userinfo != "" }

// Equal reports whether both URLs are the same, credentials included.
func (u URL) Equal(other URL) bool { return u.Reveal() == other.Reveal() }

// Reveal returns the whole URL with its credentials, or "" for the zero value.
func (u URL) Reveal() string {
	switch p := u.parts(); {
	case u.IsZero():
		return ""
	case p.userinfo == "":
		return p.scheme + "://" + p.address
	default:
		return p.scheme + "://" + p.userinfo + "@" + p.address
	}
}

// String returns the URL with "***" in place of the user information.
func (u URL) String() string {
	if p := u.parts(); p.userinfo != "" {
		return p.scheme + "://***@" + p.address
	}
	return u.Reveal()
}

// Format writes String for every verb: %v, %+v, %#v, %q, %x and any other.
func (u URL) Format(state fmt.State, _ rune) { _, _ = state.Write([]byte(u.String())) }

// GoString returns String.
func (u URL) GoString() string { return u.String() }

// MarshalText returns String, which JSON and YAML encoders use as well.
func (u URL) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// LogValue returns String.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.String()) }

// WithCredentials returns the URL with a raw username and password, which are
// percent-encoded here: everything but the unreserved characters of RFC 3986.
// One line end at the end of either is dropped, since files and editors add it.
// Refused are what HTTP Basic authentication cannot carry (RFC 7617: control
// characters, a colon in the username), a password without username, and a URL
// that already has user information. No error shows any of the values.
func (u URL) WithCredentials(username, password string) (URL, error) {
	username, password = trimLineEnd(username), trimLineEnd(password)
	switch {
	case u.IsZero():
		return URL{}, nil
	case u.HasCredentials():
		return URL{}, errors.New("user information is given twice: inside the URL and as separate credentials")
	case username == "" && password == "":
		return u, nil
	case username == "":
		return URL{}, errors.New("the password has no username")
	case strings.Contains(username, ":"):
		return URL{}, errors.New("the username contains a colon, which HTTP Basic authentication cannot carry (RFC 7617)")
	case hasControl(username):
		return URL{}, errors.New("the username contains a control character, which HTTP Basic authentication cannot carry (RFC 7617)")
	case hasControl(password):
		return URL{}, errors.New("the password contains a control character, which HTTP Basic authentication cannot carry (RFC 7617)")
	}
	userinfo := encode(username)
	if password != "" {
		userinfo += ":" + encode(password)
	}
	return newURL(parts{u.parts().scheme, userinfo, u.parts().address}), nil
}

func trimLineEnd(s string) string { return strings.TrimSuffix(strings.TrimSuffix(s, "\n"), "\r") }

func hasControl(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r < 0x20 || r == 0x7f })
}

// encode percent-encodes all but the unreserved characters (RFC 3986, 2.3), so that no later
// consumer can take a byte of a password for syntax.
func encode(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }

// Scheme returns "http" or "https".
func (u URL) Scheme() string { return u.parts().scheme }

// Host returns the host without port; an IPv6 address without brackets.
func (u URL) Host() string {
	address := u.parts().address
	return strings.Trim(address[:max(strings.LastIndexByte(address, ':'), 0)], "[]")
}

// Port returns the port, in digits.
func (u URL) Port() string {
	address := u.parts().address
	return address[strings.LastIndexByte(address, ':')+1:]
}

// WithoutCredentials returns the URL less its user information.
func (u URL) WithoutCredentials() URL {
	if u.IsZero() {
		return u
	}
	return newURL(parts{scheme: u.parts().scheme, address: u.parts().address})
}

// WithoutFinalDot returns the URL with its host less a final dot.
func (u URL) WithoutFinalDot() URL {
	p := u.parts()
	host, port, ok := strings.Cut(p.address, ".:")
	if !ok {
		return u
	}
	return newURL(parts{p.scheme, p.userinfo, host + ":" + port})
}

// IsExpanded reports whether kubelet changes the user information where it stands
// in a variable of a pod: it takes $$ for $, and $(NAME) for another variable.
func (u URL) IsExpanded() bool {
	userinfo := u.parts().userinfo
	_, name, refers := strings.Cut(userinfo, "$(")
	return strings.Contains(userinfo, "$$") || refers && strings.Contains(name, ")")
}

// HasEncoded reports whether the user information holds a character that is
// percent-encoded. What it is, is not given away.
func (u URL) HasEncoded() bool { return strings.Contains(u.parts().userinfo, "%") }

// HasNonASCII reports whether the user information holds a byte outside ASCII,
// which is percent-encoded.
func (u URL) HasNonASCII() bool { return nonASCII.MatchString(u.parts().userinfo) }

var nonASCII = regexp.MustCompile("%[89A-Fa-f]")

// HasPlus reports whether the user information holds a plus sign as such.
func (u URL) HasPlus() bool { return strings.Contains(u.parts().userinfo, "+") }
