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
	Name:   "node-fetch",
	Latest: "26",
	Behaviours: versions{
		{"", "", nodeFetchSource + "22.20", readNothing},
		{"22.21.0", "NODE_USE_ENV_PROXY", nodeFetchSource + "22.23.3 with undici 6.28.1", readNodeFetch(undici6141)},
		{"23.0.0", nodeWithout, nodeFetchSource + "23.11", readNothing},
		{"24.0.0", "NODE_USE_ENV_PROXY", nodeFetchSource + "24.0.0 with undici 7.8.0", readNodeFetch(undici6141)},
		{"24.14.1", "d, .d and *.d all cover d and what is below it; SOCKS proxies", nodeFetchSource + "24.21.0 with undici 7.29.1", readNodeFetch(undici723)},
		{"25.0.0", "the older undici that 24.14.0 has", nodeFetchSource + "25.0.0 with undici 7.16.0", readNodeFetch(undici6141)},
		{"25.8.0", "d, .d and *.d all cover d and what is below it", nodeFetchSource + "25.8.0 with undici 7.22.0", readNodeFetch(undici722)},
		{"25.8.2", "SOCKS proxies", nodeFetchSource + "25.8.2 with undici 7.24.4", readNodeFetch(undici723)},
		{"26.1.0", "a user without a password is sent", nodeFetchSource + "26.1.0 with undici 8.2.0", readNodeFetch(undici82)},
		{"26.5.0", "http URLs are no longer tunnelled", nodeFetchSource + "26.5.0 with undici 8.7.0", readNodeFetch(undici87)},
		{"26.8.0", "IPv6 entries match", nodeFetchSource + "26.8.0 with undici 8.10.0", readNodeFetch(undici810)},
		{"26.8.2", "a dot at the end of entry or host does not matter", nodeFetchSource + "26.10.0 with undici 8.10.2", readNodeFetch(undici8101)},
	}.behaviours(),
}, {
	Name:    "node-http",
	Latest:  "26",
	Aliases: []string{"node-http.get", "node-https.get"},
	Behaviours: versions{
		{"", "", nodeSource + "22.20", readNothing},
		{"22.21.0", "NODE_USE_ENV_PROXY", nodeSource + "22.23.3", readNodeHTTP(undici6141, false)},
		{"23.0.0", nodeWithout, nodeSource + "24.4", readNothing},
		{"24.5.0", "NODE_USE_ENV_PROXY", nodeSource + "24.5.0", readNodeHTTP(undici6141, false)},
		{"24.14.1", "a SOCKS proxy is ignored, and no longer an error", nodeSource + "24.14.1", readNodeHTTP(undici723, false)},
		{"24.16.0", ".d no longer covers what only ends with d", nodeSource + "24.21.0 (pull request 62333)", readNodeHTTP(undici723, true)},
		{"25.0.0", "as in 24.14.0", nodeSource + "25.0.0", readNodeHTTP(undici6141, false)},
		{"25.8.2", "a SOCKS proxy is ignored, and no longer an error", nodeSource + "25.9.0", readNodeHTTP(undici723, false)},
		{"26.1.0", ".d no longer covers what only ends with d", nodeSource + "26.10.0 (pull request 62333)", readNodeHTTP(undici82, true)},
	}.behaviours(),
}}

// readNothing is a Node.js that does not look at the variables.
func readNothing(Env) Decider {
	return always(direct("", Span{}, noneRead))
}

// readNodeFetch is undici.
func readNodeFetch(rules undiciRules) func(Env) Decider {
	return func(env Env) Decider {
		agent := newUndiciAgent(rules, env)
		return func(t Target) Decision {
			if strings.Trim(t.User.Bytes(), ":") != "" && !agent.broken {
				return fails("", "fetch accepts no URL with user information")
			}
			return agent.decide(t)
		}
	}
}

// readNodeHTTP is an agent of http or https. Node.js does not even start if
// undici, which is made for fetch at the start, cannot use a proxy variable.
func readNodeHTTP(undici undiciRules, boundary bool) func(Env) Decider {
	r := rules{
		find: Env.nonEmpty, http: "http_proxy HTTP_PROXY", https: "https_proxy HTTPS_PROXY", no: "no_proxy NO_PROXY", readProxy: nodeURL.read,
		host: func(t Target) (host, string) {
			h, failure := whatwgTarget(t)
			h.name, _ = inBrackets(h.name)
			h.addr, h.withPort = literal(h.name), h.name+":"+h.port
			return h, failure
		},
		cut: cutNode, entry: nodeEntry,
		covers: func(e *entry, h host) string { return nodeCovers(e, h, boundary) },
	}
	return func(env Env) Decider {
		agent, decide := newUndiciAgent(undici, env), r.read(env)
		if agent.broken {
			return agent.decide
		}
		return decide
	}
}

// nodeURL ignores a proxy whose scheme is neither http nor https.
var nodeURL = proxyTraits{ports: webOr80, schemes: webSchemes, unknown: unused, sends: withUser}

// cutNode cuts at commas, trims, and keeps empty elements.
func cutNode(list string) []Span {
	spans := elementsOf(list)
	for i := range spans {
		spans[i] = spans[i].trimFunc(list, isJSSpace)
	}
	return spans
}

// nodeCovers is the bypass list of ProxyConfig. The host has no brackets, so that
// "fd00::1:8080" is port 8080 of fd00::1. With a boundary .d is only for d and
// what is below it.
func nodeCovers(e *entry, h host, boundary bool) string {
	text := e.text
	suffix, dot := strings.CutPrefix(text, ".")
	below, wildcard := strings.CutPrefix(text, "*")
	switch {
	case text == "*":
		return everything
	case text == h.name:
		return theName
	case text == h.withPort:
		return samePort
	case dot && h.name == suffix:
		return theName
	case dot && strings.HasSuffix(h.name, text):
		return belowName
	case dot && !boundary && strings.HasSuffix(h.name, suffix):
		return endsWith
	case wildcard && dotted.covers(below, h.name) != "":
		return belowName
	case e.address && inNodeRange(text, h.addr):
		return "an address in this range"
	}
	return ""
}

// nodeEntry marks a range of IPv4 addresses, such as "10.0.0.1-10.0.0.9".
func nodeEntry(text string) (entry, bool) {
	text = strings.ToLower(text)
	first, last := nodeRange(text)
	return entry{text: text, address: first.Is4() && last.Is4()}, true
}

// nodeRange ignores what follows another hyphen.
func nodeRange(text string) (first, last netip.Addr) {
	from, to, _ := strings.Cut(text, "-")
	to, _, _ = strings.Cut(to, "-")
	return literal(strings.TrimFunc(from, isJSSpace)), literal(strings.TrimFunc(to, isJSSpace))
}

func inNodeRange(text string, addr netip.Addr) bool {
	first, last := nodeRange(text)
	return addr.Is4() && !addr.Less(first) && !last.Less(addr)
}
