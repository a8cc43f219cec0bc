package dialect

import (
	"strconv"
	"strings"
	"unicode"
)

// rustProxy is what parse_env_uri makes of a proxy variable.
type rustProxy struct {
	variable
	usable bool
	hop    Hop
}

// rustURI is http::Uri of the crate http, as far as it matters here.
type rustURI struct {
	scheme    string // as written, unless it is http or https; may be missing
	authority string
}

// readProxy splits the authority at the first "@", and the user at the first
// colon: a raw "@" in a password stays in the address of the proxy.
func (r rustRules) readProxy(v variable) rustProxy {
	proxy := rustProxy{variable: v}
	u, ok := parseRustURI(v.value)
	if !ok || u.authority == "" {
		return proxy
	}
	if u.scheme == "" && !strings.HasPrefix(v.value, "://") {
		u.scheme = "http"
	}
	protocol, known := rustProtocols[u.scheme]
	if !known || protocol == Socks4 && !r.socks4 {
		return proxy
	}
	userinfo, rest, found := strings.Cut(u.authority, "@")
	user, password, hasPassword := strings.Cut(userinfo, ":")
	if found {
		u.authority = rest
	}
	if end, ok := rustAuthority(u.authority); found && (!r.userOnly && !hasPassword || !ok || end != len(u.authority)) {
		return proxy
	}
	proxy.usable = true
	proxy.hop = Hop{Address: u.address(), Protocol: protocol}
	basic, raw := "None", "None"
	user, password = strings.ToValidUTF8(percentDecode(user), "\ufffd"), strings.ToValidUTF8(percentDecode(password), "\ufffd")
	httpish := protocol == Connect || protocol == TLS
	switch {
	case found && httpish:
		basic = "Some(" + rustHeader("Basic "+user+":"+password) + ")"
	case found:
		raw = "Some((" + rustDebug(user) + ", " + rustDebug(password) + "))"
	}
	if found && protocol == Connect { // with the others it is inside the handshake
		proxy.hop.Auth = Sends(user + ":" + password)
	}
	proxy.hop.result = Sends("proxy " + u.scheme + "://" + u.authority + "/ auth=" + basic + " raw=" + raw)
	return proxy
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
		port = map[string]string{"http": "80", "https": "443"}[u.scheme]
	}
	if port == "" {
		port = "1080"
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
	end = len(text)
	if at := strings.IndexAny(text, "/?#"); at >= 0 {
		end = at
	}
	for _, c := range []byte(text[:end]) {
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
	valid := text != "" && opened == closed && colons <= 1 && !percent && !strings.HasSuffix(text[:end], "@")
	return end, valid
}

// rustPath tells whether a path with a query and a fragment is accepted.
func rustPath(text string) bool {
	text, _, _ = strings.Cut(text, "#")
	path, query, _ := strings.Cut(text, "?")
	return !strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("<>`", r) }) &&
		!strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r == 0x7f || strings.ContainsRune("\"<>", r) })
}

// rustHeader is a header value in the words of the measurement, which decodes
// it: a question mark where it is not plain ASCII.
func rustHeader(value string) string {
	if strings.ContainsFunc(value, func(r rune) bool { return r != '\t' && (r < ' ' || r > '~') }) {
		return `"?"`
	}
	return rustDebug(value)
}

// rustDebug is {:?} of a string.
func rustDebug(text string) string {
	var b strings.Builder
	for _, r := range text {
		escape := strings.IndexRune("\x00\t\n\r\"\\", r)
		switch {
		case escape >= 0:
			b.WriteString(`\` + `0tnr"\`[escape:escape+1])
		case !unicode.IsPrint(r) || unicode.Is(unicode.Mn, r):
			b.WriteString(`\u{` + strconv.FormatInt(int64(r), 16) + "}")
		default:
			b.WriteRune(r)
		}
	}
	return `"` + b.String() + `"`
}
