package dialect

import (
	"regexp"
	"strconv"
	"strings"
)

// From python-hyper/rfc3986 1.5.0: abnf_regexp.py, iri.py, normalizers.py. A $ of
// Python also matches before a newline at the end.
var (
	rfc3986Split     = regexp.MustCompile(`^(?s:(?:([a-zA-Z][a-zA-Z0-9+.-]*):)?(?://([^\\/?#]*))?)`)
	rfc3986Authority = regexp.MustCompile(`^(?:((?:[A-Za-z0-9._~\-\x{a0}-\x{d7ff}\x{f900}-\x{fdcf}\x{fdf0}-\x{ffef}\x{10000}-\x{efffd}!$&'()*+,;=:]|%[A-Fa-f0-9]{2})+)@)?` +
		`((?:%[0-9A-Fa-f]{2}|[!$&'()*+,;=A-Za-z0-9._~\-\x{a0}-\x{d7ff}\x{f900}-\x{fdcf}\x{fdf0}-\x{ffef}\x{10000}-\x{efffd}])*|\[[0-9A-Fa-f:.]+\])` +
		`:?([0-9]{1,5})?\n?$`)
)

// parseRFC3986 is httpx.URL up to 0.23. An authority that cannot be read counts
// as none; a name that is not valid IDNA is an error.
func parseRFC3986(url string) (httpxURL, bool) {
	split := rfc3986Split.FindStringSubmatch(url)
	u := httpxURL{scheme: strings.ToLower(split[1]), port: noPort}
	parts := rfc3986Authority.FindStringSubmatch(split[2])
	if parts == nil || dottedNumbers.MatchString(parts[2]) && !quads.MatchString(parts[2]) {
		return u, true
	}
	u.userinfo = parts[1]
	u.port = writtenPort(parts[3], u.scheme)
	if bracketed, found := strings.CutPrefix(parts[2], "["); found {
		u.address = strings.ToLower(strings.TrimSuffix(bracketed, "]"))
		u.host = u.address
		if !isIPv6Text(u.host) {
			u.host, u.address = "", ""
		}
		return u, true
	}
	var ok bool
	if u.address, ok = urllib3NormalizeHost(parts[2]); !ok {
		return u, false
	}
	u.host, ok = httpxHost(u.address)
	return u, ok
}

// writtenPort returns a port as a number, or noPort if it is written as the
// default one is: 080 is not.
func writtenPort(port, scheme string) int {
	number, err := strconv.Atoi(port)
	if err != nil || port == defaultPorts[scheme] {
		return noPort
	}
	return number
}

// quads are four numbers up to 255, leading zeros allowed.
var quads = regexp.MustCompile(`^(?:0*(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})\.){3}0*(?:25[0-5]|2[0-4][0-9]|1?[0-9]{1,2})$`)
