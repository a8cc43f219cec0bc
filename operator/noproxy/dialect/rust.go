package dialect

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// Rust programs, with the matcher of hyper-util, which reqwest uses since
// 0.12.16. Versions are those of hyper-util, all of which are below those of
// reqwest, so that a version of reqwest means the newest matcher.
var rustFamily = []*Client{{
	Name:      "reqwest",
	Aliases:   []string{"rust-reqwest", "hyper-util"},
	AlsoReads: []string{"uv", "rustup"},
	Behaviours: observed(observeRust, versions{
		{"", "", rustSource + "v0.1.12", rustRules{}.read},
		{"0.1.16", "SOCKS4 proxies are used", rustSource + "v0.1.16", rustRules{socks4: true}.read},
		{"0.1.18", "a proxy with a user but no password is used", rustSource + "v0.1.18", rustRules{socks4: true, userOnly: true}.read},
		{"0.1.20", "names are compared without regard to case", rustSource + "4684c71", rustRules{socks4: true, userOnly: true, foldCase: true}.read},
	}.behaviours()),
}}

const rustSource = "hyperium/hyper-util src/client/proxy/matcher.rs, "

type rustRules struct{ socks4, userOnly, foldCase bool }

func (r rustRules) read(env Env) Decider {
	row := rules{
		find: Env.rust, findProxy: r.findProxy,
		http: "HTTP_PROXY http_proxy ALL_PROXY all_proxy", https: "HTTPS_PROXY https_proxy ALL_PROXY all_proxy", no: "NO_PROXY no_proxy",
		readProxy: r.readProxy,
		host:      r.host,
		cut:       commas(unicode.IsSpace), entry: r.entry, covers: rustCovers,
	}
	proxies := row.proxies(env)
	if _, cgi := env["REQUEST_METHOD"]; cgi {
		for scheme, p := range proxies {
			p.ignored = "REQUEST_METHOD is set: in a CGI program no proxy variable is trusted"
			proxies[scheme] = p
		}
	}
	return row.decider(proxies, row.readList(env.rust("NO_PROXY", "no_proxy")))
}

// findProxy falls back to the variables for every scheme where the one for a
// scheme cannot be used.
func (r rustRules) findProxy(env Env, names ...string) variable {
	v, all := env.rust(names[:2]...), env.rust(names[2:]...)
	_, usable := r.readHop(v.value)
	_, allUsable := r.readHop(all.value)
	if !usable && (allUsable || v.name == "") {
		return all
	}
	return v
}

func (r rustRules) readProxy(v variable, scheme string) proxy {
	if hop, usable := r.readHop(v.value); usable {
		return proxy{hop: hop.toward(scheme)}
	}
	return proxy{ignored: unusableProxy}
}

// rust returns the first of the variables that is there and is UTF-8.
func (e Env) rust(names ...string) variable {
	for _, name := range names {
		if value, found := e[name]; found && strings.ToValidUTF8(value, "") == value {
			return variable{name, value}
		}
	}
	return variable{}
}

// host: NoProxy of hyper-util holds addresses and names apart, so that a name,
// even "*", never covers an address.
func (r rustRules) host(t Target) (host, string) {
	if _, ok := parseRustURI(t.URL); !ok {
		return host{}, invalidURL
	}
	h := host{name: r.fold(t.Host), addr: literal(t.Host)}
	if h.addr.Zone() != "" {
		h.addr = netip.Addr{}
	}
	return h, ""
}

func (r rustRules) fold(name string) string {
	if r.foldCase {
		return asciiLower(name)
	}
	return name
}

func (r rustRules) entry(text string) (entry, bool) {
	e := entry{text: r.fold(text)}
	if network, ok := parseIPNet(text); ok {
		e.network = network
	} else if addr := literal(text); addr.IsValid() && addr.Zone() == "" {
		e.network, e.address = netip.PrefixFrom(addr, addr.BitLen()), true
	}
	return e, true
}

func rustCovers(e *entry, h host) string {
	switch {
	case e.network.IsValid() != h.addr.IsValid():
		return ""
	case e.network.IsValid():
		return e.contains(h)
	case e.text == "*" && h.name != "*":
		return everyName
	}
	return (exactly | bare | dotted | below).covers(e.text, h.name)
}

// parseIPNet is the parser of the ipnet crate: at most two digits of length for
// IPv4 and three for IPv6, and zeros in front of IPv4 octets are allowed.
func parseIPNet(text string) (netip.Prefix, bool) {
	base, length, found := strings.Cut(text, "/")
	digits := 2
	if strings.Contains(base, ":") {
		digits = 3
	} else {
		base = trimOctets(base)
	}
	addr := literal(base)
	bits := portNumber(length)
	if !found || !addr.IsValid() || addr.Zone() != "" || !isDigits(length) || len(length) > digits || bits > addr.BitLen() {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, bits), true
}

// trimOctets takes zeros off the front of octets that have up to three digits.
func trimOctets(text string) string {
	octets := strings.Split(text, ".")
	for i, octet := range octets {
		for len(octet) <= 3 && len(octet) > 1 && octet[0] == '0' {
			octet = octet[1:]
		}
		octets[i] = octet
	}
	return strings.Join(octets, ".")
}

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

// observed are behaviours of which a measurement records the result of a function.
func observed(observe func(Decision) string, behaviours []Behaviour) []Behaviour {
	for i := range behaviours {
		behaviours[i].Observe = observe
	}
	return behaviours
}

// observeRust words what Matcher.intercept returns.
func observeRust(d Decision) string {
	switch d.Route {
	case Proxy:
		return d.Hop.result.Bytes()
	case Fails:
		return "error"
	}
	return "direct"
}

// rustResult is the result of the function, for a proxy.
func rustResult(u rustURI, protocol Protocol, found bool, user, password string) Auth {
	basic, raw := "None", "None"
	switch {
	case found && (protocol == Connect || protocol == TLS):
		basic = "Some(" + rustHeader("Basic "+user+":"+password) + ")"
	case found:
		raw = "Some((" + rustDebug(user) + ", " + rustDebug(password) + "))"
	}
	return Sends("proxy " + u.scheme + "://" + u.authority + "/ auth=" + basic + " raw=" + raw)
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
