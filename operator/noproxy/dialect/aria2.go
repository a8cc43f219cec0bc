package dialect

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// aria2c.
//
// Rules: aria2/aria2 1.36.0 src/AbstractCommand.cc (inNoProxy, getProxyUri,
// createProxyRequest), src/util.cc (noProxyDomainMatch, inSameCidrBlock),
// src/OptionHandlerImpl.cc HttpProxyOptionHandler, src/option_processing.cc,
// src/uri_split.c. The variables are read in lower case only. A proxy that
// cannot be parsed is as good as none, after a message; every proxy is spoken
// to in plain http, also one with the scheme https.
var aria2Family = []*Client{{
	Name:    "aria2c",
	Aliases: []string{"aria2"},
	Behaviours: []Behaviour{{
		Source: "aria2/aria2 1.36.0 src/AbstractCommand.cc, src/util.cc and src/uri_split.c",
		Read:   aria2Rules.read,
	}},
}}

var aria2Rules = rules{
	find: Env.aria2, http: "http_proxy all_proxy", https: "https_proxy all_proxy", no: "no_proxy", readProxy: readAria2Proxy, listFirst: true,
	host: aria2Host,
	cut:  commas(func(r rune) bool { return strings.ContainsRune("\r\n\t ", r) }), entry: aria2Entry, covers: aria2Covers,
}

// aria2Host is the host of a URL as it is kept: what is not ASCII is
// percent-encoded (src/util.cc percentEncodeMini).
func aria2Host(t Target) (host, string) {
	name := percent.Encode(t.Host, func(c byte) bool { return c >= utf8.RuneSelf })
	return host{name: name, addr: numericHost(t.Host)}, ""
}

// aria2Entry: the length is a number to the end of the entry; one that is too
// long stands for a single address. An IPv4-mapped IPv6 address is an IPv6 one.
func aria2Entry(text string) (entry, bool) {
	e := entry{text: text}
	address, length, _ := strings.Cut(text, "/")
	digits := strings.TrimPrefix(strings.TrimLeftFunc(length, cSpace), "+")
	if addr := numericHost(address); isDigits(strings.TrimRightFunc(digits, cSpace)) && addr.IsValid() && atoi(digits) < 1<<31-1 {
		e.network = netip.PrefixFrom(addr.WithZone(""), min(atoi(digits), addr.BitLen())).Masked()
	}
	return e, true
}

// aria2Covers: a dot in front stands for the names below, but not for addresses.
func aria2Covers(e *entry, h host) string {
	switch {
	case strings.Contains(e.text, "/"):
		return e.contains(host{addr: h.addr.WithZone("")})
	case e.text[0] == '.' && h.addr.IsValid():
		return ""
	case e.text[0] == '.':
		return dotted.covers(e.text, h.name)
	}
	return exactly.covers(e.text, h.name)
}

// readAria2Proxy: a value that cannot be parsed is as good as none.
func readAria2Proxy(v variable, scheme string) proxy {
	u, ok := parseAria2(v.value)
	if !ok {
		return proxy{ignored: unusableProxy}
	}
	address, found := proxyAddress(u.host, u.port)
	if !found {
		return proxy{failure: brokenProxy}
	}
	hop := Hop{Address: address}
	if user := aptDequote(u.user); user != "" {
		hop.Auth = Sends(user + ":" + aptDequote(u.password))
	}
	return proxy{hop: hop.plain(scheme)}
}

// aria2 returns the first of the variables that can be parsed, or else the first
// that is not empty.
func (e Env) aria2(names ...string) variable {
	for _, name := range names {
		if _, ok := parseAria2(e[name]); ok {
			return variable{name, e[name]}
		}
	}
	return e.nonEmpty(names...)
}
