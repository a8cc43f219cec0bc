package dialect

import (
	"net/netip"
	"strings"
)

// Node.js itself, which reads the proxy variables if NODE_USE_ENV_PROXY is 1.
// There are two readers: fetch is the undici that is built in, http.get and
// https.get are agents with a reader of their own (lib/internal/http.js,
// ProxyConfig). Which undici a release has: doc/changelogs of nodejs/node.
const (
	nodeSource      = "nodejs/node lib/internal/http.js, "
	nodeFetchSource = "nodejs/node deps/undici, "
	nodeWithout     = "this branch has no support for the proxy variables"
)

var nodeFamily = []*Client{{
	Name: "node-fetch",
	Behaviours: []Behaviour{
		{Source: nodeFetchSource + "22.20", Read: readNothing},
		{Since: "22.21.0", Change: "NODE_USE_ENV_PROXY", Source: nodeFetchSource + "22.23.3 with undici 6.28.1", Read: readNodeFetch(undici6141)},
		{Since: "23.0.0", Change: nodeWithout, Source: nodeFetchSource + "23.11", Read: readNothing},
		{Since: "24.0.0", Change: "NODE_USE_ENV_PROXY", Source: nodeFetchSource + "24.0.0 with undici 7.8.0", Read: readNodeFetch(undici6141)},
		{
			Since: "24.14.1", Change: "d, .d and *.d all cover d and what is below it; SOCKS proxies",
			Source: nodeFetchSource + "24.21.0 with undici 7.29.1", Read: readNodeFetch(undici723),
		},
		{Since: "25.0.0", Change: "the older undici that 24.14.0 has", Source: nodeFetchSource + "25.0.0 with undici 7.16.0", Read: readNodeFetch(undici6141)},
		{
			Since: "25.8.0", Change: "d, .d and *.d all cover d and what is below it",
			Source: nodeFetchSource + "25.8.0 with undici 7.22.0", Read: readNodeFetch(undici722),
		},
		{Since: "25.8.2", Change: "SOCKS proxies", Source: nodeFetchSource + "25.8.2 with undici 7.24.4", Read: readNodeFetch(undici723)},
		{Since: "26.1.0", Change: "a user without a password is sent", Source: nodeFetchSource + "26.1.0 with undici 8.2.0", Read: readNodeFetch(undici82)},
		{Since: "26.5.0", Change: "http URLs are no longer tunnelled", Source: nodeFetchSource + "26.5.0 with undici 8.7.0", Read: readNodeFetch(undici87)},
		{Since: "26.8.0", Change: "IPv6 entries match", Source: nodeFetchSource + "26.8.0 with undici 8.10.0", Read: readNodeFetch(undici810)},
		{
			Since: "26.8.2", Change: "a dot at the end of entry or host does not matter",
			Source: nodeFetchSource + "26.10.0 with undici 8.10.2", Read: readNodeFetch(undici8101),
		},
	},
}, {
	Name:    "node-http",
	Aliases: []string{"node-http.get", "node-https.get"},
	Behaviours: []Behaviour{
		{Source: nodeSource + "22.20", Read: readNothing},
		{Since: "22.21.0", Change: "NODE_USE_ENV_PROXY", Source: nodeSource + "22.23.3", Read: readNodeHTTP(undici6141, false)},
		{Since: "23.0.0", Change: nodeWithout, Source: nodeSource + "24.4", Read: readNothing},
		{Since: "24.5.0", Change: "NODE_USE_ENV_PROXY", Source: nodeSource + "24.5.0", Read: readNodeHTTP(undici6141, false)},
		{Since: "24.14.1", Change: "a SOCKS proxy is ignored, and no longer an error", Source: nodeSource + "24.14.1", Read: readNodeHTTP(undici723, false)},
		{
			Since: "24.16.0", Change: ".d no longer covers what only ends with d",
			Source: nodeSource + "24.21.0 (pull request 62333)", Read: readNodeHTTP(undici723, true),
		},
		{Since: "25.0.0", Change: "as in 24.14.0", Source: nodeSource + "25.0.0", Read: readNodeHTTP(undici6141, false)},
		{Since: "25.8.2", Change: "a SOCKS proxy is ignored, and no longer an error", Source: nodeSource + "25.9.0", Read: readNodeHTTP(undici723, false)},
		{
			Since: "26.1.0", Change: ".d no longer covers what only ends with d",
			Source: nodeSource + "26.10.0 (pull request 62333)", Read: readNodeHTTP(undici82, true),
		},
	},
}}

// readNothing is a Node.js that does not look at the variables.
func readNothing(Env) Decider {
	return func(Target) Decision { return direct("", Span{}, noVariable) }
}

// readNodeFetch is undici, which loads http and with it the agent for http
// URLs: that refuses a line break, which undici by itself takes out.
func readNodeFetch(rules undiciRules) func(Env) Decider {
	return func(env Env) Decider {
		undici := newUndiciAgent(rules, env)
		if v := env.nonEmpty("http_proxy", "HTTP_PROXY"); strings.ContainsAny(v.value, "\r\n") {
			undici.broken = v.name
		}
		return func(t Target) Decision {
			if strings.Trim(t.User.Bytes(), ":") != "" && undici.broken == "" {
				return fails("", "fetch accepts no URL with user information")
			}
			return undici.decide(t)
		}
	}
}

