package dialect

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"
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
		Read:   readAria2,
	}},
}}

func readAria2(env Env) Decider {
	noProxy := env.set("no_proxy")
	list := aria2Entries(noProxy.value)
	all := env.nonEmpty("all_proxy")
	proxies := map[string]aria2Proxy{
		"http":  readAria2Proxy(env.nonEmpty("http_proxy"), all),
		"https": readAria2Proxy(env.nonEmpty("https_proxy"), all),
	}
	return func(t Target) Decision {
		addr := numericHost(t.Host)
		host := aria2Host(t.Host)
		for i := range list {
			if reason := list[i].covers(host, addr); reason != "" {
				return direct(noProxy.name, list[i].span, reason)
			}
		}
		return proxies[t.Scheme].decide(t.Scheme)
	}
}

// aria2Host is the host of a URL as it is kept: what is not ASCII is
// percent-encoded (src/util.cc percentEncodeMini).
func aria2Host(host string) string {
	if isASCII(host) {
		return host
	}
	var encoded strings.Builder
	for _, c := range []byte(host) {
		if c < utf8.RuneSelf {
			encoded.WriteByte(c)
			continue
		}
		writePercent(&encoded, c)
	}
	return encoded.String()
}

// numericHost is the address that the C library takes a host for: IPv4 in any
// form, or IPv6.
func numericHost(host string) netip.Addr {
	if written, ok := curlNumericIPv4.numericIPv4(host); ok {
		host = written
	}
	return literal(host)
}

// aria2Entry is an entry of no_proxy, with the case it was written in.
type aria2Entry struct {
	span    Span
	text    string
	slash   bool
	network netip.Prefix
}

func aria2Entries(list string) []aria2Entry {
	var entries []aria2Entry
	for _, span := range elements(list) {
		span = span.trim(list, "\r\n\t ")
		if span.Empty() {
			continue
		}
		entry := aria2Entry{span: span, text: span.Of(list)}
		address, length, slash := strings.Cut(entry.text, "/")
		if entry.slash = slash; slash {
			entry.network = aria2Network(address, length)
		}
		entries = append(entries, entry)
	}
	return entries
}

// aria2Network: the length is a number to the end of the entry; one that is too
// long stands for a single address. An IPv4-mapped IPv6 address is an IPv6 one.
func aria2Network(address, length string) netip.Prefix {
	digits := strings.TrimLeft(length, " \t\n\v\f\r")
	if digits != "" && digits[0] == '+' {
		digits = digits[1:]
	}
	addr := numericHost(address)
	if !isDigits(strings.TrimRight(digits, " \t\n\v\f\r")) || !addr.IsValid() || atoi(digits) >= 1<<31-1 {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr.WithZone(""), min(atoi(digits), addr.BitLen())).Masked()
}

// covers: a dot in front stands for the names below, but not for addresses.
func (e *aria2Entry) covers(host string, addr netip.Addr) string {
	switch {
	case e.slash && e.network.Contains(addr.WithZone("")):
		return inNetwork
	case e.slash:
		return ""
	case e.text[0] == '.' && !addr.IsValid():
		if strings.HasSuffix(host, e.text) {
			return belowName
		}
	case e.text == host:
		return theName
	}
	return ""
}

// aria2Proxy is the proxy variables of a scheme as aria2 reads them.
type aria2Proxy struct {
	variable        string
	ignored, broken bool
	hop             Hop
}

// readAria2Proxy takes the first variable that can be parsed.
func readAria2Proxy(candidates ...variable) aria2Proxy {
	var proxy aria2Proxy
	for _, v := range candidates {
		if v.name == "" {
			continue
		}
		u, ok := parseAria2(v.value)
		if !ok {
			if proxy.variable == "" {
				proxy = aria2Proxy{variable: v.name, ignored: true}
			}
			continue
		}
		address, found := proxyAddress(u.host, strconv.Itoa(u.port))
		proxy = aria2Proxy{variable: v.name, broken: !found, hop: Hop{Address: address}}
		if user := aptDequote(u.user); user != "" {
			proxy.hop.Auth = Sends(user + ":" + aptDequote(u.password))
		}
		break
	}
	return proxy
}

func (p aria2Proxy) decide(scheme string) Decision {
	switch {
	case p.variable == "":
		return direct("", Span{}, noVariable)
	case p.ignored:
		return direct(p.variable, Span{}, unusableProxy)
	case p.broken:
		return fails(p.variable, brokenProxy)
	}
	return proxied(p.variable, p.hop.plain(scheme))
}
