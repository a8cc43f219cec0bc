package dialect

import (
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// Python's own urllib: urllib.request, in Python 2 urllib2; Ansible's
// modules and many small tools.
//
// Rules: python/cpython Lib/urllib/request.py (ProxyHandler, _parse_proxy) and
// Lib/http/client.py, read in 2.7.18, 3.11.2 and 3.13.5.
var pythonUrllib = &Client{
	Name:      "python-urllib",
	Latest:    "3.15",
	Aliases:   []string{"urllib", "urllib2", "urllib.request"},
	AlsoReads: []string{"Ansible's get_url and uri"},
	Behaviours: versions{
		{"", "", "python/cpython Lib/urllib2.py, urllib.py and httplib.py, 2.7.18", urllibRules{bytes: true, dotted: true}.read},
		{"3", "text instead of bytes: a host or path that is not ASCII fails on the way to a proxy", "python/cpython Lib/urllib/request.py, 3.6 to 3.8.1", urllibRules{dotted: true}.read},
		{"3.8.2", "entries are compared as text and no longer as a pattern (bpo-39057; also in 3.7.7)", "python/cpython Lib/urllib/request.py, 3.8.2 to 3.11.2", urllibRules{}.read},
		{"3.12", "a tunnel to a name that is not ASCII is asked for by its A-labels", "python/cpython Lib/urllib/request.py and Lib/http/client.py, 3.13.5", urllibRules{tunnelIDNA: true}.read},
	}.behaviours(),
}

// urllibRules has the differences between the versions.
type urllibRules struct {
	bytes      bool // Python 2
	dotted     bool // an entry matches below a name only if something stands before the dot
	tunnelIDNA bool
}

func (r urllibRules) read(env Env) Decider {
	vars := pythonGetproxies(env)
	u := urllib{vars, r.list(vars["no"])}
	return rules{host: r.host}.decider(map[string]proxy{
		"http":  vars.proxy(env, u.readHTTP, "http"),
		"https": vars.proxy(env, func(v variable) proxy { return urllibTunnel.read(v, "https") }, "https"),
	}, u.list)
}

const (
	unsendableHost = "this client takes no such host name"
	unknownScheme  = "the proxy URL has a scheme that this client does not know"
	needsAddOn     = "it needs an add-on for SOCKS, which is not part of this client"
)

// host is the authority of the URL with its user information: that is a part of
// the host, which this client compares, looks up and tunnels to.
func (r urllibRules) host(t Target) (host, string) {
	name := t.rawAuthority()
	if !t.User.IsZero() {
		name = t.User.Bytes() + "@" + name
	}
	name = r.unquote(name)
	if _, latin1 := latin1Bytes(name); !latin1 && !r.bytes {
		return host{}, unsendableHost // as the header Host
	}
	if !r.bytes && !isASCII(t.requestTarget()) {
		return host{}, "this client takes no such path"
	}
	odd := strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '@' }) // _validate_host
	return host{name: name, proxyOnly: odd || r.bytes && !isASCII(name), directOnly: !r.sendable(t, name)}, ""
}

// sendable reports whether a proxy can be asked for the host. A tunnel is to what
// stands before the last colon, and behind that stands a number. Everything else
// is asked for by the URL as it is written.
func (r urllibRules) sendable(t Target, host string) bool {
	switch {
	case t.Scheme == "https":
		_, _, ok := cutUrllibPort(host)
		return ok && (isASCII(host) || r.bytes || r.tunnelIDNA)
	case r.bytes:
		return isASCII(host)
	case strings.ContainsAny(host, "\r\n"): // as the header Host
		return false
	}
	return isASCII(t.User.Bytes()) && isASCII(t.URL)
}

// What a proxy variable is for http and, with any scheme, for https. A credential is
// sent if there are both a user and a password.
var (
	urllibHTTP = proxyTraits{
		ports:   webOr80,
		schemes: map[string]Protocol{"": Connect, "http": Connect, "https": TLS}, unknown: proxy{failure: unknownScheme},
		sends: withBoth,
	}
	urllibTunnel = proxyTraits{
		ports:   map[string]string{anyScheme: "443"},
		schemes: map[string]Protocol{"": Connect, anyScheme: Connect},
		sends:   withBoth,
	}
)

type urllib struct {
	vars pythonProxies
	list list
}

// readHTTP is ProxyHandler.proxy_open for http. With a proxy URL of https it
// starts over, as if the proxy itself were asked for: https_proxy, where it is
// set, tunnels to it.
func (u urllib) readHTTP(v variable) proxy {
	p, https := urllibHTTP.read(v, "http"), u.vars["https"]
	if p.hop.Protocol != TLS || https.name == "" {
		return p
	}
	url, _ := parseProxyURL(v.value)
	if _, _, listed := u.list.match(host{name: strings.TrimPrefix(url.host+":"+url.port, ":")}); listed {
		return p
	}
	through := urllibTunnel.read(https, "https")
	if through.over = https.name; through.hop.Auth.IsZero() {
		through.hop.Auth, _ = urllibTunnel.auth(url)
	}
	return through
}

func (r urllibRules) unquote(text string) string {
	if r.bytes {
		return percent.Decode(text)
	}
	return pythonUnquote(text)
}

// cutUrllibPort is HTTPConnection._get_hostport, which fails where something else
// than a number stands behind the last colon.
func cutUrllibPort(text string) (host, port string, ok bool) {
	host, ok = text, true
	if colon := strings.LastIndexByte(text, ':'); colon > strings.LastIndexByte(text, ']') {
		host, port = text[:colon], text[colon+1:]
		_, ok = pythonInt(port)
	}
	if len(host) > 1 && host[0] == '[' && host[len(host)-1] == ']' {
		host = host[1 : len(host)-1]
	}
	return host, port, ok || port == ""
}

// list is a NO_PROXY list as urllib reads it (proxy_bypass_environment). requests
// and aiohttp ask it, too.
func (r urllibRules) list(v variable) list {
	space := pythonSpace
	if r.bytes {
		space = cSpace
	}
	l := rules{cut: commas(space), covers: r.covers, entry: func(text string) (entry, bool) {
		return entry{text: r.lower(strings.TrimLeft(text, "."))}, true
	}}
	if v.value == "*" {
		l.covers = func(*entry, host) string { return everything }
	}
	read := l.readList(v)
	read.see = r.see
	return read
}

// lower is lower(); bytes have no case but in ASCII.
func (r urllibRules) lower(text string) string {
	if r.bytes {
		return asciiLower(text)
	}
	return strings.ToLower(text)
}

// see: a port belongs to the host as it is written in the URL, and entries match
// with and without it. An IPv6 address without brackets also loses its last group,
// if that has only decimal digits: it passes for a port.
func (r urllibRules) see(h host) host {
	h.withPort = r.lower(h.name)
	var cut bool
	if h.name, cut = cutPort(h.withPort); !cut {
		h.name = strings.TrimSuffix(h.name, ":")
	}
	return h
}

func (r urllibRules) covers(e *entry, h host) string {
	if reason := r.coversName(e.text, h.withPort); reason != "" || h.name == h.withPort {
		return reason
	}
	return r.coversName(e.text, h.name)
}

func (r urllibRules) coversName(entry, name string) string {
	reason := (exactly | below).covers(entry, name)
	if reason == belowName && r.dotted && len(name) == len(entry)+1 {
		return ""
	}
	return reason
}

// cutPort is splitport: digits after the last colon.
func cutPort(host string) (string, bool) {
	colon := strings.LastIndexByte(host, ':')
	if colon < 0 || !isDigits(host[colon+1:]) {
		return host, false
	}
	return host[:colon], true
}
