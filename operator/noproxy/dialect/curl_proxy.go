package dialect

import (
	"cmp"
	"net/netip"
	"regexp"
	"strings"
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
	curlGrammar = regexp.MustCompile(`^(?:(?P<scheme>[a-zA-Z0-9+.-]+):/{1,3})?` + firstAt + hostPort)
	curlPath    = regexp.MustCompile(`^/[^?#]`)
)

// parseProxyURL is curl_url_set when it may guess the scheme. A colon without a
// port is fine after a scheme only.
func (r curlRelease) parseProxyURL(text string) (urlParts, bool) {
	u, ok := cut(curlGrammar, text)
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
