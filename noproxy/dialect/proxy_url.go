package dialect

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// NotJudged is the reason for the route Depends where the value of a proxy
// variable is no URL that all clients would take apart in the same way.
const NotJudged = "the value of the proxy variable is not a proxy's URL: not judged"

// proxyTraits says, as a row of a table, how a client reads a proxy's URL that is
// well-formed. The source of a row stands with the client's family. The steps follow each
// other as the fields do.
type proxyTraits struct {
	// refuses says what becomes of a proxy that is not used, before anything else is
	// looked at (nil, and the zero proxy: it is used). It may change how the URL is read.
	refuses func(u *proxyURL, target string) proxy

	// ports are the default ports by scheme; without one a proxy is noPort (zero:
	// failing).
	ports  map[string]string
	noPort proxy

	// schemes are the protocols of a proxy by its scheme, with "" for a value without
	// one. Other schemes are unknown.
	schemes map[string]Protocol
	unknown proxy

	// sends is the credential after bytes (nil: decoded) was done to user and
	// password (nil: none is sent). What cannot be sent fails.
	sends func(u proxyURL) (text string, sent bool)
	bytes func(text string) (sent string, ok bool)
}

const (
	anyScheme = "*"            // every other one that is written
	byTarget  = "as of target" // the default port of the URL that is asked for
)

var (
	// webSchemes are the schemes that a client knows, for what they are.
	webSchemes = map[string]Protocol{"http": Connect, "https": TLS}
	// bareOrWeb are the same for a client that takes a value without one for http.
	bareOrWeb = map[string]Protocol{"": Connect, "http": Connect, "https": TLS}
	// webOr80 has a port for every scheme.
	webOr80 = map[string]string{"https": "443", anyScheme: "80"}
)

// What becomes of most proxies that cannot be used.
var (
	failing  = proxy{failure: brokenProxy}
	dying    = proxy{fatal: brokenProxy}
	unused   = proxy{ignored: unusableProxy}
	unjudged = proxy{fatal: NotJudged}
)

// proxyURL is the URL in a proxy variable, as it is written. An IPv6 host is in
// brackets.
type proxyURL struct {
	scheme, userinfo, user, password, host, port string

	hasUser, hasPassword, bracketed bool
}

var proxySchemes = []string{"http", "https", "socks", "socks4", "socks4a", "socks5", "socks5h"}

const (
	hostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_"
	userCharacters = hostCharacters + ".~!$&'()*+,;=:%" // RFC 3986, 3.2.1
)

// before returns the text before the first colon of a value without a scheme: a client
// may take it for a scheme.
func (u proxyURL) before() string {
	switch {
	case u.hasPassword:
		return u.user
	case u.scheme != "" || u.hasUser || u.bracketed || u.port == "":
		return ""
	}
	return u.host
}

// parseProxyURL reads a value as every client does, or not at all. A user is not
// empty, and a slash may end it only behind a scheme.
func parseProxyURL(value string) (u proxyURL, ok bool) {
	scheme, rest, schemeOK := strings.Cut(value, "://")
	if schemeOK {
		u.scheme, rest, ok = scheme, strings.TrimSuffix(rest, "/"), slices.Contains(proxySchemes, scheme)
	} else {
		rest, ok = value, true
	}
	u.userinfo, rest, u.hasUser = cutLastAt(rest)
	u.user, u.password, u.hasPassword = strings.Cut(u.userinfo, ":")
	name, port, bracketed, whole := splitHostPort(rest)
	if u.host, u.port, u.bracketed = name, port, bracketed; bracketed {
		u.host, whole = "["+name+"]", whole && isIPv6(name)
	} else {
		whole = isProxyHost(name)
	}
	hasPort := isPort(port) && port[0] != '0' || port == "" && !strings.HasSuffix(rest, ":")
	if !ok || !whole || !hasPort || u.hasUser && !isUserinfo(u.user, u.userinfo) {
		return proxyURL{}, false
	}
	return u, true
}

