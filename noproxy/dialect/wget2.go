package dialect

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// GNU Wget2 without libproxy, and with it (wget2_libproxy.go).
//
// Rules: rockdaboot/wget2 libwget/http.c (parse_no_proxies,
// wget_http_match_no_proxy, wget_http_open), libwget/iri.c wget_iri_parse and
// src/options.c, tags wget2-1.99.1 to v2.2.1. The variables are read in lower
// case only; a proxy variable is a list. If no URL in it can be parsed, wget2 ends,
// whatever it was asked for. It sends no credential before the proxy asks, and then only what
// its options say.
var wget2Family = []*Client{
	{
		Name:   "wget2",
		Latest: "2.2",
		Behaviours: versions{
			{"", "", "rockdaboot/wget2 libwget/http.c and libwget/iri.c, wget2-1.99.1", wget2Release{}.read},
			{"1.99.2", "the scheme of a proxy is http or https", "rockdaboot/wget2 libwget/iri.c, 1.99.2", wget2Release{knowsSchemes: true}.read},
			{"2.1", "IPv4 and IPv6 networks; white space after a comma does not count; CONNECT instead of TLS to the proxy", "rockdaboot/wget2 libwget/http.c, v2.1.0 and v2.2.0", wget2Release{knowsSchemes: true, tunnels: true}.read},
		}.behaviours(),
	},
	wget2WithLibproxy,
}

type wget2Release struct {
	knowsSchemes bool // since 1.99.2
	tunnels      bool // since 2.1; and networks
}

// read checks all proxies before it is asked for a URL.
func (w wget2Release) read(env Env) Decider {
	if broken, ok := w.broken(env); ok {
		return always(broken)
	}
	return rules{
		find: Env.set, http: "http_proxy", https: "https_proxy", no: "no_proxy", readProxy: w.readProxy, listFirst: true,
		host: w.host,
		cut:  w.cut, entry: w.entry, names: exactly | dotted,
	}.read(env)
}

const wget2Ends = "the proxy variable holds no URL that can be parsed: wget2 ends, whatever the URL"

// broken returns the decision about every URL where a variable has no usable value.
func (w wget2Release) broken(env Env) (Decision, bool) {
	for _, name := range []string{"http_proxy", "https_proxy"} {
		if p := w.readProxy(variable{name, env[name]}, "http"); env[name] != "" && p.fatal != "" {
			p.variable = variable{name, env[name]}
			return p.decide(), true
		}
	}
	return Decision{}, false
}

// readProxy: until 2.0 https goes to the proxy as if it were the target, whatever the
// scheme of the proxy's URL is. An authority is decoded before it is taken apart: an
// encoded "@" splits, too. What a comma or an "@" in the user leaves is not judged.
func (w wget2Release) readProxy(v variable, target string) proxy {
	row := proxyTraits{
		refuses: func(u *proxyURL, _ string) proxy {
			if u.hasPassword && isScheme(u.user) {
				u.scheme = cmp.Or(u.scheme, u.user) // it passes for one
			}
			switch {
			case strings.Contains(u.userinfo, ","), strings.Contains(percent.Decode(u.user), "@"):
				return unjudged
			case w.knowsSchemes && u.scheme != "" && webPorts[u.scheme] == "":
				return proxy{fatal: wget2Ends}
			case strings.Contains(percent.Decode(u.userinfo), "@"):
				return failing
			}
			return proxy{}
		},
		ports:   webPorts,
		schemes: map[string]Protocol{"": Connect, "https": TLS, anyScheme: Connect},
	}
	if !w.tunnels {
		row.schemes = map[string]Protocol{"": Connect, anyScheme: Connect}
		if target == "https" {
			row.schemes = map[string]Protocol{"": TLS, anyScheme: TLS}
		}
	}
	return row.read(v, target)
}

// host is wget_iri_parse: the authority is decoded before it is taken apart.
func (w wget2Release) host(t Target) (host, string) {
	authority, _, _ := strings.Cut(t.bracketed(), "%00")
	u, _ := cutWget2Authority(percentDecodeC(authority))
	name := asciiLower(u.host)
	if ascii, ok := toASCII(name); ok {
		name = ascii
	}
	if authority == "" {
		return host{}, badURL
	}
	return host{name: name, addr: literal(name)}, ""
}

var cutWget2Authority = grammar(`(?s)^(?:[^@]*@)?(?:\[(?P<address>.*)\](?::(?P<port>[0-9]*))?|\[(?P<address>.*)|(?P<host>[^:]*)(?::(?P<port>[0-9]*))?)`)

// cut is parse_no_proxies. White space is part of an entry, but since 2.1 for
// that in front of it. An entry of more than 255 bytes is left out.
func (w wget2Release) cut(list string) []Span {
	spans := slices.DeleteFunc(elements(list), func(s Span) bool { return s.End-s.Start > 255 })
	if w.tunnels {
		for i, span := range spans {
			spans[i].Start = min(skip(list, span.Start, " \t\n\v\f\r"), span.End)
		}
	}
	return slices.DeleteFunc(spans, Span.Empty)
}

// entry parses an entry. The length of a network is the number after the slash, or 0
// (cidr_v4_match and cidr_v6_match).
func (w wget2Release) entry(text string) (entry, bool) {
	e := entry{text: asciiLower(text)}
	if ascii, ok := toASCII(e.text); ok {
		e.text = ascii
	}
	address, length, slash := strings.Cut(e.text, "/")
	if addr := literal(address); w.tunnels && slash && addr.Zone() == "" {
		e.network = netip.PrefixFrom(addr, atoi(length)).Masked()
	}
	return e, true
}
