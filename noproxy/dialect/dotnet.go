package dialect

import (
	"net/netip"
	"strings"
	"unicode"
)

// .NET, with the default proxy of HttpClient on Unix.
var dotnetFamily = []*Client{{
	Name:      "dotnet",
	Latest:    "11",
	Aliases:   []string{"dotnet-HttpClient", ".net"},
	AlsoReads: []string{"powershell"},
	Behaviours: versions{
		{"", "", dotnetSource + "02a63a5", dotnetRules{}.read},
		{"8.0", "proxies of https://, socks4://, socks4a:// and socks5:// are used", "dotnet/runtime pull requests 74369 and 87638", dotnetRules{schemes: true}.read},
		{"11.0", "networks", "dotnet/runtime pull request 131397", dotnetRules{schemes: true, networks: true}.read},
	}.behaviours(),
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

// read looks for the first variable that gives a usable proxy or, if there is
// none, takes the first that is set.
func (r dotnetRules) read(env Env) Decider {
	upper := "HTTP_PROXY "
	if _, cgi := env["GATEWAY_INTERFACE"]; cgi {
		upper = ""
	}
	url := dotnetHTTP
	if r.schemes {
		url = dotnetEvery
	}
	return rules{
		find:      Env.set,
		findProxy: finder(url.read, Env.set),
		http:      "http_proxy " + upper + "all_proxy ALL_PROXY", https: "https_proxy HTTPS_PROXY all_proxy ALL_PROXY", no: "no_proxy NO_PROXY",
		readProxy: url.read,
		host:      dotnetHost,
		cut:       commas(unicode.IsSpace), entry: r.entry, names: exactly | bare | dotted, networksLast: true,
	}.read(env)
}

// dotnetHost is Uri.Host: lower-case, numbers as an IPv4 address, brackets
// around an IPv6 address, which is compressed. International names stay as
// they are.
func dotnetHost(t Target) (host, string) {
	if t.Bracketed {
		addr := literal(t.Host).WithZone("")
		if !addr.Is6() {
			return host{}, invalidURL
		}
		return host{name: "[" + addr.String() + "]", addr: addr}, ""
	}
	if endsInNumber(t.Host) && !strings.HasSuffix(t.Host, ".") {
		if address, ok := whatwgIPv4(t.Host); ok {
			return host{name: address, addr: literal(address)}, ""
		}
	}
	name := strings.ToLower(t.Host)
	return host{name: name, addr: literal(name)}, ""
}

// entry is a network or a name.
func (r dotnetRules) entry(text string) (entry, bool) {
	if network, ok := dotnetPrefix(text); r.networks && ok {
		return entry{network: network}, true
	}
	return entry{text: strings.ToLower(text)}, true
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

// dotnetURL is GetUriFromString. A scheme that it does not know passes for a part of
// the credential, which is only sent after the proxy has asked for one.
func dotnetURL(schemes map[string]Protocol) *proxyTraits {
	return &proxyTraits{
		refuses: func(u *proxyURL, _ string) (p proxy) {
			if u.hasUser && schemes[u.scheme] == "" {
				u.scheme = ""
			}
			return p
		},
		ports: webOr80, schemes: schemes, unknown: unused,
	}
}

var (
	dotnetHTTP  = dotnetURL(map[string]Protocol{"": Connect, "http": Connect})
	dotnetEvery = dotnetURL(map[string]Protocol{"": Connect, "http": Connect, "https": TLS, "socks4": Socks4, "socks4a": Socks4, "socks5": Socks5Name})
)
