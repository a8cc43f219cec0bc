package dialect

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// glibURL is a URL as GLib's g_uri_parse takes it apart without any flags.
type glibURL struct {
	scheme, host string
	port         int    // anyPort where there is none
	text         string // as g_uri_to_string writes it, but for what is escaped after the host
}

// parseGlib parses an absolute URL strictly: a percent sign that encodes
// nothing, bytes that are not UTF-8 once decoded, or a port that is no number
// make it invalid. Blanks do not.
func parseGlib(text string) (glibURL, bool) {
	u := glibURL{port: anyPort}
	scheme := uriScheme.FindString(text)
	if scheme == "" {
		return u, false
	}
	colon := len(scheme) - 1
	u.scheme = asciiLower(text[:colon])
	rest, hasAuthority := strings.CutPrefix(text[colon+1:], "//")
	if !hasAuthority {
		u.text = u.scheme + ":" + rest
		return u, glibDecodes(rest)
	}
	authority, rest := cutAuthority(rest)
	u.text = u.scheme + "://"
	if userinfo, after, found := strings.Cut(authority, "@"); found {
		if !glibDecodes(userinfo) {
			return u, false
		}
		u.text += glibEscape(percentDecodeC(userinfo)) + "@"
		authority = after
	}
	ok := u.parseHostPort(authority) && glibDecodes(rest)
	u.text += rest
	return u, ok
}

func (u *glibURL) parseHostPort(authority string) bool {
	host, port, bracketed, ok := splitHostPort(authority)
	if !ok {
		return false
	}
	if u.host, ok = parseGlibHost(host, bracketed); !ok {
		return false
	}
	written := glibEscape(u.host)
	if literal(u.host).Is6() {
		written = "[" + u.host + "]"
	}
	u.text += written
	if port == "" {
		return true
	}
	if u.port = atoi(port); !isDigits(port) || u.port > 65535 {
		return false
	}
	u.text += ":" + strconv.Itoa(u.port)
	return true
}

// parseGlibHost is parse_host: what is an address only once decoded is invalid.
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

// glibEscape is g_string_append_uri_escaped, as far as what reads the result
// could tell the difference.
func glibEscape(text string) string {
	return percent.Encode(text, func(c byte) bool { return c <= ' ' || c >= 0x7f || strings.IndexByte("%/?#[]@\"<>\\^`{|}", c) >= 0 })
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
