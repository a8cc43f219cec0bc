package dialect

import (
	"cmp"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// rustURI is http::Uri of the crate http, as far as it matters here.
type rustURI struct {
	scheme    string // as written, unless it is http or https; may be missing
	authority string
}

// readHop is parse_env_uri. It splits the authority at the first "@", and the
// user at the first colon: a raw "@" in a password stays in the address of the
// proxy.
func (r rustRules) readHop(value string) (Hop, bool) {
	u, ok := parseRustURI(value)
	if !ok || u.authority == "" {
		return Hop{}, false
	}
	if u.scheme == "" && !strings.HasPrefix(value, "://") {
		u.scheme = "http"
	}
	protocol, known := rustProtocols[u.scheme]
	if !known || protocol == Socks4 && !r.socks4 {
		return Hop{}, false
	}
	userinfo, rest, found := cutFirstAt(u.authority)
	user, password, hasPassword := strings.Cut(userinfo, ":")
	u.authority = rest
	if end, ok := rustAuthority(u.authority); found && (!r.userOnly && !hasPassword || !ok || end != len(u.authority)) {
		return Hop{}, false
	}
	user, password = strings.ToValidUTF8(percent.Decode(user), "\ufffd"), strings.ToValidUTF8(percent.Decode(password), "\ufffd")
	hop := Hop{Address: u.address(), Protocol: protocol, result: rustResult(u, protocol, found, user, password)}
	if found && protocol == Connect { // with the others it is inside the handshake
		hop.Auth = Sends(user + ":" + password)
	}
	return hop, true
}

var rustProtocols = map[string]Protocol{
	"http": Connect, "https": TLS, "socks4": Socks4, "socks4a": Socks4, "socks5": Socks5Local, "socks5h": Socks5Name,
}

// address is the host, what follows the last "@", and the port.
func (u rustURI) address() string {
	hostPort := u.authority[strings.LastIndexByte(u.authority, '@')+1:]
	host, _, _ := strings.Cut(hostPort, ":")
	if end := strings.IndexByte(hostPort, ']'); hostPort[0] == '[' && end > 0 {
		host = hostPort[:end+1]
	}
	port := hostPort[strings.LastIndexByte(hostPort, ':')+1:]
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		port = cmp.Or(webPorts[u.scheme], "1080")
	}
	return host + ":" + port
}

// parseRustURI is Uri::from_str.
func parseRustURI(text string) (rustURI, bool) {
	if text == "" || len(text) > 65534 {
		return rustURI{}, false
	}
	if text[0] == '/' || text == "*" {
		return rustURI{}, rustPath(text)
	}
	u := rustURI{}
	rest := text
	if at := strings.Index(text, "://"); at >= 0 && len(text) > 3 && isRustScheme(text[:at]) {
		if at > 64 {
			return u, false
		}
		u.scheme, rest = text[:at], text[at+3:]
		if strings.EqualFold(u.scheme, "http") || strings.EqualFold(u.scheme, "https") {
			u.scheme = strings.ToLower(u.scheme)
		}
	}
	end, ok := rustAuthority(rest)
	if !ok || len(rest) == len(text) && end != len(rest) || end == 0 {
		return u, false
	}
	u.authority = rest[:end]
	return u, end == len(rest) || rustPath(rest[end:])
}

func isRustScheme(text string) bool {
	return strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-.~") == ""
}

// rustAuthority returns where the authority ends. It counts colons since the
// last "@" or bracket, and looks at nothing else; a port may be anything.
func rustAuthority(text string) (end int, ok bool) {
	colons, opened, closed, percent := 0, false, false, false
	authority, _ := cutAuthority(text)
	end = len(authority)
	for _, c := range []byte(authority) {
		switch {
		case c == '%':
			percent = true
		case c == ':':
			if colons++; colons > 8 {
				return 0, false
			}
		case c == '[' && (percent || opened), c == ']' && (!opened || closed):
			return 0, false
		case c == '[':
			opened = true
		case c == ']', c == '@':
			closed = closed || c == ']'
			colons, percent = 0, false
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			return 0, false
		}
	}
	valid := text != "" && opened == closed && colons <= 1 && !percent && !strings.HasSuffix(authority, "@")
	return end, valid
}

// rustPath tells whether a path with a query and a fragment is accepted.
func rustPath(text string) bool {
	text, _, _ = strings.Cut(text, "#")
	path, query, _ := strings.Cut(text, "?")
	return !strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("<>`", r) }) &&
		!strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("\"<>", r) })
}
