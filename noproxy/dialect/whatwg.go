package dialect

import (
	"cmp"
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// JavaScript's URL class, which is the URL Standard of the WHATWG.

// whatwgTarget is the host of a URL, normalized, an IPv6 address in brackets. Any
// number of slashes follow the scheme.
func whatwgTarget(t Target) (host, string) {
	_, rest, _ := strings.Cut(t.URL, "://")
	authority := strings.TrimLeft(rest, `/\`)
	if end := strings.IndexAny(authority, `/\?#`); end >= 0 {
		authority = authority[:end]
	}
	bracket := strings.LastIndexByte(authority, ']') + 1
	name, digits, _ := strings.Cut(authority[bracket:], ":")
	name, ok := whatwgHost(authority[:bracket] + name)
	port := trimZeros(digits)
	if !ok || port != "" && (!isDigits(port) || portNumber(port) > 65535) {
		return host{}, invalidURL
	}
	return host{name: name, port: cmp.Or(port, webPorts[t.Scheme])}, ""
}

// invalidURL is why a client fails that parses URLs more strictly than others.
const invalidURL = "the client does not accept the URL"

// whatwgHost is the host parser.
func whatwgHost(host string) (string, bool) {
	if strings.HasPrefix(host, "[") {
		return whatwgIPv6(host)
	}
	if strings.Contains(host, "%") {
		host = percent.Decode(host)
	}
	ascii, ok := whatwgDomain(host)
	if !ok || ascii == "" || strings.ContainsFunc(ascii, forbiddenInDomain) {
		return "", false
	}
	if endsInNumber(ascii) {
		return whatwgIPv4(ascii)
	}
	return ascii, true
}

// whatwgProfile is domain to ASCII with beStrict false.
var whatwgProfile = idna.New(idna.MapForLookup(), idna.Transitional(false), idna.StrictDomainName(false),
	idna.CheckHyphens(false), idna.CheckJoiners(true), idna.BidiRule(), idna.VerifyDNSLength(false))

// whatwgDomain returns a domain in lower case and in ASCII. Plain ASCII is only
// put in lower case, unless a label claims to be encoded.
func whatwgDomain(host string) (string, bool) {
	if isASCII(host) {
		host = strings.ToLower(host)
		if !strings.Contains(host, "xn--") {
			return host, true
		}
	}
	ascii, err := whatwgProfile.ToASCII(host)
	return ascii, err == nil
}

func forbiddenInDomain(r rune) bool {
	return r <= ' ' || r == 0x7f || strings.ContainsRune(`#/:<>?@[\]^|%`, r)
}

// whatwgIPv6 compresses an address in brackets. A zone is not allowed, and an
// IPv4 address inside is written in hexadecimal.
func whatwgIPv6(host string) (string, bool) {
	inner, closed := strings.CutSuffix(host[1:], "]")
	addr, err := netip.ParseAddr(inner)
	if !closed || err != nil || !addr.Is6() || addr.Zone() != "" {
		return "", false
	}
	return "[" + hexadecimal(addr) + "]", true
}

// endsInNumber tells whether a host has to be an IPv4 address.
func endsInNumber(host string) bool {
	host = strings.TrimSuffix(host, ".")
	last := host[strings.LastIndexByte(host, '.')+1:]
	if last == "" {
		return false
	}
	if strings.Trim(last, "0123456789") == "" {
		return true
	}
	_, ok := jsNumber(last)
	return ok
}

// whatwgIPv4 reads the forms of inet_aton: fewer parts, octal, hexadecimal.
func whatwgIPv4(host string) (string, bool) {
	addr, ok := numericIPv4(strings.TrimSuffix(host, "."), jsNumber)
	return addr.String(), ok
}

// isScheme tells whether the text before the first colon can be a scheme.
func isScheme(text string) bool {
	for i, c := range []byte(text) {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && (i == 0 || (c < '0' || c > '9') && c != '+' && c != '-' && c != '.') {
			return false
		}
	}
	return text != ""
}

// asSerialized is a user or a password as the URL class gives it back.
func asSerialized(text string) (string, bool) {
	return percent.Encode(text, func(c byte) bool { return strings.IndexByte(":;=", c) >= 0 }), true
}

// isJSSpace is \s of JavaScript's regular expressions, and what trim removes.
func isJSSpace(r rune) bool {
	switch {
	case '\t' <= r && r <= '\r', r == ' ', r == 0xa0, r == 0x1680, 0x2000 <= r && r <= 0x200a:
		return true
	}
	return r == 0x2028 || r == 0x2029 || r == 0x202f || r == 0x205f || r == 0x3000 || r == 0xfeff
}

// jsElements cuts a list where isSeparator says so, and drops empty elements.
func jsElements(list string, isSeparator func(rune) bool) []Span {
	var spans []Span
	start := 0
	for i, r := range list {
		if !isSeparator(r) {
			continue
		}
		if i > start {
			spans = append(spans, Span{start, i})
		}
		start = i + utf8.RuneLen(r)
	}
	if start < len(list) {
		spans = append(spans, Span{start, len(list)})
	}
	return spans
}

// cutJS cuts at commas and at white space of any kind.
func cutJS(list string) []Span {
	return jsElements(list, func(r rune) bool { return r == ',' || isJSSpace(r) })
}

// splitPort cuts ":digits" off, as /^(.+):(\d+)$/ does.
func splitPort(entry string) (host, port string) {
	colon := strings.LastIndexByte(entry, ':')
	if colon <= 0 || !isDigits(entry[colon+1:]) {
		return entry, ""
	}
	return entry[:colon], jsPort(entry[colon+1:])
}

// jsPort is a number as it is compared. Zero means none, as it does in JavaScript.
func jsPort(digits string) string {
	return strings.TrimLeft(digits, "0")
}
