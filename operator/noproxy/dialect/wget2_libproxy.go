package dialect

import (
	"net/netip"
	"strings"
)

// wget2 built with libproxy, as Debian's is since 2.2. libproxy decides from the
// URL as it was written and from the variables of either case; an http proxy
// gets a request with an absolute URL even for https. wget2's own options are
// read all the same, and what they cannot parse in lower case ends it.
//
// Rules: rockdaboot/wget2 v2.2.0 libwget/http.c wget_http_open; libproxy/libproxy
// 0.5.9 src/backend/plugins/config-env/config-env.c and src/backend/px-manager.c
// (ignore_hostname, ignore_domain, ignore_ip); GLib 2.84, for the URLs of target
// and proxy (glib.go).
var wget2WithLibproxy = &Client{
	Name:    "wget2-libproxy",
	Aliases: []string{"wget2(built with libproxy 0.5.9)", "wget2(built with libproxy)"},
	Behaviours: []Behaviour{{
		Source: "rockdaboot/wget2 v2.2.0 libwget/http.c with libproxy/libproxy 0.5.9 src/backend and GLib 2.84 glib/guri.c",
		Read:   readWget2Libproxy,
	}},
}

func readWget2Libproxy(env Env) Decider {
	wget2 := wget2Release{knowsSchemes: true, tunnels: true, checksPorts: true}
	_, broken := wget2.parseProxies(env)
	noProxy := env.set("no_proxy", "NO_PROXY")
	list := libproxyEntries(noProxy.value)
	proxies := map[string]libproxyProxy{
		"http":  wget2.readLibproxy(env.set("http_proxy", "HTTP_PROXY")),
		"https": wget2.readLibproxy(env.set("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY")),
	}
	return func(t Target) Decision {
		if broken != "" {
			return fails(broken, wget2Ends)
		}
		target, ok := parseGlib(t.URL)
		if !ok {
			return direct("", Span{}, "libproxy cannot parse the URL, and it goes direct")
		}
		for _, entry := range list {
			if reason := entry.covers(target); reason != "" {
				return direct(noProxy.name, entry.span, reason)
			}
		}
		return proxies[t.Scheme].decide()
	}
}

// libproxyProxy is the value of a proxy variable as libproxy reads it and
// wget2 after it.
type libproxyProxy struct {
	variable             string
	off, ignored, broken bool
	hop                  Hop
}

func (w wget2Release) readLibproxy(v variable) libproxyProxy {
	proxy := libproxyProxy{variable: v.name, off: v.value == ""}
	u, ok := parseGlib(v.value)
	if proxy.ignored = !ok || u.text == "direct://"; proxy.ignored {
		return proxy
	}
	parsed, ok := w.parse(u.text)
	address, found := proxyAddress(parsed.host, parsed.port)
	proxy.broken = !ok || !found
	proxy.hop = Hop{Address: address, Protocol: Absolute}
	if parsed.scheme == "https" {
		proxy.hop.Protocol = TLS
	}
	return proxy
}

func (p libproxyProxy) decide() Decision {
	switch {
	case p.variable == "":
		return direct("", Span{}, noVariable)
	case p.off:
		return direct(p.variable, Span{}, proxyOff)
	case p.ignored:
		return direct(p.variable, Span{}, unusableProxy)
	case p.broken:
		return fails(p.variable, brokenProxy)
	}
	return proxied(p.variable, p.hop)
}

// libproxyEntry is an entry of no_proxy. Nothing is trimmed or lowered.
type libproxyEntry struct {
	span    Span
	text    string
	host    string // before the first colon
	port    int    // anyPort unless exactly one colon stands in it
	network netip.Prefix
	addr    netip.Addr
}

const anyPort = -1

func libproxyEntries(list string) []libproxyEntry {
	var entries []libproxyEntry
	for _, span := range elements(list) {
		entry := libproxyEntry{span: span, text: span.Of(list), port: anyPort}
		if entry.text == "" {
			continue
		}
		parts := strings.Split(entry.text, ":")
		entry.host = parts[0]
		if len(parts) == 2 {
			entry.port = atoi(parts[1])
		}
		entry.network = parseGlibNetwork(entry.text)
		if entry.addr = literal(entry.text); entry.addr.Zone() != "" {
			entry.addr = netip.Addr{}
		}
		entries = append(entries, entry)
	}
	return entries
}

// covers is px_manager_is_ignore for one entry.
func (e *libproxyEntry) covers(u glibURL) string {
	if e.text == "<local>" && !strings.ContainsAny(u.host, ":.") {
		return "a name without a dot"
	}
	if e.text == "*" {
		return everything
	}
	if reason, found := e.domain(u.host); found {
		if e.port == anyPort || e.port == u.port {
			return reason
		}
	}
	if addr := literal(u.host); addr.IsValid() {
		switch {
		case e.network.Contains(addr):
			return inNetwork
		case e.addr == addr:
			return theAddress
		}
	}
	return ""
}

// domain is ignore_domain but for the port. ".name" and "*.name" also cover
// every host that their name only starts with, and that in any case: libproxy
// compares as many bytes as the host has.
func (e *libproxyEntry) domain(host string) (reason string, found bool) {
	if host == e.host {
		return theName, true
	}
	if len(e.host) <= 2 {
		return "", false
	}
	dotted := "." + e.host
	if e.host[0] == '.' || strings.HasPrefix(e.host, "*.") {
		dotted = strings.TrimPrefix(e.host, "*")
		if strings.HasPrefix(asciiLower(dotted[1:]), asciiLower(host)) {
			return theName, true
		}
	}
	return belowName, strings.HasSuffix(host, dotted) || len(host) > len(e.host) && strings.HasSuffix(host, "."+e.host)
}
