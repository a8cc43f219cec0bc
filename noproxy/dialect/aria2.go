package dialect

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// aria2c.
//
// Rules: aria2/aria2 1.36.0 src/AbstractCommand.cc (inNoProxy, getProxyUri,
// createProxyRequest), src/util.cc (noProxyDomainMatch, inSameCidrBlock),
// src/OptionHandlerImpl.cc HttpProxyOptionHandler, src/option_processing.cc,
// src/uri_split.c. The variables are read in lower case only. A proxy that
// cannot be used is as good as none, after a message; every proxy is spoken
// to in plain http, also one with the scheme https.
var aria2Family = []*Client{{
	Name:    "aria2c",
	Latest:  "1.37",
	Aliases: []string{"aria2"},
	Behaviours: []Behaviour{{
		Source: "aria2/aria2 1.36.0 src/AbstractCommand.cc, src/util.cc and src/uri_split.c",
		Read:   aria2Rules.read,
	}},
}}

var aria2Rules = rules{
	find: Env.nonEmpty, findProxy: finder(aria2URL.read, Env.nonEmpty), http: "http_proxy all_proxy", https: "https_proxy all_proxy", no: "no_proxy", readProxy: aria2URL.read, listFirst: true,
	host: aria2Host,
	cut:  commas(func(r rune) bool { return strings.ContainsRune("\r\n\t ", r) }), entry: aria2Entry, covers: aria2Covers,
}

// aria2Host returns the host of a URL as aria2 keeps it: characters outside
// ASCII are percent-encoded (src/util.cc percentEncodeMini).
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

// aria2URL: a value with another scheme is as good as none.
var aria2URL = proxyTraits{
	schemes: map[string]Protocol{"": Connect, "http": Connect, "https": Connect}, ports: webOr80, unknown: unused,
	sends: withUser,
}
