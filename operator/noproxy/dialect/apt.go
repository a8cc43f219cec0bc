package dialect

import (
	"strconv"
	"strings"
)

// apt's http and https methods.
//
// Rules: apt methods/http.cc HttpServerState::Open, apt-pkg/contrib/strutl.cc
// CheckDomainList and URI::CopyFrom, versions 2.6.1 and 3.0.3, which do not
// differ here. The configuration (Acquire::http::Proxy) would come first; it is
// not looked at. The variables are read in lower case only, and http_proxy
// serves https too unless https_proxy is set, if only as "".
var aptFamily = []*Client{{
	Name:       "apt",
	Latest:     "3",
	Aliases:    []string{"apt-get"},
	Behaviours: []Behaviour{{Source: "apt 3.0.3 methods/http.cc and apt-pkg/contrib/strutl.cc", Read: aptRules.read}},
}}

var aptRules = rules{
	find: Env.set, http: "http_proxy", https: "https_proxy http_proxy", no: "no_proxy", readProxy: readAptProxy, listFirst: true,
	host: func(t Target) (host, string) { return named(asciiLower(t.Host)) },
	cut:  commas(nothing), entry: folded(asciiLower), names: exactly | ends,
}

// readAptProxy: a proxy without a host is silently none. Schemes count in lower case.
func readAptProxy(v variable, scheme string) proxy {
	u := parseAptURI(v.value)
	if u.scheme == "" || u.host == "" && u.scheme != "socks5h" {
		return proxy{ignored: unusableProxy}
	}
	protocol := map[string]Protocol{"http": Connect, "https": TLS, "socks5h": Socks5Name}[u.scheme]
	host, _ := toASCII(u.host)
	port := u.portFor(scheme)
	address, found := proxyAddress(host, strconv.Itoa(port))
	if protocol == "" || !found || port > 65535 {
		return proxy{failure: brokenProxy}
	}
	hop := Hop{Address: address, Protocol: protocol}
	if u.user+u.password != "" {
		hop.Auth = Sends(u.user + ":" + u.password)
	}
	return proxy{hop: hop.toward(scheme)}
}

// portFor: the default of an http proxy is the one of the target's scheme, which
// also stands in for a number that the resolver does not take.
func (u aptURI) portFor(scheme string) int {
	switch {
	case u.port > 0:
		return u.port
	case u.scheme == "socks5h":
		return 1080
	case scheme == "https" || u.scheme == "https" && u.port == 0:
		return 443
	}
	return 80
}

// aptURI is a URI as URI::CopyFrom takes it apart: nothing is invalid.
type aptURI struct {
	scheme, user, password, host string
	port                         int // 0 where there is none
}

func parseAptURI(text string) aptURI {
	scheme, rest, _ := strings.Cut(text, ":")
	u := aptURI{scheme: scheme}
	authority := strings.TrimPrefix(rest, "//")
	if authority = authority[:aptSlash(authority)]; authority == "" {
		return u
	}
	hostPort := authority
	if at := strings.LastIndexByte(authority, '@'); at > 0 {
		hostPort = authority[at+1:]
		// the first character belongs to the user, whatever it is
		user, password, _ := strings.Cut(authority[1:at], ":")
		u.user, u.password = aptDequote(authority[:1]+user), aptDequote(password)
	}
	u.setHost(hostPort)
	return u
}

// aptSlash returns where the first slash outside brackets stands, or the end.
func aptSlash(text string) int {
	bracket := false
	for i, c := range []byte(text) {
		if c == '[' || c == ']' {
			bracket = c == '['
		}
		if c == '/' && !bracket {
			return i
		}
	}
	return len(text)
}

// setHost drops brackets wherever they stand and takes what number follows the
// last colon after them for the port.
func (u *aptURI) setHost(text string) {
	var host strings.Builder
	bracket, portFrom := false, 0
	for _, c := range []byte(text) {
		switch {
		case c == '[':
			bracket = true
		case c == ']' && bracket:
			bracket, portFrom = false, host.Len()
		default:
			host.WriteByte(c)
		}
	}
	if bracket {
		return
	}
	u.host = host.String()
	if colon := strings.LastIndexByte(u.host, ':'); colon >= 0 && colon >= portFrom {
		u.port = atoi(u.host[colon+1:])
		u.host = u.host[:colon]
	}
}

// aptDequote decodes every encoded byte, a zero one too.
func aptDequote(text string) string {
	return strings.ReplaceAll(percentDecodeC(text), "%00", "\x00")
}
