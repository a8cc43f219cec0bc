package dialect

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// noPort is the port of a URL without one. (A port of Python may be negative.)
const noPort = -1 << 31

var defaultPorts = map[string]string{"ftp": "21", "http": "80", "https": "443", "ws": "80", "wss": "443"}

// httpxURL is what matters of a URL.
type httpxURL struct {
	scheme   string
	userinfo string
	host     string // without brackets; names that start with "xn--" decoded
	address  string // the host as it is connected to
	port     int
}

// From encode/httpx httpx/_urlparse.py; the second reads an authority before
// 0.26.0, in which user information ends at the first "@".
var (
	httpxSplit       = regexp.MustCompile(`^(?:((?:[a-zA-Z][a-zA-Z0-9+.-]*)?):)?(?://([^/?#]*))?`)
	httpxAuthority   = regexp.MustCompile(`^(?:(.*)@)?(\[.*\]|[^:@]*):?(.*)`)
	httpxFirstAt     = regexp.MustCompile(`^(?:([^@]*)@)?(\[.*\]|[^:]*):?(.*)`)
	dottedNumbers    = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$`)
	anyDottedNumbers = regexp.MustCompile(`^[0-9]+.[0-9]+.[0-9]+.[0-9]+$`)
)

func (r httpxRules) parse(url string) (httpxURL, bool) {
	if r.rfc3986 {
		return parseRFC3986(url)
	}
	if hasControl(url) || strings.Contains(url, "\x7f") {
		return httpxURL{}, false
	}
	split := httpxSplit.FindStringSubmatch(url)
	authority := httpxAuthority.FindStringSubmatch(split[2])
	if r.firstAt {
		authority = httpxFirstAt.FindStringSubmatch(split[2])
	}
	u := httpxURL{scheme: strings.ToLower(split[1]), userinfo: authority[1], port: noPort}
	if r.firstAt {
		u.userinfo = urllib3Encode(u.userinfo)
	}
	if authority[3] != "" {
		number, ok := pythonInt(authority[3])
		if !ok {
			return u, false
		}
		u.port = defaultedPort(strconv.Itoa(number), split[1])
	}
	var ok bool
	if u.address, ok = r.encodeHost(authority[2]); !ok {
		return u, false
	}
	u.host, ok = httpxHost(u.address)
	return u, ok
}

// encodeHost is encode_host. Before 0.26.0 its pattern of an IPv4 address took
// any character for a dot, and so long numbers for wrong addresses.
func (r httpxRules) encodeHost(host string) (string, bool) {
	switch {
	case dottedNumbers.MatchString(host), r.firstAt && anyDottedNumbers.MatchString(host):
		return host, isIPv4Text(host)
	case strings.HasPrefix(host, "[") && strings.HasSuffix(host, "]"):
		host = host[1 : len(host)-1]
		return host, isIPv6Text(host)
	case isASCII(host):
		return httpxQuote(strings.ToLower(host)), true
	}
	return idna2008Name(strings.ToLower(host))
}

// httpxQuote encodes what may not stand in a host, but leaves "%xx" alone.
func httpxQuote(host string) string {
	return percent.Encode(host, func(c byte) bool { return !percent.Unreserved(c) && strings.IndexByte("!$&'()*+,;=\"`{}%|\\", c) < 0 })
}

var httpxDecode = idna.New(idna.ValidateLabels(true))

// httpxHost is URL.host: only a name that starts with an A-label is decoded.
func httpxHost(host string) (string, bool) {
	if !strings.HasPrefix(host, "xn--") {
		return host, true
	}
	decoded, err := httpxDecode.ToUnicode(host)
	return decoded, err == nil && !strings.Contains(host+".", "xn--.")
}

// host returns the host of a URL that is asked for.
func (h *httpx) host(t Target) (string, bool) {
	if addr, err := netip.ParseAddr(t.Host); err == nil && addr.Is6() {
		return strings.ToLower(t.Host), true
	}
	if h.rules.rfc3986 {
		u, ok := parseRFC3986(t.Scheme + "://" + t.Host)
		return u.host, ok && u.host != ""
	}
	encoded, ok := h.rules.encodeHost(t.Host)
	if !ok || encoded == "" {
		return "", false
	}
	return httpxHost(encoded)
}

// readProxy is what Proxy and HTTPTransport make of a proxy variable.
func (r httpxRules) readProxy(v variable) proxy {
	p := proxy{variable: v}
	url := v.value
	if !strings.Contains(url, "://") {
		url = "http://" + url
	}
	u, ok := r.parse(url)
	switch {
	case !ok:
		p.fatal = brokenProxy
	case u.scheme == "socks5" || u.scheme == "socks5h":
		p.fatal = needsAddOn
	case webPorts[u.scheme] == "":
		p.fatal = unknownScheme
	}
	port := webPorts[u.scheme]
	if u.port != noPort && u.port != 0 {
		port = strconv.Itoa(u.port)
	}
	if !isPort(port) || !resolvable(u.address) {
		p.failure = brokenProxy
	}
	p.hop = Hop{Address: joinHostPort(u.address, port)}.through(u.scheme, "https")
	if user, password, _ := strings.Cut(u.userinfo, ":"); p.hop.Protocol == Connect && (user != "" || password != "") {
		p.hop.Auth = Sends(pythonUnquote(user) + ":" + pythonUnquote(password))
	}
	return p
}
