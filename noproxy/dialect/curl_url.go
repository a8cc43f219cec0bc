package dialect

import (
	"net/netip"
	"strings"

	"golang.org/x/net/idna"
)

// curlKinds are the protocols of a proxy, by its scheme.
var curlKinds = map[string]Protocol{
	"": Connect, "http": Connect, "https": TLS, "socks": Socks4, "socks4": Socks4, "socks4a": Socks4, "socks5": Socks5Local, "socks5h": Socks5Name,
}

// url is parse_proxy. Since 8.21 (Curl_peer_from_proxy_url) the default port of an
// http proxy is the one of its scheme. SOCKS 4 has no password.
func (r curlRelease) url() proxyTraits {
	row := proxyTraits{
		schemes: curlKinds, ports: map[string]string{"https": "443", anyScheme: "1080"},
		sends: func(u proxyURL) (string, bool) {
			return u.user + ":" + u.password, u.hasUser && curlKinds[u.scheme] != Socks4
		},
		refuses: r.guesses,
	}
	if r >= curlOwnDefaultPort {
		row.ports = map[string]string{"http": "80", "https": "443", anyScheme: "1080"}
	}
	return row
}

// guesses: until 8.20 a scheme that is not written is guessed from the name, as for any
// URL, and a guess other than http is an error.
func (r curlRelease) guesses(u *proxyURL, _ string) (p proxy) {
	for _, guess := range []string{"ftp.", "dict.", "ldap.", "imap.", "smtp.", "pop3."} {
		if u.scheme == "" && r < curlOwnDefaultPort && strings.HasPrefix(asciiLower(u.host), guess) {
			p = failing
		}
	}
	return p
}

// host is the host of a URL as libcurl compares it with the list: an IPv6
// address without brackets and zone. It fails where libcurl refuses the URL.
func (r curlRelease) host(t Target) (host, string) {
	name, ok := r.parseHost(t.bracketed())
	name = strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	if ok && r >= curlIDNFirst {
		name, ok = toASCII(name)
	}
	if !ok {
		return host{}, badURL
	}
	addr := literal(name)
	h := host{name: asciiLower(name), asAddress: addr.IsValid() && r >= curlShortIPv6}
	if r >= curlIPv6CIDR && addr.Zone() == "" || r >= curlBrokenCIDR && addr.Is4() {
		h.addr = addr
	}
	return h, ""
}

// toASCII is Curl_idnconvert_hostname, with libidn2's non-transitional mapping.
func toASCII(host string) (string, bool) {
	if isASCII(host) {
		return host, true
	}
	ascii, err := idna.Lookup.ToASCII(host)
	return ascii, err == nil
}

// parseHost does what lib/urlapi.c does to a host: it reads IPv4 addresses in
// every form, decodes, checks and normalizes. IPv6 addresses stay in brackets.
func (r curlRelease) parseHost(host string) (string, bool) {
	decoded, ok := urlDecode(host)
	if r >= curlOwnDefaultPort { // until then an encoded address was a name
		if host = decoded; !ok {
			return "", false
		}
	}
	if strings.HasPrefix(host, "[") {
		return r.parseIPv6(host)
	}
	if r >= curlNumericIPv4 {
		if addr, ok := r.numericIPv4(host); ok {
			return addr, true
		}
	}
	if r >= curlDecodesHosts && r < curlOwnDefaultPort {
		if host = decoded; !ok {
			return "", false
		}
	}
	return host, r.checkHost(host)
}

// curlBadInHosts are the characters that hostname_check refuses, by the release
// that added them.
var curlBadInHosts = []struct {
	since      curlRelease
	characters string
}{
	{curlOldest, " "},
	{curlDecodesHosts, "\r\n"},
	{curlNoSeparators, "\t/:#?!@"},
	{curlBrokenCIDR, `{}[]\$'"^` + "`*<>=;,"},
	{curlCIDR, "+&()"},
	{curlNoPercent, "%"},
	{curlOwnDefaultPort, "|"},
}

func (r curlRelease) checkHost(host string) bool {
	for _, bad := range curlBadInHosts {
		if r >= bad.since && strings.ContainsAny(host, bad.characters) {
			return false
		}
	}
	dots := r >= curlOwnDefaultPort && (host == "." || strings.HasSuffix(host, ".."))
	return host != "" && !dots
}

// parseIPv6 checks an address in brackets and drops its zone. Since 7.81 it is
// written in its short form where that is really shorter.
func (r curlRelease) parseIPv6(host string) (string, bool) {
	inner, closed := strings.CutSuffix(host[1:], "]")
	address, zone, zoned := strings.Cut(inner, "%")
	if after := strings.TrimPrefix(zone, "25"); after != "" {
		zone = after
	}
	addr := literal(address)
	if !closed || !addr.Is6() || zoned && (zone == "" || len(zone) > 15) {
		return "", false
	}
	if short := ntop6(addr); r >= curlShortIPv6 && len(short) < len(address) {
		address = short
	}
	return "[" + address + "]", true
}

// ntop6 is C's inet_ntop, which writes the last 32 bits after 96 zeros as IPv4.
func ntop6(addr netip.Addr) string {
	bytes := addr.As16()
	for _, b := range bytes[:12] {
		if b != 0 {
			return addr.String()
		}
	}
	if bytes[12] == 0 && bytes[13] == 0 {
		return addr.String()
	}
	return "::" + netip.AddrFrom4([4]byte(bytes[12:])).String()
}

// numericIPv4 writes out an IPv4 address in any form. A name that only resembles
// one is left alone.
func (r curlRelease) numericIPv4(host string) (string, bool) {
	if r >= curlOwnDefaultPort {
		host = strings.TrimSuffix(host, ".")
	} else if r >= curlLowerHex && strings.Contains(host, "X") {
		return "", false
	}
	addr, ok := numericIPv4(host, cNumber)
	return addr.String(), ok
}

// urlDecode is Curl_urldecode: it leaves a percent sign alone that no two
// digits follow, and refuses control characters.
func urlDecode(text string) (string, bool) {
	decoded := percentDecodeC(text)
	return decoded, !hasControl(decoded) && !strings.Contains(text, "%00")
}
