package dialect

import (
	"cmp"
	"regexp"
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
		if p := tinyURL.read(v, ""); v.name != "" && p.fatal != "" {
			return always(fails(v.name, p.fatal))
		}
	}
	r := rules{
		readProxy: func(v variable, scheme string) proxy {
			p := tinyURL.read(v, scheme)
			if p.hop.Protocol == TLS && scheme == "https" {
				p.failure = "this client cannot tunnel TLS in TLS"
			}
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

// tinyURL is _split_proxy and _proxy_connect. It takes any scheme, and no path but
// a slash.
var tinyURL = proxyURL{
	grammar: regexp.MustCompile(`^(?P<scheme>[^:/?#]+)://` + firstAt + `(?P<host>[^/?#]*?)(?::(?P<port>[0-9]+)|:)?/?(?:#(?s:.*))?$`),
	host: func(u *urlParts) (ok bool) {
		ok = u.port != "" || webPorts[u.scheme] != ""
		u.host = strings.ToLower(cmp.Or(u.host, "localhost"))
		if inner, found := strings.CutPrefix(u.host, "["); found {
			u.host = strings.TrimSuffix(inner, "]")
		} else if name, own, found := strings.Cut(u.host, ":"); found && isDigits(own) {
			u.host, u.port = name, own // IO::Socket takes the port out of the host
		}
		return ok
	},
	port:      func(written, by string) (string, bool) { return strings.TrimLeft(cmp.Or(written, by), "0"), true },
	malformed: proxy{fatal: breaksPerl},
	schemes:   map[string]Protocol{"https": TLS, anyScheme: Connect}, ports: webPorts,
	sends:      func(u *urlParts) bool { return u.userinfo != "" },
	credential: func(u *urlParts) (string, bool) { return percent.Decode(u.userinfo), true },
	reach:      perlSocket,
}