// isProxyHost: what ends in a number is an IPv4 address.
func isProxyHost(name string) bool {
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		if label == "" || label != strings.Trim(label, "-") || skip(label, 0, hostCharacters) < len(label) {
			return false
		}
	}
	return !endsInNumber(name) || literal(name).Is4()
}

// isUserinfo reports whether Basic authentication can carry the user information (RFC
// 7617), in UTF-8.
func isUserinfo(user, userinfo string) bool {
	decoded := percent.Decode(userinfo)
	return user != "" && !strings.Contains(percent.Decode(user), ":") && percent.Valid(userinfo) && skip(userinfo, 0, userCharacters) == len(userinfo) &&
		!hasControl(decoded) && !strings.Contains(decoded, "\x7f") && utf8.ValidString(decoded)
}

// read is the proxy for the URLs of a scheme, target.
func (r *proxyTraits) read(v variable, target string) proxy {
	u, ok := parseProxyURL(v.value)
	if !ok {
		return unjudged
	}
	if r.refuses != nil {
		if p := r.refuses(&u, target); p != (proxy{}) {
			return p
		}
	}
	protocol, schemeOK := r.schemes[u.scheme]
	if u.scheme != "" && !schemeOK {
		protocol = r.schemes[anyScheme]
	}
	port := cmp.Or(u.port, r.ports[cmp.Or(u.scheme, "http")], r.ports[anyScheme])
	if port == byTarget {
		port = webPorts[target]
	}
	auth, sendable := r.auth(u)
	switch {
	case u.scheme == "" && !schemeOK:
		return r.unknown
	case port == "":
		return cmp.Or(r.noPort, failing)
	case protocol == "":
		return r.unknown
	case !sendable:
		return failing
	}
	return proxy{hop: Hop{Address: u.host + ":" + port, Protocol: protocol, Auth: auth}.toward(target)}
}

func (r *proxyTraits) auth(u proxyURL) (auth Auth, ok bool) {
	if r.sends == nil {
		return auth, true
	}
	bytes := r.bytes
	if bytes == nil {
		bytes = decoded
	}
	user, ok := bytes(u.user)
	password, okToo := bytes(u.password)
	u.user, u.password = user, password
	text, sent := r.sends(u)
	if !sent {
		return auth, true
	}
	return Sends(text), ok && okToo
}

// The ways to send a credential.

// withUser adds a colon to a user without a password.
func withUser(u proxyURL) (string, bool) { return u.user + ":" + u.password, u.hasUser }

// withPassword leaves out a user without a password, even an empty one.
func withPassword(u proxyURL) (string, bool) { return u.user + ":" + u.password, u.hasPassword }

// withBoth leaves out a user without a password that is not empty.
func withBoth(u proxyURL) (string, bool) { return u.user + ":" + u.password, u.password != "" }

// asItStands adds no colon.
func asItStands(u proxyURL) (string, bool) {
	if u.hasPassword {
		return withUser(u)
	}
	return u.user, u.hasUser
}

// The bytes that are sent of a user or a password.

func decoded(text string) (string, bool) { return percent.Decode(text), true }

func asWritten(text string) (string, bool) { return text, true }

// finder finds the first of the variables whose proxy is not ignored, or else what
// otherwise finds.
func finder(read func(v variable, target string) proxy, otherwise func(Env, ...string) variable) func(Env, ...string) variable {
	return func(env Env, names ...string) variable {
		for _, name := range names {
			if v := (variable{name, env[name]}); v.value != "" && read(v, "").ignored == "" {
				return v
			}
		}
		return otherwise(env, names...)
	}
}

// urlParts is a URL as a grammar takes it apart.
type urlParts struct {
	scheme           string // ASCII letters in lower case
	host, port, path string // an IPv6 address has no brackets; the path is all that follows
	bracketed        bool   // the host stood in brackets
}

// grammar is a regular expression that takes a text apart. Its groups are named
// after what they hold, each maybe in several alternatives: scheme, host or address
// (a host in brackets), port and path.
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
	case "host":
		u.host = part
	case "address":
		u.host, u.bracketed = part, true
	case "port":
		u.port = part
	case "path":
		u.path = part
	}
}
