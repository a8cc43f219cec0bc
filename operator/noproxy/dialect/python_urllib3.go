package dialect

import (
	"regexp"
	"strconv"
	"strings"
)

// requestsProxy is the value of a proxy variable as requests and urllib3 read
// it: parse_url, ProxyManager, get_auth_from_url.
type requestsProxy struct {
	variable string
	failure  string // why it cannot be used; empty: it can
	scheme   string
	hop      Hop
}

// From urllib3/urllib3 util/url.py; a $ of Python also matches before a newline
// at the end.
var (
	urllib3Scheme   = regexp.MustCompile(`^(?:[a-zA-Z][a-zA-Z0-9+-]*:|/)`)
	urllib3URI      = regexp.MustCompile(`^(?s:(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?://([^\\/?#]*))?)`)
	urllib3HostPort = regexp.MustCompile(`^(?s:((?:[^\[\]%:/?#]|%[a-fA-F0-9]{2})*|\[[0-9a-fA-F:.]+\])(?::0*([0-9]{0,5}))?\n?)$`)
	urllib3Name     = regexp.MustCompile(`^(?s:[^\[\]%:/?#]|%[a-fA-F0-9]{2})*$`)
)

func readRequestsProxy(v variable) requestsProxy {
	proxy := requestsProxy{variable: v.name, failure: brokenProxy}
	if v.name == "" {
		return proxy
	}
	url := v.value
	if !urllib3Scheme.MatchString(url) {
		url = "//" + url
	}
	parts := urllib3URI.FindStringSubmatch(url)
	proxy.scheme = strings.ToLower(parts[1])
	switch proxy.scheme {
	case "":
		proxy.scheme = "http"
	case "http", "https":
	default:
		if proxy.failure = unknownScheme; strings.HasPrefix(proxy.scheme, "socks") {
			proxy.failure = needsAddOn
		}
		return proxy
	}
	at := strings.LastIndexByte(parts[2], '@')
	if !bracketsFit(parts[2], at) {
		return proxy
	}
	if at > 0 && !proxy.setAuth(parts[2][:at]) || !proxy.setAddress(parts[2][at+1:]) {
		return proxy
	}
	proxy.failure = ""
	return proxy
}

// bracketsFit is the check of brackets in urlsplit of the standard library: only
// around a host (gh-103848, also in the security updates of older releases).
func bracketsFit(authority string, at int) bool {
	return strings.Contains(authority, "[") == strings.Contains(authority, "]") &&
		!strings.ContainsAny(authority[:max(at, 0)], "[]")
}

func (p *requestsProxy) setAddress(hostPort string) bool {
	parts := urllib3HostPort.FindStringSubmatch(hostPort)
	if parts == nil {
		return false
	}
	host, ok := urllib3NormalizeHost(parts[1])
	if address, bracketed := strings.CutPrefix(host, "["); bracketed {
		host = strings.TrimSuffix(address, "]")
		ok = isIPv6Text(host)
	}
	port, _ := strconv.Atoi(parts[2])
	if port == 0 {
		port = map[string]int{"http": 80, "https": 443}[p.scheme]
	}
	p.hop.Address = joinHostPort(host, strconv.Itoa(port))
	return ok && port <= 65535 && resolvable(host)
}

// setAuth reads credentials: sent if there is a user and a colon, in Latin-1.
func (p *requestsProxy) setAuth(userinfo string) bool {
	user, password, colon := strings.Cut(urllib3Encode(userinfo), ":")
	if user == "" || !colon {
		return true
	}
	auth, ok := latin1Bytes(pythonUnquote(user) + ":" + pythonUnquote(password))
	p.hop.Auth = Sends(auth)
	return ok
}

// urllib3Encode is _encode_invalid_chars: a percent sign stays one only if all
// of them start an encoded byte.
func urllib3Encode(text string) string {
	encoded := 0
	for i := range len(text) {
		if _, ok := hexByte(text, i); ok {
			encoded++
		}
	}
	if encoded == strings.Count(text, "%") {
		return text
	}
	return strings.ReplaceAll(text, "%", "%25")
}

// urllib3NormalizeHost is _normalize_host for a name or an IPv4 address.
func urllib3NormalizeHost(host string) (string, bool) {
	if isASCII(host) {
		return strings.ToLower(host), true
	}
	labels := strings.Split(host, ".")
	for i, label := range labels {
		if isASCII(label) {
			labels[i] = strings.ToLower(label)
			continue
		}
		encoded, ok := idna2008(strings.ToLower(label))
		if !ok {
			return "", false
		}
		labels[i] = encoded
	}
	return strings.Join(labels, "."), true
}

func (p requestsProxy) decide(scheme string) Decision {
	if p.failure != "" {
		return fails(p.variable, p.failure)
	}
	return proxied(p.variable, p.hop.through(p.scheme, scheme))
}