// readNodeHTTP is an agent of http or https. Node.js does not even start if
// undici, which is made for fetch at the start, cannot use a proxy variable.
func readNodeHTTP(rules undiciRules, boundary bool) func(Env) Decider {
	return func(env Env) Decider {
		undici := newUndiciAgent(rules, env)
		list := readNodeList(env.nonEmpty("no_proxy", "NO_PROXY"), boundary)
		httpProxy := readNodeProxy(env.nonEmpty("http_proxy", "HTTP_PROXY"))
		httpsProxy := readNodeProxy(env.nonEmpty("https_proxy", "HTTPS_PROXY"))
		return func(t Target) Decision {
			u, ok := parseWHATWG(t.URL)
			switch {
			case undici.broken != "":
				return fails(undici.broken, brokenProxy)
			case httpProxy.broken: // https loads http, and with it this agent
				return fails(httpProxy.name, brokenProxy)
			case !ok:
				return fails("", invalidURL)
			case u.scheme == "https":
				return httpsProxy.decide(u, list)
			}
			return httpProxy.decide(u, list)
		}
	}
}

// nodeProxy is the proxy of one agent.
type nodeProxy struct {
	variable
	broken  bool // the agent throws when it is made
	ignored bool // has another scheme than http or https in lower case
	hop     Hop
}

func readNodeProxy(v variable) nodeProxy {
	proxy := nodeProxy{variable: v}
	if strings.ContainsAny(v.value, "\r\n") {
		proxy.broken = true
		return proxy
	}
	if !strings.HasPrefix(v.value, "http://") && !strings.HasPrefix(v.value, "https://") {
		proxy.ignored = true
		return proxy
	}
	u, ok := parseWHATWG(v.value)
	auth, decoded := u.decodedAuth()
	if u.username == "" && u.password == "" {
		auth = Auth{}
	}
	proxy.broken = !ok || !decoded
	proxy.hop = u.hop(auth)
	return proxy
}

func (p nodeProxy) decide(u whatwgURL, list nodeList) Decision {
	switch {
	case p.name == "":
		return direct("", Span{}, noVariable)
	case p.broken:
		return fails(p.name, brokenProxy)
	case p.ignored:
		return direct(p.name, Span{}, unusableProxy)
	}
	host, _ := inBrackets(u.host)
	if entry, reason, found := list.match(host, u.portOr(whatwgPorts[u.scheme])); found {
		return direct(list.variable.name, entry, reason)
	}
	hop := p.hop
	if u.scheme == "http" && hop.Protocol == Connect {
		hop.Protocol = Absolute
	}
	return proxied(p.name, hop)
}

// nodeList is the bypass list of ProxyConfig.
type nodeList struct {
	variable variable
	boundary bool // .d is only for d and what is below it
	entries  []nodeEntry
}

type nodeEntry struct {
	span        Span
	text        string // lower-case
	first, last uint32 // a range of IPv4 addresses
}

func readNodeList(v variable, boundary bool) nodeList {
	l := nodeList{variable: v, boundary: boundary}
	if v.name == "" {
		return l
	}
	for _, span := range elements(v.value) {
		span = span.trimJS(v.value)
		entry := nodeEntry{span: span, text: strings.ToLower(span.Of(v.value)), first: 1}
		if parts := strings.Split(entry.text, "-"); len(parts) > 1 {
			first, firstOK := nodeIPv4(strings.TrimFunc(parts[0], isJSSpace))
			last, lastOK := nodeIPv4(strings.TrimFunc(parts[1], isJSSpace))
			if firstOK && lastOK {
				entry.first, entry.last = first, last
			}
		}
		l.entries = append(l.entries, entry)
	}
	return l
}

func nodeIPv4(text string) (uint32, bool) {
	addr := literal(text)
	if !addr.Is4() {
		return 0, false
	}
	return ipv4Int(addr), true
}

func ipv4Int(addr netip.Addr) uint32 {
	b := addr.As4()
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}

func (l nodeList) match(host, port string) (Span, string, bool) {
	ip, isIP := nodeIPv4(host)
	for i := range l.entries {
		entry := &l.entries[i]
		reason := entry.match(host, port, l.boundary)
		if reason == "" && isIP && entry.first <= ip && ip <= entry.last {
			reason = "an address in this range"
		}
		if reason != "" {
			return entry.span, reason, true
		}
	}
	return Span{}, "", false
}

// match compares the host, which has no brackets, so that "fd00::1:8080" is
// port 8080 of fd00::1.
func (e *nodeEntry) match(host, port string, boundary bool) string {
	suffix, dotted := strings.CutPrefix(e.text, ".")
	switch {
	case e.text == "*":
		return everything
	case e.text == host:
		return theName
	case len(e.text) == len(host)+1+len(port) && strings.HasPrefix(e.text, host) && e.text[len(host)] == ':' && strings.HasSuffix(e.text, port):
		return samePort
	case dotted && host == suffix:
		return theName
	case dotted && strings.HasSuffix(host, e.text):
		return belowName
	case dotted && !boundary && strings.HasSuffix(host, suffix):
		return endsWith
	case strings.HasPrefix(e.text, "*.") && strings.HasSuffix(host, e.text[1:]):
		return belowName
	}
	return ""
}
