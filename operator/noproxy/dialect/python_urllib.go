package dialect

import (
	"strconv"
	"strings"
)

// Python's own urllib: urllib.request, in Python 2 urllib2; Ansible's
// modules and many small tools.
//
// Rules: python/cpython Lib/urllib/request.py (ProxyHandler, _parse_proxy) and
// Lib/http/client.py, read in 2.7.18, 3.11.2 and 3.13.5.
var pythonUrllib = &Client{
	Name:      "python-urllib",
	Aliases:   []string{"urllib", "urllib2", "urllib.request"},
	AlsoReads: []string{"Ansible's get_url and uri"},
	Behaviours: []Behaviour{{
		Source: "python/cpython Lib/urllib2.py, urllib.py and httplib.py, 2.7.18",
		Read:   func(env Env) Decider { return readPythonUrllib(env, urllibRules{bytes: true, dotted: true}) },
	}, {
		Since:  "3",
		Change: "text instead of bytes: a host or path that is not ASCII fails on the way to a proxy",
		Source: "python/cpython Lib/urllib/request.py, 3.6 to 3.8.1",
		Read:   func(env Env) Decider { return readPythonUrllib(env, urllibRules{dotted: true}) },
	}, {
		Since:  "3.8.2",
		Change: "entries are compared as text and no longer as a pattern (bpo-39057; also in 3.7.7)",
		Source: "python/cpython Lib/urllib/request.py, 3.8.2",
		Read:   func(env Env) Decider { return readPythonUrllib(env, urllibRules{}) },
	}, {
		Since:  "3.9",
		Change: "a slash may stand in the credentials of a proxy URL (bpo-23328; read in 3.9.2)",
		Source: "python/cpython Lib/urllib/request.py, 3.11.2",
		Read:   func(env Env) Decider { return readPythonUrllib(env, urllibRules{slash: true}) },
	}, {
		Since:  "3.12",
		Change: "a tunnel to a name that is not ASCII is asked for by its A-labels",
		Source: "python/cpython Lib/urllib/request.py and Lib/http/client.py, 3.13.5",
		Read:   func(env Env) Decider { return readPythonUrllib(env, urllibRules{slash: true, tunnelIDNA: true}) },
	}},
}

// urllibRules are what differs between the versions.
type urllibRules struct {
	bytes      bool // Python 2
	dotted     bool // an entry matches below a name only if something stands before the dot
	slash      bool // "/" may stand before "@" in a proxy URL
	tunnelIDNA bool
}

func readPythonUrllib(env Env, rules urllibRules) Decider {
	proxies := pythonGetproxies(env)
	u := &urllib{rules: rules, list: compileUrllib(proxies["no"].value, rules), noProxy: proxies["no"].name, proxies: map[string]urllibProxy{}}
	for _, scheme := range []string{"http", "https"} {
		if v := proxies[scheme]; v.name != "" {
			u.proxies[scheme] = parseUrllibProxy(v, rules)
		}
	}
	missing := map[string]Decision{"http": proxies.missing(env, "http"), "https": proxies.missing(env, "https")}
	return func(t Target) Decision {
		authority := rules.unquote(t.withUser(t.rawAuthority()))
		if _, latin1 := latin1Bytes(authority); !latin1 && !rules.bytes {
			return fails("", unsendableHost) // as the header Host
		}
		if !rules.bytes && !isASCII(t.requestTarget()) {
			return fails("", "this client takes no such path")
		}
		if _, found := u.proxies[t.Scheme]; !found {
			return rules.straight(authority, missing[t.Scheme])
		}
		return u.open(t, authority)
	}
}

const (
	unsendableHost = "this client takes no such host name"
	unknownScheme  = "the proxy URL has a scheme that this client does not know"
	needsAddOn     = "it needs an add-on for SOCKS, which is not part of this client"
)

// withUser puts user information back before the authority: to this client it is
// a part of the host, which it compares, looks up and tunnels to.
func (t Target) withUser(authority string) string {
	if t.User.IsZero() {
		return authority
	}
	return t.User.Bytes() + "@" + authority
}

// straight lets a request go direct if the host can be sent (_validate_host) and
// looked up.
func (r urllibRules) straight(host string, decision Decision) Decision {
	if strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r == 0x7f }) || r.bytes && !isASCII(host) || strings.Contains(host, "@") {
		return fails("", unsendableHost)
	}
	return decision
}

type urllib struct {
	rules   urllibRules
	list    *UrllibList
	noProxy string
	proxies map[string]urllibProxy
}

