package dialect

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// wget2 built with libproxy, as Debian's is since 2.2. libproxy decides from the
// URL as it was written and from the variables of either case; an http proxy
// gets a request with an absolute URL even for https. wget2's own options are
// read all the same, and what they cannot parse in lower case ends it.
//
// Rules: rockdaboot/wget2 v2.2.0 libwget/http.c wget_http_open; libproxy/libproxy
// 0.5.9 src/backend/plugins/config-env/config-env.c and src/backend/px-manager.c
// (ignore_hostname, ignore_domain, ignore_ip); GLib 2.84, for the URLs of target
// and proxy.
var wget2WithLibproxy = &Client{
	Name:    "wget2-libproxy",
	Latest:  "2.2",
	Aliases: []string{"wget2(built with libproxy 0.5.9)", "wget2(built with libproxy)"},
	Behaviours: []Behaviour{{
		Source: "rockdaboot/wget2 v2.2.0 libwget/http.c with libproxy/libproxy 0.5.9 src/backend and GLib 2.84 glib/guri.c",
		Read:   readWget2Libproxy,
	}},
}

func readWget2Libproxy(env Env) Decider {
	wget2 := wget2Release{knowsSchemes: true, tunnels: true}
	if broken, ok := wget2.broken(env); ok {
		return always(broken)
	}
	decide := rules{
		find: Env.set, http: "http_proxy HTTP_PROXY", https: "https_proxy HTTPS_PROXY http_proxy HTTP_PROXY", no: "no_proxy NO_PROXY",
		readProxy: wget2.readLibproxy, listFirst: true,
		host: libproxyHost,
		cut:  commas(nothing), entry: libproxyEntry, covers: libproxyCovers,
	}.read(env)
	return func(t Target) Decision {
		if _, ok := parseGlib(t.URL); !ok {
			return direct("", Span{}, "libproxy cannot parse the URL")
		}
		return decide(t)
	}
}

func libproxyHost(t Target) (host, string) {
	u, _ := parseGlib(t.URL)
	return host{name: u.host, addr: literal(u.host), port: strconv.Itoa(u.port)}, ""
}

// readLibproxy ignores a value that is no URL with a scheme. A name before a
// port passes for a scheme.
func (w wget2Release) readLibproxy(v variable, _ string) proxy {
	u, _ := parseProxyURL(v.value)
	p := w.readProxy(v, "http")
	switch {
	case p.fatal == wget2Ends:
		return failing
	case p.fatal == "" && u.scheme == "" && !isScheme(u.before()):
		return unused
	}
	return p
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

// glibURL is a URL as GLib's g_uri_parse takes it apart without any flags.
type glibURL struct {
	host string
	port int // anyPort where there is none
}

// parseGlib parses an absolute URL strictly: a percent sign that encodes
// nothing, bytes that are not UTF-8 once decoded, or a port that is no number
// make it invalid. Blanks do not.
func parseGlib(text string) (glibURL, bool) {
	parts, ok := cutGlibURL(text)
	u := glibURL{port: anyPort}
	host, valid := parseGlibHost(parts.host, parts.bracketed)
	if u.host = host; parts.port != "" {
		u.port = atoi(parts.port)
	}
	return u, ok && valid && u.port <= 65535 && glibDecodes(parts.path)
}

// The host ends at a second "@".
var cutGlibURL = grammar(`^https?://(?:\[(?P<address>[^\]/?#]*)\]|(?P<host>(?:[^@\[:/?#][^@:/?#]*)?))(?::(?P<port>[0-9]*))?(?P<path>[/?#](?s:.*))?$`)

// parseGlibHost is parse_host: a host that becomes an address only by decoding
// is invalid.
func parseGlibHost(host string, bracketed bool) (string, bool) {
	if bracketed {
		address, zone, zoned := strings.Cut(host, "%")
		if zoned && (len(zone) < 3 || zone[:2] != "25" || !glibDecodes(zone)) || !isIPv6(address) {
			return "", false
		}
		if zoned {
			address += "%" + percentDecodeC(zone[2:])
		}
		return address, true
	}
	decoded := percentDecodeC(host)
	if !glibDecodes(host) || decoded != host && literal(decoded).IsValid() {
		return "", false
	}
	return toASCII(decoded)
}

// glibDecodes reports whether uri_decoder accepts a part of a URL.
func glibDecodes(part string) bool {
	return percent.Valid(part) && utf8.ValidString(percentDecodeC(part)) && !strings.Contains(part, "%00")
}

// parseGlibNetwork is g_inet_address_mask_new_from_string: the address must not
// have bits beyond the length.
func parseGlibNetwork(text string) netip.Prefix {
	address, length, slash := strings.Cut(text, "/")
	addr := literal(address)
	if !slash || !isDigits(length) || addr.Zone() != "" {
		return netip.Prefix{}
	}
	network := netip.PrefixFrom(addr, atoi(length))
	if network.Masked().Addr() != addr {
		return netip.Prefix{}
	}
	return network
}
