package dialect

import (
	"strings"
	"unicode"
)

// Rust programs, with the matcher of hyper-util, which reqwest uses since
// 0.12.16. Versions are those of hyper-util, all of which are below those of
// reqwest, so that a version of reqwest means the newest matcher.
var rustFamily = []*Client{{
	Name:      "reqwest",
	Aliases:   []string{"rust-reqwest", "hyper-util"},
	AlsoReads: []string{"uv", "rustup"},
	Behaviours: observed(observeRust, versions{
		{"", "", rustSource + "v0.1.12", rustRules{}.read},
		{"0.1.16", "SOCKS4 proxies are used", rustSource + "v0.1.16", rustRules{socks4: true}.read},
		{"0.1.18", "a proxy with a user but no password is used", rustSource + "v0.1.18", rustRules{socks4: true, userOnly: true}.read},
		{"0.1.20", "names are compared without regard to case", rustSource + "4684c71", rustRules{socks4: true, userOnly: true, foldCase: true}.read},
	}.behaviours()),
}}

const rustSource = "hyperium/hyper-util src/client/proxy/matcher.rs, "

type rustRules struct{ socks4, userOnly, foldCase bool }

func (r rustRules) read(env Env) Decider {
	row := rules{
		find: Env.rust, findProxy: r.findProxy,
		http: "HTTP_PROXY http_proxy ALL_PROXY all_proxy", https: "HTTPS_PROXY https_proxy ALL_PROXY all_proxy", no: "NO_PROXY no_proxy",
		readProxy: r.readProxy,
		host:      r.host,
		cut:       commas(unicode.IsSpace), entry: r.entry, covers: rustCovers,
	}
	proxies := row.proxies(env)
	if _, cgi := env["REQUEST_METHOD"]; cgi {
		for scheme, p := range proxies {
			p.ignored = "REQUEST_METHOD is set: in a CGI program no proxy variable is trusted"
			proxies[scheme] = p
		}
	}
	return row.decider(proxies, row.readList(env.rust("NO_PROXY", "no_proxy")))
}

// findProxy falls back to the variables for every scheme where the one for a
// scheme cannot be used.
func (r rustRules) findProxy(env Env, names ...string) variable {
	v, all := env.rust(names[:2]...), env.rust(names[2:]...)
	_, usable := r.readHop(v.value)
	_, allUsable := r.readHop(all.value)
	if !usable && (allUsable || v.name == "") {
		return all
	}
	return v
}

func (r rustRules) readProxy(v variable, scheme string) proxy {
	if hop, usable := r.readHop(v.value); usable {
		return proxy{hop: hop.toward(scheme)}
	}
	return proxy{ignored: unusableProxy}
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