// open is ProxyHandler.proxy_open.
func (u *urllib) open(t Target, host string) Decision {
	proxy := u.proxies[t.Scheme]
	if proxy.broken {
		return fails(proxy.variable, brokenProxy)
	}
	if entry, reason, found := u.list.Match(host); found {
		return u.rules.straight(host, direct(u.noProxy, entry, reason))
	}
	if !u.sendable(t, host) {
		return fails(proxy.variable, unsendableHost)
	}
	switch {
	case t.Scheme == "https":
		return proxy.decide(Connect, "443")
	case proxy.scheme == "" || proxy.scheme == "http":
		return proxy.decide(Absolute, "80")
	case proxy.scheme == "https":
		return u.startOver(proxy)
	}
	return fails(proxy.variable, unknownScheme)
}

// sendable reports whether a proxy can be asked for the host. A tunnel is to what
// stands before the last colon, and behind that stands a number. Everything else
// is asked for by the URL as it is written.
func (u *urllib) sendable(t Target, host string) bool {
	switch {
	case t.Scheme == "https":
		_, _, ok := cutUrllibPort(host)
		return ok && (isASCII(host) || u.rules.bytes || u.rules.tunnelIDNA)
	case u.rules.bytes:
		return isASCII(host)
	case strings.ContainsAny(host, "\r\n"): // as the header Host
		return false
	}
	return isASCII(t.User.Bytes()) && isASCII(t.URL)
}

// startOver is what proxy_open does with a proxy URL of another scheme: as if
// the proxy itself were asked for with that scheme. So https_proxy, where it is
// set, tunnels to an https:// proxy of http_proxy.
func (u *urllib) startOver(proxy urllibProxy) Decision {
	over, found := u.proxies["https"]
	if found && over.broken {
		return fails(over.variable, brokenProxy)
	}
	if found {
		_, _, found = u.list.Match(proxy.hostPort)
		found = !found
	}
	if !found {
		proxy.auth = Auth{} // inside the handshake
		return proxy.decide(TLS, "443")
	}
	if over.auth.IsZero() {
		over.auth = proxy.auth
	}
	return over.decide(Connect, "443")
}

func (p urllibProxy) decide(protocol Protocol, defaultPort string) Decision {
	address, ok := urllibHostPort(p.hostPort, defaultPort)
	if !ok || p.unsendable {
		return fails(p.variable, brokenProxy)
	}
	return proxied(p.variable, Hop{Address: address, Protocol: protocol, Auth: p.auth})
}

// urllibProxy is the value of a proxy variable as _parse_proxy takes it apart.
type urllibProxy struct {
	variable   string
	broken     bool
	unsendable bool   // no connection can be made to it
	scheme     string // empty: that of the URL that is asked for
	auth       Auth
	hostPort   string
}

func parseUrllibProxy(v variable, rules urllibRules) urllibProxy {
	proxy := urllibProxy{variable: v.name}
	authority := v.value
	scheme, rest, found := splitURLType(v.value)
	if !found {
		rest = v.value
	}
	if strings.HasPrefix(rest, "/") {
		if !strings.HasPrefix(rest, "//") {
			proxy.broken = true
			return proxy
		}
		proxy.scheme = scheme
		authority = urllibAuthority(rest, rules)
	}
	proxy.hostPort = authority
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		user, password, _ := strings.Cut(authority[:at], ":")
		proxy.hostPort = authority[at+1:]
		if user != "" && password != "" {
			proxy.auth = Sends(rules.unquote(user) + ":" + rules.unquote(password))
		}
	}
	proxy.hostPort = rules.unquote(proxy.hostPort)
	proxy.unsendable = rules.bytes && !isASCII(proxy.hostPort)
	return proxy
}

func urllibAuthority(rest string, rules urllibRules) string {
	from := 2
	if at := strings.IndexByte(rest, '@'); at >= 0 && rules.slash {
		from = at
	}
	if slash := strings.IndexByte(rest[from:], '/'); slash >= 0 {
		return rest[2 : from+slash]
	}
	return rest[2:]
}

func (r urllibRules) unquote(text string) string {
	if r.bytes {
		return percentDecode(text)
	}
	return pythonUnquote(text)
}

// splitURLType is splittype: the scheme is whatever stands before the first
// colon, if no slash comes before.
func splitURLType(url string) (scheme, rest string, found bool) {
	colon := strings.IndexAny(url, "/:")
	if colon < 1 || url[colon] == '/' {
		return "", "", false
	}
	return strings.ToLower(url[:colon]), url[colon+1:], true
}

// urllibHostPort is where a connection to the host is made.
func urllibHostPort(text, defaultPort string) (address string, ok bool) {
	host, digits, ok := cutUrllibPort(text)
	port := defaultPort
	if number, _ := pythonInt(digits); digits != "" {
		ok = ok && number > 0 && number <= 65535
		port = strconv.Itoa(number)
	}
	return joinHostPort(host, port), ok && resolvable(host)
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
