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
	Aliases:    []string{"apt-get"},
	Behaviours: []Behaviour{{Source: "apt 3.0.3 methods/http.cc and apt-pkg/contrib/strutl.cc", Read: readApt}},
}}

func readApt(env Env) Decider {
	noProxy := env.set("no_proxy")
	list := aptEntries(noProxy.value)
	proxies := map[string]aptProxy{
		"http":  readAptProxy(env.set("http_proxy")),
		"https": readAptProxy(env.set("https_proxy", "http_proxy")),
	}
	return func(t Target) Decision {
		host := asciiLower(t.Host)
		for _, entry := range list {
			if strings.HasSuffix(host, entry.text) {
				reason := endsWith
				if host == entry.text {
					reason = theName
				}
				return direct(noProxy.name, entry.span, reason)
			}
		}
		return proxies[t.Scheme].decide(t.Scheme)
	}
}

// aptEntry is an entry of no_proxy: a text that the host ends with.
type aptEntry struct {
	span Span
	text string // in lower case, never empty; blanks are part of it
}

func aptEntries(list string) []aptEntry {
	var entries []aptEntry
	for _, span := range elements(list) {
		if !span.Empty() {
			entries = append(entries, aptEntry{span, asciiLower(span.Of(list))})
		}
	}
	return entries
}

// aptProxy is the value of a proxy variable as apt reads it.
type aptProxy struct {
	variable string
	off      bool // set, but empty
	uri      aptURI
}

func readAptProxy(v variable) aptProxy {
	return aptProxy{v.name, v.value == "", parseAptURI(v.value)}
}

// decide: a proxy without a host is silently none.
func (p aptProxy) decide(scheme string) Decision {
	switch {
	case p.variable == "":
		return direct("", Span{}, noVariable)
	case p.off:
		return direct(p.variable, Span{}, proxyOff)
	case p.uri.access == "" || p.uri.host == "" && p.uri.access != "socks5h":
		return direct(p.variable, Span{}, unusableProxy)
	}
	hop := Hop{Protocol: p.protocol(scheme)}
	host, _ := toASCII(p.uri.host)
	port := p.port(scheme)
	address, found := proxyAddress(host, strconv.Itoa(port))
	if hop.Protocol == "" || !found || port > 65535 {
		return fails(p.variable, brokenProxy)
	}
	hop.Address = address
	if hop.Protocol != TLS && p.uri.user+p.uri.password != "" {
		hop.Auth = Sends(p.uri.user + ":" + p.uri.password)
	}
	return proxied(p.variable, hop)
}

// protocol is empty for a proxy that apt does not support. Upper case is not
// supported.
func (p aptProxy) protocol(scheme string) Protocol {
	switch {
	case p.uri.access == "https":
		return TLS
	case p.uri.access == "socks5h":
		return Socks5Name
	case p.uri.access != "http":
		return ""
	case scheme == "https":
		return Connect
	}
	return Absolute
}

// port: the default of an http proxy is the one of the target's scheme, which
// also stands in for a number that the resolver does not take.
func (p aptProxy) port(scheme string) int {
	switch {
	case p.uri.port > 0:
		return p.uri.port
	case p.uri.access == "socks5h":
		return 1080
	case scheme == "https" || p.uri.access == "https" && p.uri.port == 0:
		return 443
	}
	return 80
}

// aptURI is a URI as URI::CopyFrom takes it apart: nothing is invalid.
type aptURI struct {
	access, user, password, host string
	port                         int // 0 where there is none
}

func parseAptURI(text string) aptURI {
	access, rest, _ := strings.Cut(text, ":")
	u := aptURI{access: access}
	slash := 0 // the first outside brackets ends the host
	if len(rest) > 2 && rest[:2] == "//" {
		slash = 2
	}
	slash += aptSlash(rest[slash:])
	start := 0
	if strings.HasPrefix(rest, "//") {
		start = 2
	}
	authority := rest[min(start, slash):slash]
	if authority == "" {
		return u
	}
	host := authority
	if at := strings.LastIndexByte(authority, '@'); at > 0 {
		host = authority[at+1:]
		// the first character belongs to the user, whatever it is
		end := strings.IndexByte(authority[1:at], ':') + 1
		if end == 0 {
			end = at
		} else {
			u.password = aptDequote(authority[end+1 : at])
		}
		u.user = aptDequote(authority[:end])
	}
	u.setHost(host)
	return u
}

// aptSlash returns where the first slash outside brackets stands, or the end.
func aptSlash(text string) int {
	bracket := false
	for i := range len(text) {
		switch {
		case text[i] == '[':
			bracket = true
		case text[i] == ']':
			bracket = false
		case text[i] == '/' && !bracket:
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
	for i := range len(text) {
		switch {
		case text[i] == '[':
			bracket = true
		case text[i] == ']' && bracket:
			bracket, portFrom = false, host.Len()
		default:
			host.WriteByte(text[i])
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
