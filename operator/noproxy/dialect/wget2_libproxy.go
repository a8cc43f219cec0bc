package dialect

import (
	"net/netip"
	"strconv"
	"strings"
)

// wget2 built with libproxy, as Debian's is since 2.2. libproxy decides from the
// URL as it was written and from the variables of either case; an http proxy
// gets a request with an absolute URL even for https. wget2's own options are
// read all the same, and what they cannot parse in lower case ends it.
//
// Rules: rockdaboot/wget2 v2.2.0 libwget/http.c wget_http_open; libproxy/libproxy
// 0.5.9 src/backend/plugins/config-env/config-env.c and src/backend/px-manager.c
// (ignore_hostname, ignore_domain, ignore_ip); GLib 2.84, for the URLs of target
// and proxy (glib.go).
var wget2WithLibproxy = &Client{
	Name:    "wget2-libproxy",
	Aliases: []string{"wget2(built with libproxy 0.5.9)", "wget2(built with libproxy)"},
	Behaviours: []Behaviour{{
		Source: "rockdaboot/wget2 v2.2.0 libwget/http.c with libproxy/libproxy 0.5.9 src/backend and GLib 2.84 glib/guri.c",
		Read:   readWget2Libproxy,
	}},
}

func readWget2Libproxy(env Env) Decider {
	wget2 := wget2Release{knowsSchemes: true, tunnels: true, checksPorts: true}
	if broken := wget2.broken(env); broken != "" {
		return always(fails(broken, wget2Ends))
	}
	decide := rules{
		find: Env.set, http: "http_proxy HTTP_PROXY", https: "https_proxy HTTPS_PROXY http_proxy HTTP_PROXY", no: "no_proxy NO_PROXY",
		readProxy: wget2.readLibproxy, listFirst: true,
		host: libproxyHost,
		cut:  commas(nothing), entry: libproxyEntry, covers: libproxyCovers,
	}.read(env)
	return func(t Target) Decision {
		if _, ok := parseGlib(t.URL); !ok {
			return direct("", Span{}, "libproxy cannot parse the URL, and it goes direct")
		}
		return decide(t)
	}
}

func libproxyHost(t Target) (host, string) {
	u, _ := parseGlib(t.URL)
	return host{name: u.host, addr: literal(u.host), port: strconv.Itoa(u.port)}, ""
}

func (w wget2Release) readLibproxy(v variable, _ string) proxy {
	u, ok := parseGlib(v.value)
	if !ok || u.text == "direct://" {
		return proxy{ignored: unusableProxy}
	}
	parsed, ok := w.parse(u.text)
	address, found := proxyAddress(parsed.host, parsed.port)
	if !ok || !found {
		return proxy{failure: brokenProxy}
	}
	hop := Hop{Address: address, Protocol: Absolute}
	if parsed.scheme == "https" {
		hop.Protocol = TLS
	}
	return proxy{hop: hop}
}

const anyPort = -1

// libproxyEntry is compared up to its first colon. It has a port if that is the
// only one, so that no address or network has any.
func libproxyEntry(text string) (entry, bool) {
	name, port, colon := strings.Cut(text, ":")
	e := entry{text: name, wildcard: !colon && (name == "*" || name == "<local>"), network: parseGlibNetwork(text)}
	if number := atoi(port); colon && !strings.Contains(port, ":") && number != anyPort {
		e.port = strconv.Itoa(number)
	}
	if addr := literal(text); addr.IsValid() && addr.Zone() == "" {
		e.network, e.address = netip.PrefixFrom(addr, addr.BitLen()), true
	}
	return e, true
}

// libproxyCovers is px_manager_is_ignore for one entry.
func libproxyCovers(e *entry, h host) string {
	switch {
	case e.wildcard && e.text == "*":
		return everything
	case e.wildcard && !strings.ContainsAny(h.name, ":."):
		return "a name without a dot"
	}
	if reason := libproxyDomain(e.text, h.name); reason != "" {
		return reason
	}
	return e.contains(h)
}

// libproxyDomain is ignore_domain but for the port. ".name" and "*.name" also
// cover every host that their name only starts with, and that in any case:
// libproxy compares as many bytes as the host has.
func libproxyDomain(name, host string) string {
	suffix, dot := strings.TrimPrefix(name, "*"), name != "" && name[0] == '.' || strings.HasPrefix(name, "*.")
	switch {
	case host == name:
		return theName
	case len(name) <= 2:
		return ""
	case dot && len(host) < len(suffix) && asciiLower(suffix[1:1+len(host)]) == asciiLower(host):
		return theName
	case dot && strings.HasSuffix(host, suffix), hasDomain(host, name):
		return belowName
	}
	return ""
}
