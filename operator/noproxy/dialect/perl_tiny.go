package dialect

import (
	"cmp"
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// HTTP::Tiny, which is part of Perl.
//
// Rules: HTTP::Tiny lib/HTTP/Tiny.pm (_set_proxies, _split_url, _open_handle) in
// 0.080, which comes with Perl 5.36, and 0.088.
var perlTiny = &Client{
	Name:      "perl-http-tiny",
	Aliases:   []string{"perl-tiny", "HTTP::Tiny", "http-tiny"},
	AlsoReads: []string{"cpanm"},
	Behaviours: []Behaviour{{
		Source: "HTTP::Tiny lib/HTTP/Tiny.pm, 0.080 and 0.088",
		Read:   readTiny,
	}},
}

func readTiny(env Env) Decider {
	vars, all := tinyVariables(env)
	for _, v := range []variable{all, vars["http"], vars["https"]} { // all are checked before one is used
		if _, valid := readTinyProxy(v.value, ""); v.name != "" && !valid {
			return always(fails(v.name, breaksPerl))
		}
	}
	r := rules{
		readProxy: func(v variable, scheme string) proxy {
			p, _ := readTinyProxy(v.value, scheme)
			return p
		},
		host: func(t Target) (host, string) {
			if !isASCII(t.Host) {
				return host{}, unsendableHost
			}
			return host{name: strings.ToLower(t.bracketed()), proxyOnly: hasPercent(t.Host)}, ""
		},
		cut: cutPerl, covers: perlSuffix.covers,
	}
	return r.decider(map[string]proxy{"http": r.proxyOf(vars["http"], "http"), "https": r.proxyOf(vars["https"], "https")},
		r.readList(env.nonEmpty("no_proxy")))
}

// tinyVariables is _set_proxies. An empty ALL_PROXY is not the same as none: it
// is no valid URL. In a CGI program CGI_HTTP_PROXY stands for HTTP_PROXY.
func tinyVariables(env Env) (vars map[string]variable, all variable) {
	if all = env.perlTrue("all_proxy"); all.name == "" {
		all = env.set("ALL_PROXY")
	}
	http := env.perlTrue("http_proxy", "HTTP_PROXY")
	if perlTrue(env["REQUEST_METHOD"]) {
		http = env.perlTrue("http_proxy", "CGI_HTTP_PROXY")
	}
	vars = map[string]variable{"http": http, "https": env.perlTrue("https_proxy", "HTTPS_PROXY")}
	for scheme, v := range vars {
		if v.name == "" {
			vars[scheme] = all
		}
	}
	return vars, all
}

// perlTrue returns the first of the variables that is true in Perl.
func (e Env) perlTrue(names ...string) variable {
	for _, name := range names {
		if perlTrue(e[name]) {
			return variable{name, e[name]}
		}
	}
	return variable{}
}

// readTinyProxy is _split_proxy and _proxy_connect. It takes any scheme, and no
// path but a slash; the value is not valid otherwise.
func readTinyProxy(value, target string) (p proxy, valid bool) {
	scheme, rest, found := strings.Cut(value, "://")
	rest, _, _ = strings.Cut(rest, "#")
	authority, path := cutAuthority(rest)
	userinfo, hostPort, _ := cutFirstAt(authority)
	proxyScheme := strings.ToLower(scheme)
	host, port := strings.TrimSuffix(hostPort, ":"), webPorts[proxyScheme]
	if only, cut := cutPort(hostPort); cut {
		host, port = only, hostPort[len(only)+1:]
	}
	valid = found && scheme != "" && !strings.ContainsAny(scheme, ":/?#") && port != "" && (path == "" || path == "/")
	address, ok := tinyAddress(strings.ToLower(cmp.Or(host, "localhost")), port)
	switch {
	case !ok:
		return proxy{failure: brokenProxy}, valid
	case proxyScheme == "https" && target == "https":
		return proxy{failure: "this client cannot tunnel TLS in TLS"}, valid
	}
	hop := Hop{Address: address}
	if userinfo != "" {
		hop.Auth = Sends(percent.Decode(userinfo))
	}
	return proxy{hop: hop.through(proxyScheme, target)}, valid
}

func tinyAddress(host, port string) (string, bool) {
	if inner, found := strings.CutPrefix(host, "["); found {
		host = strings.TrimSuffix(inner, "]")
	} else if name, own, found := strings.Cut(host, ":"); found && isDigits(own) {
		host, port = name, own // IO::Socket takes the port out of the host
	}
	port = strings.TrimLeft(port, "0")
	plain := !strings.Contains(host, ":") || isIPv6Text(host)
	return joinHostPort(host, port), plain && isPort(port) && resolvable(host)
}
