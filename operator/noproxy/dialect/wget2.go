package dialect

import "strings"

// GNU Wget2 without libproxy, and with it (wget2_libproxy.go).
//
// Rules: rockdaboot/wget2 libwget/http.c (parse_no_proxies,
// wget_http_match_no_proxy, wget_http_open), libwget/iri.c wget_iri_parse and
// src/options.c, tags wget2-1.99.1 to v2.2.1. The variables are read in lower
// case only; a proxy variable is a list, of which the first URL that can be
// parsed serves the first request. If none can, wget2 ends, whatever it was
// asked for. It sends no credential before the proxy asks, and then only what
// its options say.
var wget2Family = []*Client{
	{
		Name: "wget2",
		Behaviours: []Behaviour{
			{Source: "rockdaboot/wget2 libwget/http.c and libwget/iri.c, wget2-1.99.1", Read: wget2Release{}.read},
			{
				Since: "1.99.2", Change: "the scheme of a proxy is http or https",
				Source: "rockdaboot/wget2 libwget/iri.c, 1.99.2", Read: wget2Release{knowsSchemes: true}.read,
			},
			{
				Since: "2.1", Change: "IPv4 and IPv6 networks; white space after a comma does not count; CONNECT instead of TLS to the proxy",
				Source: "rockdaboot/wget2 libwget/http.c, v2.1.0", Read: wget2Release{knowsSchemes: true, tunnels: true}.read,
			},
			{
				Since: "2.2", Change: "the port of a proxy is a number from 1 to 65535",
				Source: "rockdaboot/wget2 libwget/iri.c, v2.2.0", Read: wget2Release{knowsSchemes: true, tunnels: true, checksPorts: true}.read,
			},
		},
	},
	wget2WithLibproxy,
}

type wget2Release struct {
	knowsSchemes bool // since 1.99.2
	tunnels      bool // since 2.1; and networks
	checksPorts  bool // since 2.2
}

func (w wget2Release) read(env Env) Decider {
	proxies, broken := w.parseProxies(env)
	noProxy := env.set("no_proxy")
	list := w.entries(noProxy.value)
	return func(t Target) Decision {
		if broken != "" {
			return fails(broken, wget2Ends)
		}
		host := t.Host
		if t.Bracketed {
			host = "[" + host + "]"
		}
		target, ok := w.parse(t.Scheme + "://" + host)
		if !ok {
			return fails("", badURL)
		}
		addr := literal(target.host)
		for _, entry := range list {
			switch {
			case entry.text == target.host:
				return direct(noProxy.name, entry.span, theName)
			case w.tunnels && entry.network.Contains(addr):
				return direct(noProxy.name, entry.span, inNetwork)
			case entry.text[0] == '.' && strings.HasSuffix(target.host, entry.text):
				return direct(noProxy.name, entry.span, belowName)
			}
		}
		return w.decide(t.Scheme, proxies[t.Scheme])
	}
}

const wget2Ends = "the proxy variable holds no URL that can be parsed: wget2 ends, whatever the URL"

// wget2Proxy is the value of a proxy variable as wget2 reads it.
type wget2Proxy struct {
	variable    string
	off, broken bool
	url         wget2URL
	address     string
}

// parseProxies reads both variables; broken is the name of one of which nothing
// can be used.
func (w wget2Release) parseProxies(env Env) (proxies map[string]wget2Proxy, broken string) {
	proxies = map[string]wget2Proxy{}
	for _, scheme := range []string{"http", "https"} {
		v := env.set(scheme + "_proxy")
		proxy := wget2Proxy{variable: v.name, off: v.value == ""}
		parsed := proxy.off
		for part := range strings.SplitSeq(v.value, ",") {
			if part == "" || len(part) > 255 || parsed {
				continue
			}
			proxy.url, parsed = w.parse(part)
		}
		if !parsed && broken == "" {
			broken = v.name
		}
		var found bool
		proxy.address, found = proxyAddress(proxy.url.host, proxy.url.port)
		proxy.broken = !found || proxy.url.port == "0"
		proxies[scheme] = proxy
	}
	return proxies, broken
}

// decide: until 2.0 the scheme of the proxy's URL says nothing but its port,
// and https goes to the proxy as if it were the target.
func (w wget2Release) decide(scheme string, proxy wget2Proxy) Decision {
	switch {
	case proxy.variable == "":
		return direct("", Span{}, noVariable)
	case proxy.off:
		return direct(proxy.variable, Span{}, proxyOff)
	case proxy.broken:
		return fails(proxy.variable, brokenProxy)
	}
	hop := Hop{Address: proxy.address, Protocol: Absolute}
	switch {
	case w.tunnels && proxy.url.scheme == "https":
		hop.Protocol = TLS
	case w.tunnels && scheme == "https":
		hop.Protocol = Connect
	case scheme == "https":
		hop.Protocol = TLS
	}
	return proxied(proxy.variable, hop)
}
