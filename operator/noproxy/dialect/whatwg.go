package dialect

import (
	"net/netip"
	"strings"

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

// parseWHATWG is the basic URL parser without a base URL.
func parseWHATWG(text string) (whatwgURL, bool) {
	text = strings.TrimFunc(text, func(r rune) bool { return r <= ' ' })
	if strings.ContainsAny(text, "\t\n\r") {
		text = strings.NewReplacer("\t", "", "\n", "", "\r", "").Replace(text)
	}
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
