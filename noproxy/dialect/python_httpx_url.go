package dialect

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// noPort is the port of a URL without one. (A port of Python may be negative.)
const noPort = -1 << 31

var defaultPorts = map[string]string{"ftp": "21", "http": "80", "https": "443", "ws": "80", "wss": "443"}

// httpxURL is a URL with its host as it is connected to, and what matters beside.
type httpxURL struct {
	urlParts
	name   string // the host without brackets; names that start with "xn--" decoded
	number int    // of the port, or noPort
}

// From encode/httpx httpx/_urlparse.py, for 0.26.0 and before; and from
// python-hyper/rfc3986 1.5.0: abnf_regexp.py, iri.py, normalizers.py, where an
// authority that cannot be read counts as none. A $ of Python also matches before
// a newline at the end.
var (
	cutHTTPXURL     = grammar(httpxScheme + `(?://(?:[^/?#]*@)?(?P<host>\[[^/?#]*\]|[^:@/?#]*):?(?P<port>[^/?#]*))?`)
	cutHTTPXFirstAt = grammar(httpxScheme + `(?://(?:[^@/?#]*@)?(?P<host>\[[^/?#]*\]|[^:/?#]*):?(?P<port>[^/?#]*))?`)
	cutRFC3986      = grammar(`^(?:(?P<scheme>[a-zA-Z][a-zA-Z0-9+.-]*):)?(?://(?:(?:[:` + rfc3986Characters + `]|%[A-Fa-f0-9]{2})+@)?` +
		`(?P<host>(?:[` + rfc3986Characters + `]|%[0-9A-Fa-f]{2})*|\[[0-9A-Fa-f:.]+\]):?(?P<port>[0-9]{1,5})?\n?(?:[\\/?#]|$))?`)
	dottedNumbers    = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+$`)
	anyDottedNumbers = regexp.MustCompile(`^[0-9]+.[0-9]+.[0-9]+.[0-9]+$`)
)

const (
	httpxScheme       = `^(?:(?P<scheme>(?:[a-zA-Z][a-zA-Z0-9+.-]*)?):)?`
	rfc3986Characters = `A-Za-z0-9._~\-\x{a0}-\x{d7ff}\x{f900}-\x{fdcf}\x{fdf0}-\x{ffef}\x{10000}-\x{efffd}!$&'()*+,;=`
)

func (r httpxRules) parse(url string) (u httpxURL, ok bool) {
	u.number = noPort
	switch {
	case r.rfc3986:
		return parseRFC3986(url)
	case hasControl(url) || strings.Contains(url, "\x7f"):
		return u, false
	case r.firstAt:
		u.urlParts, _ = cutHTTPXFirstAt(url)
	default:
		u.urlParts, _ = cutHTTPXURL(url)
	}
	if u.port != "" {
		number, ok := pythonInt(u.port)
		if !ok {
			return u, false
		}
		u.number = defaultedPort(strconv.Itoa(number), url[:len(u.scheme)])
	}
	if u.host, ok = r.encodeHost(u.host); !ok {
		return u, false
	}
	u.name, ok = httpxHost(u.host)
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
		return u.name, ok && u.name != ""
	}
	encoded, ok := h.rules.encodeHost(t.Host)
	if !ok || encoded == "" {
		return "", false
	}
	return httpxHost(encoded)
}

// httpxProxyURL says how Proxy and HTTPTransport read a proxy variable.
var httpxProxyURL = proxyTraits{
	refuses: func(u *proxyURL, _ string) (p proxy) {
		switch {
		case u.scheme == "socks5" || u.scheme == "socks5h":
			p.fatal = needsAddOn
		case u.scheme != "" && webPorts[u.scheme] == "":
			p.fatal = unknownScheme
		}
		return p
	},
	ports: webPorts, schemes: bareOrWeb,
	sends: withUser,
}

// parseRFC3986 is httpx.URL up to 0.23. An authority that cannot be read counts
// as none; a name that is not valid IDNA is an error.
func parseRFC3986(url string) (u httpxURL, ok bool) {
	u.urlParts, _ = cutRFC3986(url)
	u.number = writtenPort(u.port, u.scheme)
	if dottedNumbers.MatchString(u.host) && !quads.MatchString(u.host) {
		return httpxURL{urlParts: urlParts{scheme: u.scheme}, number: noPort}, true
	}
	if bracketed, ok := strings.CutPrefix(u.host, "["); ok {
		if u.host = strings.ToLower(strings.TrimSuffix(bracketed, "]")); !isIPv6Text(u.host) {
			u.host = ""
		}
		u.name = u.host
		return u, true
	}
	if u.host, ok = urllib3NormalizeHost(u.host); !ok {
		return u, false
	}
	u.name, ok = httpxHost(u.host)
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

// The package idna of Python (kjd/idna) does IDNA 2008 without mapping: upper
// case, symbols and emoji are errors. The nearest of Go is the profile for
// registration, which lets symbols pass.
var idnaStrict = idna.New(idna.ValidateForRegistration())

// idna2008 encodes one label.
func idna2008(label string) (string, bool) {
	for _, r := range label {
		if r >= utf8.RuneSelf && !unicode.In(r, letterDigits...) && !strings.ContainsRune(contextual, r) {
			return "", false
		}
	}
	encoded, err := idnaStrict.ToASCII(label)
	return encoded, err == nil && !strings.ContainsRune(label, '.')
}

// letterDigits are the categories of RFC 5892, 2.1 without upper case, which is
// not stable under folding; contextual are the exceptions of 2.6 beside them.
var letterDigits = []*unicode.RangeTable{unicode.Ll, unicode.Lo, unicode.Lm, unicode.Mn, unicode.Mc, unicode.Nd}

const contextual = "\u00b7\u0375\u05f3\u05f4\u06fd\u06fe\u0f0b\u3007\u30fb\u200c\u200d"

// idna2008Name encodes a name with characters that are not ASCII: then every
// label must be valid, and the dots of other scripts are dots.
func idna2008Name(name string) (string, bool) {
	labels := strings.Split(strings.NewReplacer("。", ".", "．", ".", "｡", ".").Replace(name), ".")
	for i, label := range labels {
		if label == "" && i == len(labels)-1 && i > 0 {
			break
		}
		encoded, ok := idna2008(label)
		if !ok || encoded == "" {
			return "", false
		}
		labels[i] = encoded
	}
	return strings.Join(labels, "."), true
}
