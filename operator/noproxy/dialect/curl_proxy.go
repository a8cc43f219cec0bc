package dialect

import (
	"net/netip"
	"strconv"
	"strings"
)

// curlProxy is the value of a proxy variable as libcurl reads it.
type curlProxy struct {
	variable string // empty if there is none
	broken   bool   // an error once it is needed
	ignored  bool   // silently no proxy once it is needed
	kind     curlKind
	hop      Hop // without the protocol
}

// curlKind is libcurl's CURLPROXY_ constant: which proxy it is.
type curlKind string

const (
	curlHTTP    curlKind = "http"
	curlHTTPS   curlKind = "https"
	curlSocks4  curlKind = "socks4"
	curlSocks4a curlKind = "socks4a"
	curlSocks5  curlKind = "socks5"
	curlSocks5h curlKind = "socks5h"
)

// isSocks reports whether the proxy speaks one of the SOCKS protocols.
func (k curlKind) isSocks() bool { return strings.HasPrefix(string(k), "socks") }

// parseProxy is parse_proxy and what it calls in lib/urlapi.c. The kind is what
// the proxy is where the value has no scheme.
func (r curlRelease) parseProxy(v variable, kind curlKind) curlProxy {
	proxy := curlProxy{variable: v.name}
	if v.value == "" {
		return curlProxy{}
	}
	u, ok := r.parseProxyURL(v.value)
	if !ok || u.port == "0" { // to which nothing can connect
		proxy.broken = true
		return proxy
	}
	proxy.kind, ok = r.proxyKind(u, kind)
	unixSocket := proxy.kind.isSocks() && asciiLower(u.host) == "localhost" && u.hasPath && r >= curlUnixSockets
	if !ok || unixSocket {
		proxy.broken = true
		return proxy
	}
	if u.port == "" {
		u.port = r.defaultPort(proxy.kind)
	}
	proxy.setCredential(u, r)
	host, decoded := urlDecode(u.host)
	host, converted := toASCII(host)
	address, found := proxyAddress(host, u.port)
	proxy.hop.Address = address
	proxy.broken = proxy.broken || !decoded || !converted || !found
	return proxy
}

// defaultPort of a proxy. Since 8.21 (Curl_peer_from_proxy_url) it is the one
// of the scheme.
func (r curlRelease) defaultPort(kind curlKind) string {
	switch {
	case kind == curlHTTPS:
		return "443"
	case kind == curlHTTP && r >= curlOwnDefaultPort:
		return "80"
	}
	return "1080"
}

// proxyKind turns the scheme into the kind of proxy. Without a scheme one is
// guessed from the name, as for any URL, and a guess other than http is an
// error; since 8.21 it is not looked at.
func (r curlRelease) proxyKind(u curlURL, kind curlKind) (curlKind, bool) {
	if u.scheme != "" {
		switch scheme := curlKind(asciiLower(u.scheme)); scheme {
		case "http":
			return kind, true
		case "socks":
			return curlSocks4, true
		case curlHTTPS, curlSocks4, curlSocks4a, curlSocks5, curlSocks5h:
			return scheme, true
		}
		return "", false
	}
	if r < curlOwnDefaultPort {
		for _, guess := range []string{"ftp.", "dict.", "ldap.", "imap.", "smtp.", "pop3."} {
			if strings.HasPrefix(asciiLower(u.host), guess) {
				return "", false
			}
		}
	}
	return kind, true
}

// setCredential decodes user and password. From 7.76 to 8.17 a control
// character in them ends the reading of the URL without an error, and so
// without a proxy; before, it only lost what it was in. Two empty ones are
// sent from 7.86 to 8.20.
func (p *curlProxy) setCredential(u curlURL, r curlRelease) {
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
		p.broken = true
	case r >= curlForgetsErrors:
		p.ignored = true
	case userOK && u.user != "":
		p.hop.Auth = Sends(user + ":")
	case passwordOK && password != "":
		p.hop.Auth = Sends(user + ":" + password)
	}
}

// decide reaches for the proxy, on behalf of a host as libcurl reads it.
func (r curlRelease) reach(p curlProxy, t Target, host string) Decision {
	switch {
	case p.variable == "":
		return direct("", Span{}, noVariable)
	case p.broken:
		return fails(p.variable, brokenProxy)
	case p.ignored:
		return direct(p.variable, Span{}, unusableProxy)
	}
	hop := p.hop
	switch p.kind {
	case curlHTTPS:
		hop.Protocol, hop.Auth = TLS, Auth{} // the credential is inside the handshake
	case curlSocks4, curlSocks4a:
		hop.Protocol, hop.Auth = Socks4, Auth{}
	case curlSocks5:
		hop.Protocol = Socks5Local
	case curlSocks5h:
		hop.Protocol = Socks5Name
		if literal(host).IsValid() && r >= curlShortIPv6 {
			hop.Protocol = Socks5Local
		}
	default:
		hop = hop.plain(t.Scheme)
	}
	return proxied(p.variable, hop)
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

// curlURL is a URL as curl_url_set takes it apart when it may guess the scheme.
type curlURL struct {
	scheme, user, password, host, port string
	hasUser, hasPath                   bool
}

func (r curlRelease) parseProxyURL(text string) (curlURL, bool) {
	var u curlURL
	if hasControl(text) || strings.IndexByte(text, 0x7f) >= 0 || r >= curlNoBlanks && strings.IndexByte(text, ' ') >= 0 {
		return u, false
	}
	authority := text
	if scheme, rest, found := strings.Cut(text, ":/"); found && scheme != "" && skip(asciiLower(scheme), 0, schemeCharacters) == len(scheme) {
		u.scheme = scheme
		authority = strings.TrimLeft("/"+rest, "/")
		if slashes := 1 + len(rest) - len(authority); slashes > 3 {
			return u, false
		}
	}
	if end := strings.IndexAny(authority, "/?#"); end >= 0 {
		path, _, _ := strings.Cut(authority[end:], "?")
		path, _, _ = strings.Cut(path, "#")
		authority, u.hasPath = authority[:end], len(path) > 1
	}
	if userinfo, rest, found := strings.Cut(authority, "@"); found {
		u.user, u.password, _ = strings.Cut(userinfo, ":")
		u.hasUser = r >= curlBrokenCIDR || userinfo != "" && userinfo != ":"
		authority = rest
	}
	return u, r.parseHostPort(authority, &u)
}

const schemeCharacters = "abcdefghijklmnopqrstuvwxyz0123456789+-."

// parseHostPort is Curl_parse_port and the host after it. A colon without a
// port is fine after a scheme only.
func (r curlRelease) parseHostPort(authority string, u *curlURL) bool {
	colon := strings.IndexByte(authority, ':')
	if strings.HasPrefix(authority, "[") {
		colon = strings.IndexByte(authority, ']') + 1
		if colon == 0 || colon < len(authority) && authority[colon] != ':' {
			return false
		}
		if colon == len(authority) {
			colon = -1
		}
	}
	host := authority
	if colon >= 0 {
		host, u.port = authority[:colon], authority[colon+1:]
		if u.port == "" && u.scheme == "" {
			return false
		}
	}
	if u.port != "" {
		number, err := strconv.ParseUint(u.port, 10, 16)
		if err != nil || !isDigits(u.port) || number == 0 && r < curlShortIPv6 {
			return false
		}
		u.port = strconv.FormatUint(number, 10)
	}
	var ok bool
	u.host, ok = r.parseHost(host)
	return ok
}
