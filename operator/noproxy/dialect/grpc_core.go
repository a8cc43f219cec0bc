package dialect

import (
	"net/netip"
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// grpcCoreRules is HttpProxyMapper. Of the proxy variables the first that is
// set counts, for every target, and if it is empty there is no proxy.
func grpcCoreRules(networks bool) rules {
	const proxies = "grpc_proxy https_proxy http_proxy"
	return rules{
		find: Env.set, http: proxies, https: proxies, no: "no_grpc_proxy no_proxy", readProxy: readGRPCProxy,
		host: func(t Target) (host, string) {
			return host{name: asciiLower(t.Host), addr: literal(t.Host).WithZone("")}, ""
		},
		cut: cutGRPC, names: exactly | dotted | ends,
		entry: func(text string) (entry, bool) {
			e := entry{text: asciiLower(text)}
			if networks {
				e.network = grpcNetwork(e.text)
			}
			return e, true
		},
	}
}

// cutGRPC drops empty elements, but not those of white space only: they become
// the end of every host.
func cutGRPC(list string) []Span {
	spans := commas(nothing)(list)
	for i := range spans {
		spans[i] = spans[i].trimFunc(list, cSpace)
	}
	return spans
}

// grpcNetwork is ServerInCIDRRange: a length beyond the address is that of the
// address, and only an IPv6 address may have brackets.
func grpcNetwork(text string) netip.Prefix {
	base, length, _ := strings.Cut(text, "/")
	if inner, found := inBrackets(base); found && strings.Contains(inner, ":") {
		base = inner
	}
	addr := literal(base)
	length = strings.TrimPrefix(strings.TrimSpace(length), "+")
	if !addr.IsValid() || !isDigits(length) {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr.WithZone(""), min(portNumber(length), addr.BitLen()))
}

// readGRPCProxy is GetHttpProxyServer: http only, in lower case, and with a host.
// A missing port is that of https, as for every target.
func readGRPCProxy(v variable, _ string) proxy {
	rest, found := strings.CutPrefix(v.value, "http://")
	authority, rest := cutAuthority(rest)
	query, fragment, _ := strings.Cut(rest, "#")
	_, query, hasQuery := strings.Cut(query, "?")
	userinfo, authority, _ := cutLastAt(authority)
	authority = percent.Decode(authority)
	if !found || authority == "" || hasQuery && query == "" || !isGRPCQuery(query) || !isGRPCQuery(fragment) {
		return proxy{ignored: unusableProxy}
	}
	host, port, ok := splitGRPC(authority)
	if !ok || host == "" || !isDigits(port) || portNumber(port) > 65535 {
		return proxy{failure: brokenProxy}
	}
	hop := Hop{Protocol: Connect, Address: joinHostPort(host, port)}
	if userinfo != "" {
		hop.Auth = Sends(percent.Decode(userinfo))
	}
	return proxy{hop: hop}
}

// isGRPCQuery tells whether a query or a fragment has no character that is not allowed.
func isGRPCQuery(text string) bool {
	return !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("\"#<>[\\]^`{|}", r) })
}

// splitGRPC is SplitHostPort.
func splitGRPC(text string) (host, port string, ok bool) {
	if inner, bracketed := strings.CutPrefix(text, "["); bracketed {
		host, port, ok = strings.Cut(inner, "]")
		if port == "" {
			port = ":443"
		}
		return host, port[1:], ok && port[0] == ':' && strings.Contains(host, ":")
	}
	if host, port, found := strings.Cut(text, ":"); found && !strings.Contains(port, ":") {
		return host, port, true
	}
	return text, "443", true
}
