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
	Aliases: []string{"undici-EnvHttpProxyAgent", "EnvHttpProxyAgent"},
	Behaviours: []Behaviour{
		{Source: undiciSource + "6.14.0", Read: undici614.read},
		{
			Since: "6.14.1", Change: "lower-case variables win",
			Source: undiciSource + "6.28.1", Read: undici6141.read,
		},
		{
			Since: "7.22.0", Change: "d, .d and *.d all cover d and what is below it; other wildcards are gone",
			Source: undiciSource + "7.22.0 (pull request 4676)", Read: undici722.read,
		},
		{
			Since: "7.23.0", Change: "proxies of socks:// and socks5:// are used",
			Source: undiciSource + "7.30.2", Read: undici723.read,
		},
		{
			Since: "8.0.0", Change: "a proxy without a scheme has that of its variable",
			Source: undiciSource + "8.0.0 (pull request 4914)", Read: undici800.read,
		},
		{
			Since: "8.0.2", Change: "a proxy without a scheme is an error again",
			Source: undiciSource + "8.0.2", Read: undici802.read,
		},
		{
			Since: "8.2.0", Change: "a user without a password is sent",
			Source: undiciSource + "8.2.0", Read: undici82.read,
		},
		{
			Since: "8.7.0", Change: "http URLs are no longer tunnelled",
			Source: undiciSource + "8.7.0", Read: undici87.read,
		},
		{
			Since: "8.10.0", Change: "IPv6 entries match, with brackets and without",
			Source: undiciSource + "8.10.0 (pull request 5623)", Read: undici810.read,
		},
		{
			Since: "8.10.1", Change: "a dot at the end of entry or host does not matter",
			Source: undiciSource + "8.10.1 (pull request 5637)", Read: undici8101.read,
		},
		{
			Since: "8.11.0", Change: "* works anywhere in the list; *.d no longer covers d itself",
			Source: undiciSource + "8.12.4", Read: undici811.read,
		},
	},
}}

// undiciAgent is an EnvHttpProxyAgent. Its constructor throws for an unusable
// proxy, whichever URL is asked for later, and even if NO_PROXY covers that.
type undiciAgent struct {
	rules       undiciRules
	http, https undiciProxy
	broken      string // the variable that the constructor throws for
	noProxy     variable
	entries     []undiciEntry
}

func (r undiciRules) read(env Env) Decider { return newUndiciAgent(r, env).decide }

func newUndiciAgent(rules undiciRules, env Env) *undiciAgent {
	named := func(lower string) variable {
		if rules == undici614 {
			return env.set(strings.ToUpper(lower), lower)
		}
		return env.set(lower, strings.ToUpper(lower))
	}
	a := &undiciAgent{rules: rules, noProxy: named("no_proxy")}
	a.http = a.readProxy(named("http_proxy"), "http")
	a.https = a.readProxy(named("https_proxy"), "https")
	if a.https.value == "" { // unset or empty
		a.https = a.http
	}
	a.readList()
	return a
}

func (a *undiciAgent) decide(t Target) Decision {
	if a.broken != "" {
		return fails(a.broken, brokenProxy)
	}
	u, ok := parseWHATWG(t.URL)
	if !ok {
		return fails("", invalidURL)
	}
	if entry, reason, found := a.match(u); found {
		return direct(a.noProxy.name, entry, reason)
	}
	proxy := a.http
	if u.scheme == "https" {
		proxy = a.https
	}
	switch {
	case proxy.name == "":
		return direct("", Span{}, noVariable)
	case proxy.value == "":
		return direct(proxy.name, Span{}, proxyOff)
	}
	hop := proxy.hop
	if proxy.tooLong || hop.Protocol == Socks5Name && strings.HasPrefix(hop.Address, "[") {
		return fails(proxy.name, brokenProxy) // it looks up the brackets, too
	}
	if u.scheme == "http" && hop.Protocol == Connect && a.rules >= undici87 {
		hop.Protocol = Absolute
	}
	return proxied(proxy.name, hop)
}

// undiciProxy is what a proxy variable becomes.
type undiciProxy struct {
	variable
	hop     Hop
	tooLong bool // the credential, for SOCKS (RFC 1929)
}

// readProxy is the constructor of ProxyAgent, and the Pool that it makes, which
// accepts a path in no proxy but a SOCKS one.
func (a *undiciAgent) readProxy(v variable, scheme string) undiciProxy {
	proxy := undiciProxy{variable: v}
	value := v.value
	if value == "" {
		return proxy
	}
	if before, _, found := strings.Cut(value, "://"); a.rules == undici800 && (!found || !isScheme(before)) {
		value = scheme + "://" + value
	}
	u, ok := parseWHATWG(value)
	socks := a.rules >= undici723 && (u.scheme == "socks5" || u.scheme == "socks")
	auth, decoded := a.auth(u)
	if !ok || !decoded || !socks && (!u.isHTTP() || !u.bare || u.port == "0") {
		a.broken = v.name
		return proxy
	}
	proxy.hop = u.hop(auth)
	if socks {
		proxy.hop = Hop{Address: u.host + ":" + u.portOr("1080"), Protocol: Socks5Name, Auth: u.socksAuth()}
		proxy.tooLong = max(len(u.username), len(u.password)) > 255 && !proxy.hop.Auth.IsZero()
	}
	return proxy
}

// socksAuth is the credential for SOCKS: as it stands in the URL after parsing,
// where that for HTTP is decoded, and none unless both parts are there.
func (u whatwgURL) socksAuth() Auth {
	if u.username == "" || u.password == "" {
		return Auth{}
	}
	return u.encodedAuth()
}

// auth returns the credential, and whether it can be decoded.
func (a *undiciAgent) auth(u whatwgURL) (Auth, bool) {
	if u.username == "" || u.password == "" && a.rules < undici82 {
		return Auth{}, true
	}
	return u.decodedAuth()
}
