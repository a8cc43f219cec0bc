package dialect

import (
	"math"
	"net/netip"
	"slices"
	"strings"
	"unicode"
)

// Go programs, with net/http: containerd, crane and skopeo. Programs with
// client-go (client_go.go) and gRPC (grpc_go.go) ask the same function in their
// own ways.
//
// Rules: golang/net http/httpproxy/proxy.go as vendored in Go 1.26 and 1.27, and
// golang/go src/net/http/transport.go. Upper case wins, an empty value is as
// good as none; golang.org/x/net itself reads lower case first since v0.58, so
// a later Go may.
var goFamily = []*Client{{
	Name:      "go",
	Aliases:   []string{"golang", "net/http"},
	Programs:  []string{"containerd", "containerd-resolver", "aws-sdk-go", "azure-sdk-for-go", "google-cloud-go", "otlp-http"},
	AlsoReads: []string{"containerd", "crane", "skopeo"},
	Latest:    "1.27",
	Behaviours: []Behaviour{{
		Source: "golang/net http/httpproxy/proxy.go, as in Go 1.26",
		Read:   readGo,
	}},
}}

func readGo(env Env) Decider { return goRules(env, goURL.read).goDecider(env) }

// goRules are net/http without its list, for a way to read proxies.
func goRules(env Env, read func(v variable, scheme string) proxy) rules {
	return rules{
		find: Env.nonEmpty, http: "HTTP_PROXY http_proxy", https: "HTTPS_PROXY https_proxy",
		readProxy: func(v variable, scheme string) proxy {
			p := read(v, scheme)
			if env["REQUEST_METHOD"] != "" && scheme == "http" && p.ignored == "" {
				p.fatal = "REQUEST_METHOD is set: in a CGI program HTTP_PROXY may be a request's header"
			}
			return p
		},
		host: func(t Target) (host, string) { return host{name: t.Host, port: t.EffectivePort()}, "" },
	}
}

// goDecider is a client that asks httpproxy about the list, and then lists of its own.
func (r rules) goDecider(env Env, own ...list) Decider {
	noProxy := env.nonEmpty("NO_PROXY", "no_proxy")
	compiled := CompileGo(noProxy.value)
	asked := list{variable: noProxy, compiled: func(h host) (Span, string, bool) { return compiled.Match(h.name, h.port) }}
	return r.decider(r.proxies(env), append([]list{asked}, own...)...)
}

// goURL is parseProxy of httpproxy and connectMethod of net/http, which takes a
// scheme that it does not know for http.
var goURL = proxyTraits{
	ports:   map[string]string{"http": "80", "https": "443", "socks5": "1080", "socks5h": "1080"},
	schemes: map[string]Protocol{"": Connect, "https": TLS, "socks5": Socks5Name, "socks5h": Socks5Name, anyScheme: Connect},
	sends:   withUser,
}

// GoList is a NO_PROXY list as Go reads it, compiled: a decision costs a few
// map look-ups, however long the list is.
type GoList struct {
	entries  []goEntry
	all      int // index of "*", or none
	addrs    map[netip.Addr][]int
	networks map[netip.Prefix]int
	bits     []int            // the lengths that there are in networks
	names    map[string][]int // the name itself
	below    map[string][]int // ".name": the names below it
	odd      []int            // suffixes that do not start with a dot
}

type goEntry struct {
	span   Span
	port   string // empty: every port
	suffix string
}

// none is larger than every index.
const none = math.MaxInt

// CompileGo compiles the value of a NO_PROXY variable. It never fails: Go
// ignores what it does not understand.
func CompileGo(noProxy string) *GoList {
	l := &GoList{all: none, addrs: map[netip.Addr][]int{}, networks: map[netip.Prefix]int{}, names: map[string][]int{}, below: map[string][]int{}}
	for _, span := range commas(unicode.IsSpace)(noProxy) {
		if l.add(span, strings.ToLower(span.Of(noProxy))); l.all != none {
			break // everything else is forgotten
		}
	}
	return l
}

func (l *GoList) add(span Span, text string) {
	index := len(l.entries)
	if text == "*" {
		l.entries, l.all = append(l.entries, goEntry{span: span}), index
		return
	}
	if network, ok := parseGoCIDR(text); ok {
		l.entries = append(l.entries, goEntry{span: span})
		if _, ok := l.networks[network]; !ok {
			l.networks[network] = index
		}
		if !slices.Contains(l.bits, network.Bits()) {
			l.bits = append(l.bits, network.Bits())
		}
		return
	}
	host, port, ok := splitGoHostPort(text)
	if !ok {
		host, port = text, ""
	}
	if host == "" {
		return
	}
	entry := goEntry{span: span, port: port}
	if addr, err := netip.ParseAddr(host); err == nil && addr.Zone() == "" {
		l.entries = append(l.entries, entry)
		l.addrs[addr.Unmap()] = append(l.addrs[addr.Unmap()], index)
		return
	}
	l.addName(host, entry, index)
}

