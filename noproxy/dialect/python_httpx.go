package dialect

import (
	"cmp"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// httpx, and with it the SDKs of OpenAI and Anthropic.
//
// Rules: encode/httpx httpx/_utils.py (get_environment_proxies, URLPattern),
// _client.py and _config.py (Proxy), _urlparse.py, in 0.23.3 to 0.28.1. All
// proxies and all entries are read when a client is made: what cannot be read
// there fails whatever the URL is.
var pythonHttpx = &Client{
	Name:      "python-httpx",
	Latest:    "0",
	Aliases:   []string{"httpx"},
	AlsoReads: []string{"OpenAI SDK", "Anthropic SDK"},
	Behaviours: versions{
		{"", "", "encode/httpx httpx/_utils.py and _urls.py, 0.23.3, with rfc3986 1.5.0", httpxRules{rfc3986: true}.read},
		{"0.24.0", "a URL parser of its own: an entry that is no host and port makes every request fail", "encode/httpx httpx/_urlparse.py, 0.24.0", httpxRules{firstAt: true}.read},
		{"0.24.1", "IPv4 and bare IPv6 addresses and localhost match exactly", "encode/httpx httpx/_utils.py, 0.24.1", httpxRules{firstAt: true, addresses: true}.read},
		{"0.26.0", "an entry may be a URL pattern; @ may stand in a password", "encode/httpx httpx/_utils.py and _urlparse.py, 0.28.1", httpxRules{addresses: true, patterns: true}.read},
	}.behaviours(),
}

// httpxRules has the differences between the versions.
type httpxRules struct {
	rfc3986   bool // URLs are read by the package rfc3986
	firstAt   bool // before 0.26.0: user information ends at the first "@"
	addresses bool
	patterns  bool // an entry with "://" is a pattern
}

// httpxMount is a pattern and what it stands for: a proxy, or none.
type httpxMount struct {
	scheme string // empty: every one
	host   string
	kind   hostPattern
	port   int    // or noPort
	proxy  *proxy // nil: none
	entry  Span   // of NO_PROXY, where there is no proxy
}

// hostPattern says how the host of a pattern is compared.
type hostPattern uint8

const (
	anyHost  hostPattern = iota
	thisHost             // example.com
	inDomain             // *example.com: it and what is below it
	onlySubs             // *.example.com
)

const breaksClient = "this client cannot read the entry, and then fails for every URL"

func (r httpxRules) read(env Env) Decider {
	proxies := pythonGetproxies(env)
	noProxy := proxies["no"]
	h := httpx{rules: r, noProxy: noProxy.name, known: map[string]int{}}
	if span, off := httpxStar(noProxy.value); off {
		everywhere := direct(noProxy.name, span, everything)
		return func(t Target) Decision {
			if _, ok := h.host(t); !ok {
				return fails("", unsendableHost)
			}
			return everywhere
		}
	}
	if failure, ok := h.mountAll(proxies); !ok {
		return always(failure)
	}
	return func(t Target) Decision {
		host, ok := h.host(t)
		if !ok {
			return fails("", unsendableHost)
		}
		if proxies[t.Scheme].name == "" && proxies["all"].name == "" {
			return proxies.missing(env, t.Scheme, "all").decide()
		}
		return h.decide(t, host)
	}
}

// httpxStar finds the element "*", which turns all proxies off.
func httpxStar(noProxy string) (Span, bool) {
	for _, span := range commas(pythonSpace)(noProxy) {
		if span.Of(noProxy) == "*" {
			return span, true
		}
	}
	return Span{}, false
}

type httpx struct {
	rules   httpxRules
	noProxy string
	mounts  []httpxMount
	known   map[string]int // the place of each pattern in mounts, until these are sorted
}

// mountAll is get_environment_proxies and what Client makes of it. The patterns
// are a dictionary: a later one of the same text takes the place of the first.
func (h *httpx) mountAll(proxies pythonProxies) (failure Decision, ok bool) {
	for _, scheme := range []string{"http", "https", "all"} {
		v := proxies[scheme]
		if v.name == "" {
			continue
		}
		p := httpxProxyURL.read(v, "https")
		if p.variable = v; p.fatal != "" {
			return p.decide(), false
		}
		h.mount(scheme+"://", &p, Span{})
	}
	list := proxies["no"].value
	for _, span := range commas(pythonSpace)(list) {
		if !h.mount(h.rules.pattern(span.Of(list)), nil, span) {
			failure = fails(h.noProxy, breaksClient)
			failure.Entry = span
			return failure, false
		}
	}
	slices.SortStableFunc(h.mounts, compareMounts)
	h.known = nil
	return Decision{}, true
}

// pattern is the URL pattern that httpx makes of an entry.
func (r httpxRules) pattern(entry string) string {
	address, _, _ := strings.Cut(entry, "/")
	switch {
	case r.patterns && strings.Contains(entry, "://"):
		return entry
	case r.addresses && (isIPv4Text(address) || strings.EqualFold(entry, "localhost")):
		return "all://" + entry
	case r.addresses && isIPv6Text(address):
		return "all://[" + entry + "]"
	}
	return "all://*" + entry
}

// isIPv4Text and isIPv6Text are ipaddress.IPv4Address and IPv6Address of Python.
func isIPv4Text(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && addr.Is4()
}

func isIPv6Text(text string) bool {
	addr, err := netip.ParseAddr(text)
	return err == nil && addr.Is6()
}

func (h *httpx) mount(pattern string, proxy *proxy, entry Span) bool {
	u, ok := h.rules.parse(pattern)
	if !ok {
		return false
	}
	m := httpxMount{scheme: u.scheme, host: u.name, kind: thisHost, port: u.number, proxy: proxy, entry: entry}
	if m.scheme == "all" {
		m.scheme = ""
	}
	switch {
	case m.host == "" || m.host == "*":
		m.host, m.kind = "", anyHost
	case strings.HasPrefix(m.host, "*."):
		m.kind = onlySubs
	case strings.HasPrefix(m.host, "*"):
		m.kind = inDomain
	}
	if at, ok := h.known[pattern]; ok {
		h.mounts[at] = m
		return true
	}
	h.known[pattern] = len(h.mounts)
	h.mounts = append(h.mounts, m)
	return true
}

// compareMounts sorts the most specific first: with a port, then by the length
// of the host and of the scheme.
func compareMounts(a, b httpxMount) int {
	without := func(m httpxMount) int {
		if m.port == noPort {
			return 1
		}
		return 0
	}
	return cmp.Or(
		cmp.Compare(without(a), without(b)),
		cmp.Compare(utf8.RuneCountInString(b.host), utf8.RuneCountInString(a.host)),
		cmp.Compare(len(b.scheme), len(a.scheme)))
}

func (h *httpx) decide(t Target, host string) Decision {
	port := defaultedPort(t.Port, t.Scheme)
	if h.rules.rfc3986 {
		port = writtenPort(t.Port, t.Scheme)
	}
	for i := range h.mounts {
		m := &h.mounts[i]
		if m.scheme != "" && m.scheme != t.Scheme || m.port != noPort && m.port != port {
			continue
		}
		reason, ok := m.covers(host)
		switch {
		case !ok:
		case m.proxy != nil:
			p := *m.proxy
			p.hop = p.hop.toward(t.Scheme)
			return p.decide()
		default:
			return direct(h.noProxy, m.entry, reason)
		}
	}
	return direct("", Span{}, noVariable)
}

func (m *httpxMount) covers(host string) (string, bool) {
	switch m.kind {
	case anyHost:
		return everything, true
	case thisHost:
		return theName, host == m.host
	case onlySubs:
		return belowName, isBelow(host, m.host[2:])
	case inDomain:
		if host == m.host[1:] {
			return theName, true
		}
		return belowName, isBelow(host, m.host[1:])
	}
	return "", false
}

// isBelow reports whether something, a dot and the domain make up the name.
func isBelow(name, domain string) bool {
	return len(name) > len(domain)+1 && hasDomain(name, domain)
}

// defaultedPort returns a port as a number, or noPort if it is the default one.
func defaultedPort(port, scheme string) int {
	number, err := strconv.Atoi(port)
	if err != nil || strconv.Itoa(number) == defaultPorts[scheme] {
		return noPort
	}
	return number
}
