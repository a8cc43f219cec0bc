package dialect

import (
	"cmp"
	"net/netip"
	"regexp"
	"strings"

	"golang.org/x/net/idna"
)

// curlKinds are what a proxy is by its scheme. "http" is what the caller takes it for.
var curlKinds = map[string]Protocol{
	"https": TLS, "socks": Socks4, "socks4": Socks4, "socks4a": Socks4, "socks5": Socks5Local, "socks5h": Socks5Name,
}

// readProxy is parse_proxy and what it calls in lib/urlapi.c. The kind is what
// the proxy is where the value has no scheme.
func (r curlRelease) readProxy(value string, kind Protocol, scheme string) proxy {
	u, ok := r.parseProxyURL(value)
	if !ok {
		return proxy{failure: brokenProxy}
	}
	kind, ok = r.proxyKind(u, kind)
	socks := kind != Connect && kind != TLS
	unixSocket := socks && asciiLower(u.host) == "localhost" && curlPath.MatchString(u.path) && r >= curlUnixSockets
	host, decoded := urlDecode(u.host)
	host, converted := toASCII(host)
	address, found := proxyAddress(host, cmp.Or(u.port, r.defaultPort(kind)))
	if !ok || unixSocket || !decoded || !converted || !found {
		return proxy{failure: brokenProxy}
	}
	p := r.credential(u)
	p.hop.Address, p.hop.Protocol = address, kind
	if p.hop = p.hop.toward(scheme); kind == Socks4 {
		p.hop.Auth = Auth{}
	}
	return p
}

// defaultPort of a proxy. Since 8.21 (Curl_peer_from_proxy_url) it is the one
// of the scheme.
func (r curlRelease) defaultPort(kind Protocol) string {
	switch {
	case kind == TLS:
		return "443"
	case kind == Connect && r >= curlOwnDefaultPort:
		return "80"
	}
	return "1080"
}

// proxyKind turns the scheme into the kind of proxy. Without a scheme one is
// guessed from the name, as for any URL, and a guess other than http is an
// error; since 8.21 it is not looked at.
func (r curlRelease) proxyKind(u urlParts, kind Protocol) (Protocol, bool) {
	if known, found := curlKinds[u.scheme]; found {
		return known, true
	}
	if u.scheme == "" && r < curlOwnDefaultPort {
		for _, guess := range []string{"ftp.", "dict.", "ldap.", "imap.", "smtp.", "pop3."} {
			if strings.HasPrefix(asciiLower(u.host), guess) {
				return "", false
			}
		}
	}
	return kind, u.scheme == "" || u.scheme == "http"
}

// credential decodes user and password. From 7.76 to 8.17 a control character in
// them ends the reading of the URL without an error, and so without a proxy;
// before, it only lost what it was in. Two empty ones are sent from 7.86 to 8.20.
func (r curlRelease) credential(u urlParts) (p proxy) {
	user, userOK := urlDecode(u.user)
	password, passwordOK := urlDecode(u.password)
	if r < curlBrokenCIDR && (user == "" || !userOK) {
		user = "(nil)" // how libcurl prints that there is none
	}
	switch {
	case userOK && passwordOK:
		if u.hasUser && (r < curlOwnDefaultPort || user+password != "") {
			p.hop.Auth = Sends(user + ":" + password)
		}
	case r >= curlIPv6CIDR:
		p.failure = brokenProxy
	case r >= curlForgetsErrors:
		p.ignored = unusableProxy
	case userOK && u.user != "":
		p.hop.Auth = Sends(user + ":")
	case passwordOK && password != "":
		p.hop.Auth = Sends(user + ":" + password)
	}
	return p
}

// proxyAddress is where a connection to a host goes, or nowhere. The C library
// reads numeric forms of IPv4 where libcurl did not, and refuses to look up a
// name with characters that no host name has; Linux takes the unspecified
// address for its own.
func proxyAddress(host, port string) (string, bool) {
	host = strings.TrimSuffix(strings.TrimPrefix(host, "["), "]")
	addr := numericHost(host).Unmap()
	switch {
	case !addr.IsValid() || addr.Zone() != "":
		return joinHostPort(host, port), isHostname(host)
	case addr == netip.IPv4Unspecified():
		host = "127.0.0.1"
	case addr == netip.IPv6Unspecified():
		host = "::1"
	default:
		host = addr.String()
	}
	return joinHostPort(host, port), true
}

// isHostname is glibc's res_hnok: what the resolver takes for a host name.
func isHostname(host string) bool {
	if host == "" || host[0] == '-' || len(host) > 254 {
		return false
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		for _, c := range []byte(asciiLower(label)) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

var (
	cutCurlURL = grammar(`^(?:(?P<scheme>[a-zA-Z0-9+.-]+):/{1,3})?` + firstAt + hostPort)
	curlPath   = regexp.MustCompile(`^/[^?#]`)
)

// parseProxyURL is curl_url_set when it may guess the scheme. A colon without a
// port is fine after a scheme only.
func (r curlRelease) parseProxyURL(text string) (urlParts, bool) {
	u, ok := cutCurlURL(text)
	if hasControl(text) || strings.IndexByte(text, 0x7f) >= 0 || r >= curlNoBlanks && strings.IndexByte(text, ' ') >= 0 {
		return u, false
	}
	if u.bracketed {
		u.host = "[" + u.host + "]"
	}
	u.hasUser = u.hasUser && (r >= curlBrokenCIDR || u.userinfo != "" && u.userinfo != ":")
	u.port = trimZeros(u.port)
	var valid bool
	u.host, valid = r.parseHost(u.host)
	return u, ok && valid && (isPort(u.port) || u.port == "" && (u.scheme != "" || !u.hasPort))
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