func (l *GoList) addName(host string, entry goEntry, index int) {
	if strings.HasPrefix(host, "*.") {
		host = host[1:]
	}
	apex := host[0] != '.'
	if apex {
		host = "." + host
	}
	entry.suffix = goASCII(host)
	l.entries = append(l.entries, entry)
	if entry.suffix == "" || entry.suffix[0] != '.' {
		l.odd = append(l.odd, index)
		return
	}
	l.below[entry.suffix] = append(l.below[entry.suffix], index)
	if apex {
		l.names[entry.suffix[1:]] = append(l.names[entry.suffix[1:]], index)
	}
}

// Match returns the first entry that lets a host at a port go direct. A rule
// that needs no entry has an empty span.
func (l *GoList) Match(host, port string) (entry Span, reason string, ok bool) {
	host = goASCII(host)
	if host == "localhost" { // in this spelling only
		return Span{}, loopback, true
	}
	addr, err := netip.ParseAddr(host)
	if err == nil {
		addr = addr.WithZone("").Unmap()
		if addr.IsLoopback() {
			return Span{}, loopback, true
		}
	}
	index, reason := l.all, everything
	if l.all == none && err == nil {
		index, reason = l.matchAddr(addr, port)
	} else if l.all == none {
		index, reason = l.matchName(strings.ToLower(strings.TrimSpace(host)), port)
	}
	if index == none {
		return Span{}, "", false
	}
	return l.entries[index].span, reason, true
}

func (l *GoList) matchAddr(addr netip.Addr, port string) (int, string) {
	best, reason := l.first(l.addrs[addr], port, none), theAddress
	for _, bits := range l.bits {
		network, _ := addr.Prefix(bits) // none, if it is longer than the address
		if index, ok := l.networks[network]; ok && index < best {
			best, reason = index, inNetwork
		}
	}
	return best, reason
}

func (l *GoList) matchName(host, port string) (int, string) {
	best, reason := l.first(l.names[host], port, none), theName
	for at := strings.IndexByte(host, '.'); at >= 0; {
		if index := l.first(l.below[host[at:]], port, best); index < best {
			best, reason = index, belowName
		}
		next := strings.IndexByte(host[at+1:], '.')
		if next < 0 {
			break
		}
		at += 1 + next
	}
	for _, index := range l.odd {
		if entry := l.entries[index]; index < best && strings.HasSuffix(host, entry.suffix) && (entry.port == "" || entry.port == port) {
			best, reason = index, endsWith
		}
	}
	return best, reason
}

// first returns the first of the entries that has the port, if it comes before best.
func (l *GoList) first(indexes []int, port string, best int) int {
	for _, index := range indexes {
		if p := l.entries[index].port; index < best && (p == "" || p == port) {
			return index
		}
	}
	return best
}

// parseGoCIDR is net.ParseCIDR, which allows zeros in front of the length, and
// net.IPNet.Contains, which takes IPv4-mapped networks for IPv4 ones.
func parseGoCIDR(text string) (netip.Prefix, bool) {
	left, right, ok := strings.Cut(text, "/")
	addr, err := netip.ParseAddr(left)
	if !ok || err != nil || addr.Zone() != "" {
		return netip.Prefix{}, false
	}
	bits := 0
	for _, c := range []byte(right) {
		if bits = bits*10 + int(c-'0'); c < '0' || c > '9' || bits > addr.BitLen() {
			return netip.Prefix{}, false
		}
	}
	if right == "" {
		return netip.Prefix{}, false
	}
	if addr.Is4In6() && bits >= 96 {
		addr, bits = addr.Unmap(), bits-96
	}
	return netip.PrefixFrom(addr, bits).Masked(), true
}

// splitGoHostPort is net.SplitHostPort.
func splitGoHostPort(text string) (host, port string, ok bool) {
	colon := strings.LastIndexByte(text, ':')
	if colon < 0 {
		return "", "", false
	}
	host, port = text[:colon], text[colon+1:]
	if text[0] == '[' {
		if host[len(host)-1] != ']' || strings.IndexByte(host, ']') != len(host)-1 {
			return "", "", false
		}
		host = host[1 : len(host)-1]
		return host, port, !strings.ContainsAny(host, "[") && !strings.ContainsAny(port, "[]")
	}
	return host, port, !strings.Contains(host, ":") && !strings.ContainsAny(text, "[]")
}

// goASCII leaves what cannot be encoded.
func goASCII(name string) string {
	if ascii, ok := toASCII(name); ok {
		return ascii
	}
	return name
}
