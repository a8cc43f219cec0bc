package dialect

import (
	"net/netip"
	"strings"
)

// .NET, with the default proxy of HttpClient on Unix.
var dotnetFamily = []*Client{{
	Name:      "dotnet",
	Aliases:   []string{"dotnet-HttpClient", ".net"},
	AlsoReads: []string{"powershell"},
	Behaviours: []Behaviour{
		{Source: dotnetSource + "02a63a5", Read: dotnetRules{}.read},
		{
			Since: "8.0", Change: "proxies of https://, socks4://, socks4a:// and socks5:// are used",
			Source: "dotnet/runtime pull requests 74369 and 87638", Read: dotnetRules{schemes: true}.read,
		},
		{
			Since: "11.0", Change: "networks",
			Source: "dotnet/runtime pull request 131397", Read: dotnetRules{schemes: true, networks: true}.read,
		},
	},
	Release: dotnetRelease,
}}

const dotnetSource = "dotnet/runtime src/libraries/System.Net.Http/src/System/Net/Http/SocketsHttpHandler/HttpEnvironmentProxy.cs, "

// dotnetRelease reads "runtime@02a63a5 (no CIDR)" as a release before networks.
func dotnetRelease(version string) string {
	if strings.Contains(version, "no CIDR") {
		return "10.0"
	}
	return firstNumber(version)
}

type dotnetRules struct{ schemes, networks bool }

func (r dotnetRules) read(env Env) Decider {
	upperHTTP := []string{"HTTP_PROXY"}
	if _, cgi := env["GATEWAY_INTERFACE"]; cgi {
		upperHTTP = nil
	}
	proxies := map[string]dotnetProxy{
		"http":  r.firstProxy(env, append(append([]string{"http_proxy"}, upperHTTP...), "all_proxy", "ALL_PROXY")...),
		"https": r.firstProxy(env, "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"),
	}
	noProxy := env.set("no_proxy", "NO_PROXY")
	list := r.readList(noProxy.value)
	return func(t Target) Decision {
		proxy := proxies[t.Scheme]
		host, ok := dotnetHost(t)
		switch {
		case !ok:
			return fails("", invalidURL)
		case proxy.name == "":
			return direct("", Span{}, noVariable)
		case !proxy.usable && proxy.value == "":
			return direct(proxy.name, Span{}, proxyOff)
		case !proxy.usable:
			return direct(proxy.name, Span{}, unusableProxy)
		}
		if entry, reason, found := list.match(host); found {
			return direct(noProxy.name, entry, reason)
		}
		hop := proxy.hop
		if t.Scheme == "http" && hop.Protocol == Connect {
			hop.Protocol = Absolute
		}
		return proxied(proxy.name, hop)
	}
}

// dotnetHost is Uri.Host: lower-case, numbers as an IPv4 address, brackets
// around an IPv6 address, which is compressed. International names stay as
// they are.
func dotnetHost(t Target) (string, bool) {
	if t.Bracketed {
		addr := literal(t.Host)
		return "[" + addr.WithZone("").String() + "]", addr.Is6()
	}
	if endsInNumber(t.Host) && !strings.HasSuffix(t.Host, ".") {
		if address, ok := whatwgIPv4(t.Host); ok {
			return address, true
		}
	}
	return strings.ToLower(t.Host), true
}

type dotnetList struct {
	entries  []dotnetEntry
	networks []dotnetNetwork
}

type dotnetEntry struct {
	span Span
	text string // lower-case
}

type dotnetNetwork struct {
	span    Span
	network netip.Prefix
}

// readList cuts at commas, and drops what is empty without blanks.
func (r dotnetRules) readList(list string) dotnetList {
	var l dotnetList
	for _, span := range elements(list) {
		text := strings.TrimSpace(span.Of(list))
		if text == "" {
			continue
		}
		span.Start += strings.Index(span.Of(list), text)
		span.End = span.Start + len(text)
		if network, ok := dotnetPrefix(text); r.networks && ok {
			l.networks = append(l.networks, dotnetNetwork{span, network})
			continue
		}
		l.entries = append(l.entries, dotnetEntry{span, strings.ToLower(text)})
	}
	return l
}

// dotnetPrefix is IPNetwork.TryParse, which since .NET 10 takes host bits off.
func dotnetPrefix(text string) (netip.Prefix, bool) {
	slash := strings.LastIndexByte(text, '/')
	if slash < 0 || !isDigits(text[slash+1:]) {
		return netip.Prefix{}, false
	}
	base, _ := inBrackets(text[:slash])
	addr, bits := literal(base), portNumber(text[slash+1:])
	if !addr.IsValid() || addr.Zone() != "" || bits > addr.BitLen() {
		return netip.Prefix{}, false
	}
	return netip.PrefixFrom(addr, bits), true
}

// match compares ".d" with d and what is below it, and everything else with
// the host as a whole.
func (l dotnetList) match(host string) (Span, string, bool) {
	for i := range l.entries {
		e := &l.entries[i]
		switch {
		case e.text == host || e.text[0] == '.' && e.text[1:] == host:
			return e.span, theName, true
		case e.text[0] == '.' && strings.HasSuffix(host, e.text):
			return e.span, belowName, true
		}
	}
	if len(l.networks) == 0 {
		return Span{}, "", false
	}
	bare, _ := inBrackets(host)
	addr := literal(bare)
	for i := range l.networks {
		if l.networks[i].network.Contains(addr) {
			return l.networks[i].span, inNetwork, true
		}
	}
	return Span{}, "", false
}
