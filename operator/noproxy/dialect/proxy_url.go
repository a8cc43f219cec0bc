package dialect

import (
	"cmp"
	"regexp"
	"strings"
)

// proxyURL is how a client reads the URL in a proxy variable, as a row. The
// source of a row stands with the client's family; a field names one whose code
// shows why it is there. The steps follow each other as the fields do.
//
// curl, wget2, GLib, urllib and httpx only cut by a grammar: what they do next is
// too much their own. No grammar describes the URL Standard (whatwg.go), net/url
// of Go, and what walks through the text (apt, rust).
type proxyURL struct {
	cut    func(text string) (u urlParts, ok bool) // mostly a grammar: uri_split of aria2, RFC3986_URI of Ruby
	decode func(string) string                     // what is done to user and password; nil: nothing

	// refuses says what becomes of a proxy that is not used, before anything else
	// is looked at: getproxy of wget, getProxyInfo of grpc-js. Nil: none is.
	refuses func(u *urlParts, target string) proxy

	// host checks and normalizes the host (_normalize_host of urllib3; nil: it is
	// fine), and port the port as it is written, where by is the default one
	// (GetUriFromString of .NET; nil: decimalPort).
	host func(u *urlParts) bool
	port func(written, by string) (port string, ok bool)

	// What a proxy is by its scheme, and its default port: proxies of proxy-agent.
	schemes map[string]Protocol
	ports   map[string]string

	// sends tells whether a credential is sent (nil: never), and credential what
	// (nil: user, colon and password); it may be one that cannot be sent, as in
	// get_auth_from_url of requests.
	sends      func(u *urlParts) bool
	credential func(u *urlParts) (text string, ok bool)

	// reach is where a connection goes (nil: to whatever is written). It fails where
	// nothing can be reached: IO::Socket of Perl, getaddrinfo of the C library.
	reach func(host, port string) (address string, ok bool)

	malformed proxy // where it cannot be cut, or its host or port is not valid
	broken    proxy // where anything else is wrong
}

// urlParts is a URL as a client takes it apart.
type urlParts struct {
	scheme           string // ASCII letters in lower case
	userinfo         string
	user, password   string
	host, port, path string // an IPv6 address has no brackets; the path is all that follows

	hasUser, hasPassword, hasPort bool
	bracketed                     bool // the host stood in brackets
}

// What most grammars end with. User information ends at the first or the last
// "@", and the authority at one of "/?#". A host ends at the first colon, and
// nothing but a port may follow one in brackets.
const (
	firstAt  = `(?:(?P<userinfo>[^@/?#]*)@)?`
	lastAt   = `(?:(?P<userinfo>[^/?#]*)@)?`
	hostPort = `(?:\[(?P<address>[^\]/?#]*)\]|(?P<host>(?:[^\[:/?#][^:/?#]*)?))(?::(?P<port>[0-9]*))?(?P<path>[/?#](?s:.*))?$`
)

// anyScheme stands for every other one, and for none.
const anyScheme = ""

// webSchemes are those that a client knows, for what they are.
var webSchemes = map[string]Protocol{"http": Connect, "https": TLS}

// grammar is a regular expression that takes a text apart. Its groups are named
// after what they hold, each maybe in several alternatives: scheme, userinfo,
// host or address (a host in brackets), port and path.
func grammar(pattern string) func(string) (urlParts, bool) {
	expression := regexp.MustCompile(pattern)
	return func(text string) (u urlParts, ok bool) {
		at := expression.FindStringSubmatchIndex(text)
		if at == nil {
			return u, false
		}
		for i, name := range expression.SubexpNames() {
			if at[2*i] >= 0 {
				u.set(name, text[at[2*i]:at[2*i+1]])
			}
		}
		return u, true
	}
}

func (u *urlParts) set(name, part string) {
	switch name {
	case "scheme":
		u.scheme = asciiLower(part)
	case "userinfo":
		u.userinfo, u.hasUser = part, true
		u.user, u.password, u.hasPassword = strings.Cut(part, ":")
	case "host":
		u.host = part
	case "address":
		u.host, u.bracketed = part, true
	case "port":
		u.port, u.hasPort = part, true
	case "path":
		u.path = part
	}
}

// parse takes a value apart and normalizes it; what fails is not the zero proxy.
func (r *proxyURL) parse(value, target string) (u urlParts, failed proxy) {
	u, ok := r.cut(value)
	if r.decode != nil {
		u.user, u.password = r.decode(u.user), r.decode(u.password)
	}
	if r.refuses != nil {
		if failed = r.refuses(&u, target); failed != (proxy{}) {
			return u, failed
		}
	}
	if ok && r.host != nil {
		ok = r.host(&u)
	}
	port := r.port
	if port == nil {
		port = decimalPort
	}
	if ok {
		u.port, ok = port(u.port, cmp.Or(r.ports[u.scheme], r.ports[anyScheme]))
	}
	if !ok {
		return u, r.malformed
	}
	return u, proxy{}
}

// read is the proxy for the URLs of a scheme, target.
func (r *proxyURL) read(v variable, target string) proxy {
	u, failed := r.parse(v.value, target)
	if failed != (proxy{}) {
		return failed
	}
	hop, ok := Hop{Protocol: cmp.Or(r.schemes[u.scheme], r.schemes[anyScheme])}, true
	if r.reach != nil {
		hop.Address, ok = r.reach(u.host, u.port)
	} else {
		host, _ := inBrackets(u.host)
		hop.Address = joinHostPort(host, u.port)
	}
	if !ok || hop.Protocol == "" {
		return r.broken
	}
	if r.sends != nil && r.sends(&u) {
		text := u.user + ":" + u.password
		if r.credential != nil {
			text, ok = r.credential(&u)
		}
		if hop.Auth = Sends(text); !ok {
			return r.broken
		}
	}
	return proxy{hop: hop.toward(target)}
}

// finder finds the first of the variables that can be read, or else what
// otherwise finds.
func (r *proxyURL) finder(otherwise func(Env, ...string) variable) func(Env, ...string) variable {
	return func(env Env, names ...string) variable {
		for _, name := range names {
			if _, failed := r.parse(env[name], ""); failed == (proxy{}) {
				return variable{name, env[name]}
			}
		}
		return otherwise(env, names...)
	}
}

// decimalPort is a number from 1 to 65535, without the zeros in front.
func decimalPort(written, by string) (string, bool) {
	port := cmp.Or(trimZeros(written), by)
	return port, isPort(port)
}

// portAsWritten is the port as it is written, or the default one.
func portAsWritten(written, by string) (string, bool) { return cmp.Or(written, by), true }

// What becomes of most proxies that cannot be used.
var (
	failing = proxy{failure: brokenProxy}
	dying   = proxy{fatal: brokenProxy}
	unused  = proxy{ignored: unusableProxy}
)
