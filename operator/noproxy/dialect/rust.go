package dialect

import "strings"

// Rust programs, with the matcher of hyper-util, which reqwest uses since
// 0.12.16. Versions are those of hyper-util, all of which are below those of
// reqwest, so that a version of reqwest means the newest matcher.
var rustFamily = []*Client{{
	Name:      "reqwest",
	Aliases:   []string{"rust-reqwest", "hyper-util"},
	AlsoReads: []string{"uv", "rustup"},
	Behaviours: []Behaviour{
		{Source: rustSource + "v0.1.12", Read: rustRules{}.read, Observe: observeRust},
		{
			Since: "0.1.16", Change: "SOCKS4 proxies are used",
			Source: rustSource + "v0.1.16", Read: rustRules{socks4: true}.read, Observe: observeRust,
		},
		{
			Since: "0.1.18", Change: "a proxy with a user but no password is used",
			Source: rustSource + "v0.1.18", Read: rustRules{socks4: true, userOnly: true}.read, Observe: observeRust,
		},
		{
			Since: "0.1.20", Change: "names are compared without regard to case",
			Source: rustSource + "4684c71", Read: rustRules{socks4: true, userOnly: true, foldCase: true}.read, Observe: observeRust,
		},
	},
}}

const rustSource = "hyperium/hyper-util src/client/proxy/matcher.rs, "

type rustRules struct{ socks4, userOnly, foldCase bool }

func (r rustRules) read(env Env) Decider {
	all := r.readProxy(env.rust("ALL_PROXY", "all_proxy"))
	proxies := map[string]rustProxy{}
	for scheme, names := range map[string][2]string{"http": {"HTTP_PROXY", "http_proxy"}, "https": {"HTTPS_PROXY", "https_proxy"}} {
		proxy := r.readProxy(env.rust(names[0], names[1]))
		if !proxy.usable && (all.usable || proxy.name == "") {
			proxy = all
		}
		proxies[scheme] = proxy
	}
	noProxy := env.rust("NO_PROXY", "no_proxy")
	list := readRustList(noProxy.value, r.foldCase)
	_, cgi := env["REQUEST_METHOD"]
	return func(t Target) Decision {
		proxy := proxies[t.Scheme]
		if _, ok := parseRustURI(t.URL); !ok {
			return fails("", invalidURL)
		}
		switch {
		case proxy.name == "":
			return direct("", Span{}, noVariable)
		case cgi:
			return direct(proxy.name, Span{}, "REQUEST_METHOD is set: in a CGI program no proxy variable is trusted")
		case proxy.value == "":
			return direct(proxy.name, Span{}, proxyOff)
		case !proxy.usable:
			return direct(proxy.name, Span{}, unusableProxy)
		}
		if entry, reason, found := list.match(t.Host); found {
			return direct(noProxy.name, entry, reason)
		}
		hop := proxy.hop
		if t.Scheme == "http" && hop.Protocol == Connect {
			hop.Protocol = Absolute
		}
		return proxied(proxy.name, hop)
	}
}

// rust returns the first of the variables that is there and is UTF-8.
func (e Env) rust(names ...string) variable {
	for _, name := range names {
		if value, found := e[name]; found && strings.ToValidUTF8(value, "") == value {
			return variable{name, value}
		}
	}
	return variable{}
}

// observeRust words what Matcher.intercept returns.
func observeRust(d Decision) string {
	switch d.Route {
	case Proxy:
		return d.Hop.result.Bytes()
	case Fails:
		return "error"
	}
	return "direct"
}
