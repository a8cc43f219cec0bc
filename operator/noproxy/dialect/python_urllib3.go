package dialect

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// From urllib3/urllib3 util/url.py; a $ of Python also matches before a newline
// at the end.
var (
	urllib3Scheme   = regexp.MustCompile(`^(?:[a-zA-Z][a-zA-Z0-9+-]*:|/)`)
	urllib3URI      = regexp.MustCompile(`^(?s:(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?://([^\\/?#]*))?)`)
	urllib3HostPort = regexp.MustCompile(`^(?s:((?:[^\[\]%:/?#]|%[a-fA-F0-9]{2})*|\[[0-9a-fA-F:.]+\])(?::0*([0-9]{0,5}))?\n?)$`)
	urllib3Name     = regexp.MustCompile(`^(?s:[^\[\]%:/?#]|%[a-fA-F0-9]{2})*$`)
)

// readRequestsProxy reads a proxy variable as requests and urllib3 do: parse_url,
// ProxyManager, get_auth_from_url.
func readRequestsProxy(value, target string) proxy {
	if !urllib3Scheme.MatchString(value) {
		value = "//" + value
	}
	parts := urllib3URI.FindStringSubmatch(value)
	scheme := cmp.Or(strings.ToLower(parts[1]), "http")
	switch {
	case strings.HasPrefix(scheme, "socks"):
		return proxy{failure: needsAddOn}
	case webPorts[scheme] == "":
		return proxy{failure: unknownScheme}
	}
	userinfo, hostPort, _ := cutLastAt(parts[2])
	address, ok := urllib3Address(hostPort, scheme)
	auth, sendable := urllib3Auth(userinfo)
	if !ok || !sendable || !bracketsFit(parts[2], len(userinfo)) {
		return proxy{failure: brokenProxy}
	}
	return proxy{hop: Hop{Address: address, Auth: auth}.through(scheme, target)}
}

// bracketsFit is the check of brackets in urlsplit of the standard library: only
// around a host (gh-103848, also in the security updates of older releases).
func bracketsFit(authority string, at int) bool {
	return strings.Contains(authority, "[") == strings.Contains(authority, "]") &&
		!strings.ContainsAny(authority[:max(at, 0)], "[]")
}

func urllib3Address(hostPort, scheme string) (string, bool) {
	parts := urllib3HostPort.FindStringSubmatch(hostPort)
	if parts == nil {
		return "", false
	}
	host, ok := urllib3NormalizeHost(parts[1])
	if address, bracketed := strings.CutPrefix(host, "["); bracketed {
		host = strings.TrimSuffix(address, "]")
		ok = isIPv6Text(host)
	}
	port := cmp.Or(parts[2], webPorts[scheme])
	return joinHostPort(host, port), ok && isPort(port) && resolvable(host)
}

// urllib3Auth reads credentials: sent if there is a user and a colon, in Latin-1.
func urllib3Auth(userinfo string) (Auth, bool) {
	user, password, colon := strings.Cut(urllib3Encode(userinfo), ":")
	if user == "" || !colon {
		return Auth{}, true
	}
	auth, ok := latin1Bytes(pythonUnquote(user) + ":" + pythonUnquote(password))
	return Sends(auth), ok
}

// urllib3Encode is _encode_invalid_chars: a percent sign stays one only if all
// of them start an encoded byte.
func urllib3Encode(text string) string {
	encoded := 0
	for i := range len(text) {
		if _, ok := percent.Byte(text, i); ok {
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
