package dialect

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

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
		Name:   "wget2",
		Latest: "2.2",
		Behaviours: versions{
			{"", "", "rockdaboot/wget2 libwget/http.c and libwget/iri.c, wget2-1.99.1", wget2Release{}.read},
			{"1.99.2", "the scheme of a proxy is http or https", "rockdaboot/wget2 libwget/iri.c, 1.99.2", wget2Release{knowsSchemes: true}.read},
			{"2.1", "IPv4 and IPv6 networks; white space after a comma does not count; CONNECT instead of TLS to the proxy", "rockdaboot/wget2 libwget/http.c, v2.1.0", wget2Release{knowsSchemes: true, tunnels: true}.read},
			{"2.2", "the port of a proxy is a number from 1 to 65535", "rockdaboot/wget2 libwget/iri.c, v2.2.0", wget2Release{knowsSchemes: true, tunnels: true, checksPorts: true}.read},
		}.behaviours(),
	},
	wget2WithLibproxy,
}

type wget2Release struct {
	knowsSchemes bool // since 1.99.2
	tunnels      bool // since 2.1; and networks
	checksPorts  bool // since 2.2
}

// read checks all proxies before it is asked for a URL: broken is the variable
// of which nothing can be used.
func (w wget2Release) read(env Env) Decider {
	if broken := w.broken(env); broken != "" {
		return always(fails(broken, wget2Ends))
	}
	return rules{
		find: Env.set, http: "http_proxy", https: "https_proxy", no: "no_proxy", readProxy: w.readProxy, listFirst: true,
		host: w.host,
		cut:  w.cut, entry: w.entry, names: exactly | dotted,
	}.read(env)
}

const wget2Ends = "the proxy variable holds no URL that can be parsed: wget2 ends, whatever the URL"

func (w wget2Release) broken(env Env) string {
	for _, name := range []string{"http_proxy", "https_proxy"} {
		if _, ok := w.firstURL(env[name]); env[name] != "" && !ok {
			return name
		}
	}
	return ""
}

func (w wget2Release) firstURL(list string) (urlParts, bool) {
	for part := range strings.SplitSeq(list, ",") {
		if part == "" || len(part) > 255 {
			continue
		}
		if u, ok := w.parse(part); ok {
			return u, true
		}
	}
	return urlParts{}, false
}

// readProxy: until 2.0 the scheme of the proxy's URL says nothing but its port,
// and https goes to the proxy as if it were the target.
func (w wget2Release) readProxy(v variable, scheme string) proxy {
	u, _ := w.firstURL(v.value)
	address, found := proxyAddress(u.host, u.port)
	if !found || u.port == "0" {
		return proxy{failure: brokenProxy}
	}
	hop := Hop{Address: address, Protocol: Connect}
	if w.tunnels && u.scheme == "https" || !w.tunnels && scheme == "https" {
		hop.Protocol = TLS
	}
	return proxy{hop: hop.toward(scheme)}
}

func (w wget2Release) host(t Target) (host, string) {
	u, ok := w.parse(t.Scheme + "://" + t.bracketed())
	if !ok {
		return host{}, badURL
	}
	return host{name: u.host, addr: literal(u.host)}, ""
}

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

// entry: the length of a network is what number stands after the slash, or 0
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

// A name that a colon and a digit follow is a host, not a scheme. The authority
// is decoded before it is taken apart: an encoded "@" splits, too.
var (
	cutWget2URL = grammar(`^[ \t-\r]*(?:(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):(?:/+(?P<host>[^/?#]*)|(?P<host>(?:[^/?#0-9][^/?#]*)?)(?:[/?#]|$))` +
		`|/*(?P<host>[^/?#]*))`)
	cutWget2Authority = grammar(`(?s)^(?:[^@]*@)?(?:\[(?P<address>.*)\](?::(?P<port>[0-9]*))?|\[(?P<address>.*)|(?P<host>[^:]*)(?::(?P<port>[0-9]*))?)`)
)

// parse is wget_iri_parse. Until 1.99.1 any scheme is fine, and one that is not
// known has no port. Without a host nothing can be reached, not even parsed if
// the scheme is known.
func (w wget2Release) parse(text string) (urlParts, bool) {
	whole, _ := cutWget2URL(text)
	authority, _, _ := strings.Cut(whole.host, "%00")
	authority = percentDecodeC(authority)
	u, _ := cutWget2Authority(authority)
	u.scheme = cmp.Or(whole.scheme, "http")
	u.host = asciiLower(u.host)
	if ascii, ok := toASCII(u.host); ok {
		u.host = ascii
	}
	number, known := atoi(u.port), webPorts[u.scheme]
	written := u.port != ""
	u.port = cmp.Or(known, "0")
	switch {
	case known == "" && w.knowsSchemes:
		return u, false
	case authority == "":
		u.port = "0"
		return u, known == ""
	case number > 0 && number < 65536:
		u.port = strconv.Itoa(number)
	case written && w.checksPorts:
		return u, false
	}
	return u, true
}
