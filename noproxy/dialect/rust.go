package dialect

import (
	"cmp"
	"net/netip"
	"strconv"
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
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
	usable := func(v variable) bool { return v.value != "" && r.readProxy(v, "").ignored == "" }
	v, all := env.rust(names[:2]...), env.rust(names[2:]...)
	if v.name == "" || !usable(v) && usable(all) {
		return all
	}
	return v
}

// readProxy is parse_env_uri. With TLS and SOCKS the credential is inside the
// handshake.
func (r rustRules) readProxy(v variable, target string) proxy {
	var url proxyURL
	row := proxyTraits{
		refuses: func(u *proxyURL, _ string) (p proxy) {
			if url = *u; !r.userOnly && u.hasUser && !u.hasPassword {
				p = unused
			}
			return p
		},
		ports:   map[string]string{"http": "80", "https": "443", anyScheme: "1080"},
		schemes: map[string]Protocol{"": Connect, "http": Connect, "https": TLS, "socks5": Socks5Local, "socks5h": Socks5Name}, unknown: unused,
		sends: func(u proxyURL) (string, bool) {
			return u.user + ":" + u.password, u.hasUser && (u.scheme == "" || u.scheme == "http")
		},
	}
	if r.socks4 {
		row.schemes["socks4"], row.schemes["socks4a"] = Socks4, Socks4
	}
	p := row.read(v, target)
	if p.hop.Address != "" {
		p.hop.result = rustResult(url)
	}
	return p
}

// rust returns the first of the variables that is there and is UTF-8.
func (e Env) rust(names ...string) variable {
	for _, name := range names {
		if value, ok := e[name]; ok && strings.ToValidUTF8(value, "") == value {
			return variable{name, value}
		}
	}
	return variable{}
}

// host: NoProxy of hyper-util holds addresses and names apart, so that a name,
// even "*", never covers an address.
func (r rustRules) host(t Target) (host, string) {
	if authority, rest := t.cut(); !rustAuthority(authority) || !rustPath(rest) || len(t.URL) > 65534 {
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
	base, length, ok := strings.Cut(text, "/")
	digits := 2
	if strings.Contains(base, ":") {
		digits = 3
	} else {
		base = trimOctets(base)
	}
	addr := literal(base)
	bits := portNumber(length)
	if !ok || !addr.IsValid() || addr.Zone() != "" || !isDigits(length) || len(length) > digits || bits > addr.BitLen() {
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

// rustAuthority reports whether an authority is valid. It counts colons since the last
// "@" or bracket, and looks at nothing else; a port may be anything.
func rustAuthority(authority string) bool {
	colons, opened, closed, percent := 0, false, false, false
	for _, c := range []byte(authority) {
		switch {
		case c == '%':
			percent = true
		case c == ':':
			if colons++; colons > 8 {
				return false
			}
		case c == '[' && (percent || opened), c == ']' && (!opened || closed):
			return false
		case c == '[':
			opened = true
		case c == ']', c == '@':
			closed = closed || c == ']'
			colons, percent = 0, false
		case c <= ' ' || c >= 0x7f || strings.IndexByte("\"<>\\^`{|}", c) >= 0:
			return false
		}
	}
	return authority != "" && opened == closed && colons <= 1 && !percent && !strings.HasSuffix(authority, "@")
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
func rustResult(u proxyURL) Auth {
	scheme, authority := cmp.Or(u.scheme, "http"), u.host
	if u.port != "" {
		authority += ":" + u.port
	}
	basic, raw := "None", "None"
	user, password := percent.Decode(u.user), percent.Decode(u.password)
	switch {
	case u.hasUser && webPorts[scheme] != "":
		basic = "Some(" + rustHeader("Basic "+user+":"+password) + ")"
	case u.hasUser:
		raw = "Some((" + strconv.Quote(user) + ", " + strconv.Quote(password) + "))"
	}
	return Sends("proxy " + scheme + "://" + authority + "/ auth=" + basic + " raw=" + raw)
}

// rustHeader is a header value in the words of the measurement, which decodes
// it: a question mark where it is not plain ASCII.
func rustHeader(value string) string {
	if isASCII(value) {
		return strconv.Quote(value)
	}
	return `"?"`
}
