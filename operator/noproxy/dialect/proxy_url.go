package dialect

import (
	"cmp"
	"regexp"
	"strings"
)

// proxyURL is how a client reads the URL in a proxy variable, as a row. What it
// does is in the sources that stand with the client's family. The steps follow
// each other as the fields do; one that is nil is left out.
//
// Some readers are no rows: the URL Standard (whatwg.go), net/url of Go, and
// those that walk through the text in a way that no grammar describes (apt, rust).
type proxyURL struct {
	prepare func(text string) string // what is done to the text first
	grammar *regexp.Regexp           // how it is taken apart: see cut
	decode  func(string) string      // what is done to user and password

	// refuses says why a proxy is not used, before anything else is looked at.
	refuses func(u *urlParts, target string) (failure string)

	// host checks and normalizes the host, and port the port as it is written,
	// where by is the default one (nil: decimalPort). Where one of them or the
	// grammar fails, the proxy is malformed.
	host      func(u *urlParts) bool
	port      func(written, by string) (port string, ok bool)
	malformed proxy

	// What a proxy is by its scheme, and its default port. Without a scheme it is
	// one of http.
	schemes map[string]Protocol
	ports   map[string]string

	// sends tells whether a credential is sent, and credential what (nil: user,
	// colon and password); it may be one that cannot be sent.
	sends      func(u *urlParts) bool
	credential func(u *urlParts) (text string, ok bool)

	// reach is where a connection goes. It fails where nothing can be reached.
	reach func(host, port string) (address string, ok bool)
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

// anyScheme stands for every other one.
const anyScheme = ""

// webSchemes are those that a client knows, for what they are.
var webSchemes = map[string]Protocol{"http": Connect, "https": TLS}

// spokenPlain are clients that know https, but speak http to every proxy.
var spokenPlain = map[string]Protocol{"http": Connect, "https": Connect, "ftp": Connect}

// cut takes a text apart by a grammar, whose groups are named after what they
// hold: scheme, userinfo, host or address (a host in brackets), port and path.
func cut(grammar *regexp.Regexp, text string) (u urlParts, ok bool) {
	at := grammar.FindStringSubmatchIndex(text)
	if at == nil {
		return u, false
	}
	for i, name := range grammar.SubexpNames() {
		if name == "" || at[2*i] < 0 {
			continue
		}
		switch part := text[at[2*i]:at[2*i+1]]; name {
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
	return u, true
}

// parse takes a value apart and normalizes it.
func (r *proxyURL) parse(value, target string) (u urlParts, failed proxy) {
	if r.prepare != nil {
		value = r.prepare(value)
	}
	u, ok := cut(r.grammar, value)
	u.scheme = cmp.Or(u.scheme, "http")
	if r.decode != nil {
		u.user, u.password = r.decode(u.user), r.decode(u.password)
	}
	if r.refuses != nil {
		if failure := r.refuses(&u, target); failure != "" {
			return u, proxy{failure: failure}
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
		u.port, ok = port(u.port, r.ports[u.scheme])
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
	protocol := cmp.Or(r.schemes[u.scheme], r.schemes[anyScheme])
	hop := Hop{Protocol: protocol}
	var reached bool
	hop.Address, reached = r.reach(u.host, u.port)
	if protocol == "" || !reached {
		return proxy{failure: brokenProxy}
	}
	if r.sends(&u) {
		text, ok := u.user+":"+u.password, true
		if r.credential != nil {
			text, ok = r.credential(&u)
		}
		if hop.Auth = Sends(text); !ok {
			return proxy{failure: brokenProxy}
		}
	}
	return proxy{hop: hop.toward(target)}
}

// decimalPort is a number from 1 to 65535, without the zeros in front.
func decimalPort(written, by string) (string, bool) {
	port := cmp.Or(trimZeros(written), by)
	return port, isPort(port)
}
