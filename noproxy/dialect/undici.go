package dialect

import "strings"

// undiciRules are the versions of undici that changed what its
// EnvHttpProxyAgent does. Each keeps the changes before it, but for undici800.
type undiciRules int

const (
	undici614  undiciRules = iota // upper-case variables first
	undici6141                    // lower-case ones first
	undici722                     // an entry covers the name and what is below it
	undici723                     // SOCKS proxies
	undici800                     // a scheme is added to the proxy; taken back in 8.0.2
	undici802
	undici82   // a user without a password is sent
	undici87   // http URLs are sent to the proxy as they are, not through a tunnel
	undici810  // bare IPv6 entries
	undici8101 // dots at the end mean nothing
	undici811  // "*" anywhere in the list; "*.d" is not d itself
)

const undiciSource = "nodejs/undici lib/dispatcher/env-http-proxy-agent.js and proxy-agent.js, "

var undiciFamily = []*Client{{
	Name:    "undici",
	Latest:  "8",
	Aliases: []string{"undici-EnvHttpProxyAgent", "EnvHttpProxyAgent"},
	Behaviours: versions{
		{"", "", undiciSource + "6.14.0", undici614.read},
		{"6.14.1", "lower-case variables win", undiciSource + "6.28.1", undici6141.read},
		{"7.22.0", "d, .d and *.d all cover d and what is below it; other wildcards are gone", undiciSource + "7.22.0 (pull request 4676)", undici722.read},
		{"7.23.0", "proxies of socks:// and socks5:// are used", undiciSource + "7.30.2", undici723.read},
		{"8.0.0", "a proxy without a scheme has that of its variable", undiciSource + "8.0.0 (pull request 4914)", undici800.read},
		{"8.0.2", "a proxy without a scheme is an error again", undiciSource + "8.0.2", undici802.read},
		{"8.2.0", "a user without a password is sent", undiciSource + "8.2.0", undici82.read},
		{"8.7.0", "http URLs are no longer tunnelled", undiciSource + "8.7.0", undici87.read},
		{"8.10.0", "IPv6 entries match, with brackets and without", undiciSource + "8.10.0 (pull request 5623)", undici810.read},
		{"8.10.1", "a dot at the end of entry or host does not matter", undiciSource + "8.10.1 (pull request 5637)", undici8101.read},
		{"8.11.0", "* works anywhere in the list; *.d no longer covers d itself", undiciSource + "8.12.4", undici811.read},
	}.behaviours(),
}}

// undiciAgent is an EnvHttpProxyAgent. Its constructor throws for an unusable
// proxy, whichever URL is asked for later, and even if NO_PROXY covers that.
type undiciAgent struct {
	broken bool // the constructor throws
	decide Decider
}

func (r undiciRules) read(env Env) Decider { return newUndiciAgent(r, env).decide }

func newUndiciAgent(r undiciRules, env Env) undiciAgent {
	named := func(lower string) variable {
		if r == undici614 {
			return env.set(strings.ToUpper(lower), lower)
		}
		return env.set(lower, strings.ToUpper(lower))
	}
	http, https, noProxy := named("http_proxy"), named("https_proxy"), named("no_proxy")
	proxies := map[string]proxy{"http": r.readProxy(http, "http", "http"), "https": r.readProxy(https, "https", "https")}
	for _, scheme := range []string{"https", "http"} {
		if p := proxies[scheme]; p.fatal != "" {
			return undiciAgent{broken: true, decide: always(p.decide())}
		}
	}
	if https.value == "" { // unset or empty
		proxies["https"] = r.readProxy(http, "http", "https")
	}
	list := rules{cut: cutJS, entry: r.entry, covers: r.covers}
	if noProxy.value == "*" {
		list.covers = func(*entry, host) string { return everything }
	}
	return undiciAgent{decide: rules{host: r.host, listFirst: true}.decider(proxies, list.readList(noProxy))}
}

func (r undiciRules) host(t Target) (host, string) {
	h, failure := whatwgTarget(t)
	if r >= undici810 {
		h.name, _ = inBrackets(h.name)
	}
	if r >= undici8101 {
		h.name = trimFinalDot(h.name)
	}
	return h, failure
}

// readProxy is the constructor of ProxyAgent, and the Pool that it makes.
func (r undiciRules) readProxy(v variable, own, scheme string) proxy {
	if v.value == "" {
		return proxy{variable: v, ignored: proxyOff}
	}
	if r < undici87 {
		scheme = "https" // everything is tunnelled
	}
	p := r.url(own).read(v, scheme)
	p.variable = v
	return p
}

// url: own is the scheme of the variable. The credential for SOCKS is as it stands in
// the URL after parsing, and none unless both parts are there. Brackets are looked up
// with a SOCKS host, too.
func (r undiciRules) url(own string) *proxyTraits {
	row := proxyTraits{ports: webOr80, schemes: webSchemes, unknown: dying, sends: withBoth}
	if r >= undici723 {
		row.schemes = map[string]Protocol{"http": Connect, "https": TLS, "socks": Socks5Name, "socks5": Socks5Name}
		row.ports = map[string]string{"http": "80", "https": "443", anyScheme: "1080"}
	}
	if r >= undici82 {
		row.sends = withUser
	}
	row.refuses = func(u *proxyURL, _ string) (p proxy) {
		if u.scheme == "" && r == undici800 {
			u.scheme = own
		}
		if row.schemes[u.scheme] == Socks5Name {
			if row.sends, row.bytes = withBoth, asSerialized; u.bracketed {
				p = failing
			}
		}
		return p
	}
	return &row
}

// entry is an entry of parseNoProxy. The text is in lower case; a wildcard
// covers no name itself since 8.11.
func (r undiciRules) entry(text string) (entry, bool) {
	name, port := splitPort(text)
	if r >= undici810 {
		name, port = splitUndici(text)
	}
	if r >= undici722 {
		name = trimWildcard(name)
	}
	if r >= undici8101 {
		name = trimFinalDot(name)
	}
	return entry{text: strings.ToLower(name), port: port, wildcard: text[0] == '*'}, true
}

func (r undiciRules) covers(e *entry, h host) string {
	switch {
	case r < undici722:
		return matchProxyFromEnv(e.text, h.name)
	case r < undici811:
		return (exactly | below).covers(e.text, h.name)
	case e.wildcard:
		return (star | below).covers(e.text, h.name)
	}
	return (star | exactly | below).covers(e.text, h.name)
}

// splitUndici cuts a port off: after brackets, or after the only colon.
func splitUndici(text string) (host, port string) {
	host, port = splitPort(text)
	if inner, ok := inBrackets(host); ok && host != text {
		return inner, port
	}
	if inner, ok := inBrackets(text); ok {
		text = inner
	}
	if strings.Count(text, ":") != 1 {
		return text, ""
	}
	return splitPort(text)
}

// trimWildcard takes off one "*." or one dot.
func trimWildcard(host string) string {
	if rest, ok := strings.CutPrefix(host, "*."); ok {
		return rest
	}
	return strings.TrimPrefix(host, ".")
}

func trimFinalDot(name string) string {
	if len(name) > 1 {
		return strings.TrimSuffix(name, ".")
	}
	return name
}
