package dialect

import (
	"net/netip"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// whatwgURL is a URL as JavaScript's URL class reads it (the URL Standard of
// the WHATWG). Only what clients look at is kept.
type whatwgURL struct {
	scheme   string // lower-case, without the colon
	username string // percent-encoded, as is the password
	password string
	host     string // normalized; an IPv6 address is in brackets
	port     string // empty: none, or the default one of the scheme
	bare     bool   // neither a path other than "/", nor a query, nor a fragment
}

// whatwgPorts are the default ports of the special schemes.
var whatwgPorts = map[string]string{"http": "80", "https": "443", "ws": "80", "wss": "443", "ftp": "21"}

// oneLine takes out what a URL may be broken by.
var oneLine = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// parseWHATWG is the basic URL parser without a base URL.
func parseWHATWG(text string) (whatwgURL, bool) {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	text = oneLine.Replace(text)
	scheme, rest, found := strings.Cut(text, ":")
	if !found || !isScheme(scheme) {
		return whatwgURL{}, false
	}
	u := whatwgURL{scheme: strings.ToLower(scheme)}
	defaultPort, special := whatwgPorts[u.scheme]
	ends := "/?#"
	switch {
	case special: // any number of slashes, none included
		rest = strings.TrimLeft(rest, `/\`)
		ends = `/\?#`
	case !strings.HasPrefix(rest, "//"):
		return u, true // without a host
	default:
		rest = rest[2:]
	}
	authority := rest
	if end := strings.IndexAny(rest, ends); end >= 0 {
		authority = rest[:end]
	}
	if !u.parseAuthority(authority, special) {
		return whatwgURL{}, false
	}
	if u.port == defaultPort {
		u.port = ""
	}
	u.bare = isRootPath(rest[len(authority):], special)
	return u, true
}

func (u *whatwgURL) parseAuthority(authority string, special bool) bool {
	userinfo, authority, found := cutLastAt(authority)
	if found && authority == "" {
		return false
	}
	username, password, _ := strings.Cut(userinfo, ":")
	u.username, u.password = encodeUserinfo(username), encodeUserinfo(password)
	bracket := strings.LastIndexByte(authority, ']') + 1
	host, port, hasPort := strings.Cut(authority[bracket:], ":")
	host = authority[:bracket] + host
	if host == "" {
		return !special && !hasPort && u.username == "" && u.password == ""
	}
	var ok bool
	if u.host, ok = whatwgHost(host, special); !ok {
		return false
	}
	u.port, ok = whatwgPort(port)
	return ok
}

// whatwgPort takes leading zeros off.
func whatwgPort(port string) (string, bool) {
	return trimZeros(port), port == "" || isDigits(port) && portNumber(port) <= 65535
}

// whatwgHost is the host parser. Hosts of schemes that are not special, such
// as socks5, are opaque: only an IPv6 address is looked into.
func whatwgHost(host string, special bool) (string, bool) {
	if strings.HasPrefix(host, "[") {
		return whatwgIPv6(host)
	}
	if !special {
		return host, !strings.ContainsAny(host, "\x00\t\n\r #/:<>?@[\\]^|")
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

// isRootPath tells whether what follows the authority comes down to "/": dot
// segments take each other away, and an empty query or fragment is none.
func isRootPath(rest string, special bool) bool {
	rest, fragment, _ := strings.Cut(rest, "#")
	path, query, _ := strings.Cut(rest, "?")
	if fragment != "" || query != "" {
		return false
	}
	if special {
		path = strings.ReplaceAll(path, `\`, "/")
	}
	if path == "" {
		return special
	}
	var kept []string
	segments := strings.Split(path[1:], "/")
	for i, segment := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(segment), "%2e", ".") {
		case "..":
			kept = kept[:max(0, len(kept)-1)]
		case ".":
		default:
			kept = append(kept, segment)
			continue
		}
		if last {
			kept = append(kept, "")
		}
	}
	return len(kept) == 1 && kept[0] == ""
}

// encodeUserinfo encodes the characters of the userinfo percent-encode set.
func encodeUserinfo(text string) string {
	return percent.Encode(text, func(c byte) bool { return c < ' ' || c > '~' || strings.IndexByte(" \"#<>?^`{}/:;=@[\\]|", c) >= 0 })
}

// decodeURIComponent is the function of JavaScript, which throws on a percent
// sign that no two digits follow, and on bytes that are not UTF-8.
func decodeURIComponent(text string) (string, bool) {
	decoded := percent.Decode(text)
	return decoded, percent.Valid(text) && utf8.ValidString(decoded)
}

// isJSSpace is \s of JavaScript's regular expressions, and what trim removes.
func isJSSpace(r rune) bool {
	switch {
	case '\t' <= r && r <= '\r', r == ' ', r == 0xa0, r == 0x1680, 0x2000 <= r && r <= 0x200a:
		return true
	}
	return r == 0x2028 || r == 0x2029 || r == 0x202f || r == 0x205f || r == 0x3000 || r == 0xfeff
}

// jsElements cuts a list where isSeparator says so, and drops what is empty.
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
