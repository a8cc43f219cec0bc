package dialect

import "strings"

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
	noProxy := env.nonEmpty("no_proxy")
	list := compilePerl(noProxy.value, perlSuffix)
	vars, all := tinyVariables(env)
	proxies := map[string]tinyProxy{}
	for _, v := range []variable{all, vars["http"], vars["https"]} { // all are checked before one is used
		if v.name == "" {
			continue
		}
		if _, ok := readTinyProxy(v); !ok {
			failure := fails(v.name, breaksPerl)
			return func(Target) Decision { return failure }
		}
	}
	for scheme, v := range vars {
		proxies[scheme], _ = readTinyProxy(v)
	}
	return func(t Target) Decision {
		if !isASCII(t.Host) {
			return fails("", unsendableHost)
		}
		proxy := proxies[t.Scheme]
		if proxy.variable == "" {
			return withoutPercent(t.Host, direct("", Span{}, noVariable))
		}
		host := strings.ToLower(t.Host)
		if t.Bracketed {
			host = "[" + host + "]"
		}
		if entry, reason, found := list.match(host); found {
			return withoutPercent(t.Host, direct(noProxy.name, entry, reason))
		}
		return proxy.decide(t.Scheme)
	}
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

// tinyProxy is the value of a proxy variable (_split_proxy, _proxy_connect).
type tinyProxy struct {
	variable string
	broken   bool
	scheme   string
	hop      Hop
}

// readTinyProxy takes any scheme, and no path but a slash.
func readTinyProxy(v variable) (tinyProxy, bool) {
	proxy := tinyProxy{variable: v.name}
	if v.name == "" {
		return proxy, true
	}
	scheme, rest, found := strings.Cut(v.value, "://")
	rest, _, _ = strings.Cut(rest, "#")
	authority, path := rest, ""
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		authority, path = rest[:end], rest[end:]
	}
	proxy.scheme = strings.ToLower(scheme)
	userinfo, hostPort, withUser := strings.Cut(authority, "@")
	if !withUser {
		hostPort = authority
	}
	if userinfo != "" && withUser {
		proxy.hop.Auth = Sends(percentDecode(userinfo))
	}
	port := map[string]string{"http": "80", "https": "443"}[proxy.scheme]
	host := strings.TrimSuffix(hostPort, ":")
	if only, cut := cutPort(hostPort); cut {
		host, port = only, hostPort[len(only)+1:]
	}
	if host == "" {
		host = "localhost"
	}
	host = strings.ToLower(host)
	proxy.setAddress(host, port)
	return proxy, found && scheme != "" && !strings.ContainsAny(scheme, ":/?#") && port != "" && (path == "" || path == "/")
}

func (p *tinyProxy) setAddress(host, port string) {
	if inner, found := strings.CutPrefix(host, "["); found {
		host = strings.TrimSuffix(inner, "]")
	} else if name, own, found := strings.Cut(host, ":"); found && isDigits(own) {
		host, port = name, own // IO::Socket takes the port out of the host
	}
	port = strings.TrimLeft(port, "0")
	plain := !strings.Contains(host, ":") || isIPv6Text(host)
	p.broken = !plain || !isPort(port) || !resolvable(host)
	p.hop.Address = joinHostPort(host, port)
}

func (p tinyProxy) decide(scheme string) Decision {
	if p.broken {
		return fails(p.variable, brokenProxy)
	}
	if p.scheme == "https" && scheme == "https" {
		return fails(p.variable, "this client cannot tunnel TLS in TLS")
	}
	return proxied(p.variable, p.hop.through(p.scheme, scheme))
}
