package dialect

import (
	"net/netip"
	"strings"
)

// readGRPCCore is HttpProxyMapper. Of the proxy variables the first that is
// set counts, for every target, and if it is empty there is no proxy.
func readGRPCCore(networks bool) func(Env) Decider {
	return func(env Env) Decider {
		proxy := readGRPCProxy(env.set("grpc_proxy", "https_proxy", "http_proxy"))
		list := readGRPCList(env.set("no_grpc_proxy", "no_proxy"), networks)
		return func(t Target) Decision {
			switch {
			case proxy.name == "":
				return direct("", Span{}, noVariable)
			case proxy.value == "":
				return direct(proxy.name, Span{}, proxyOff)
			case !proxy.usable:
				return direct(proxy.name, Span{}, unusableProxy)
			}
			if entry, reason, found := list.match(toLowerASCII(t.Host)); found {
				return direct(list.variable.name, entry, reason)
			}
			if proxy.broken {
				return fails(proxy.name, brokenProxy)
			}
			return proxied(proxy.name, proxy.hop)
		}
	}
}

// readGRPCList drops empty elements, but not those of white space only: they
// become the end of every host.
func readGRPCList(v variable, networks bool) grpcList {
	l := grpcList{variable: v}
	for _, span := range elements(v.value) {
		if span.Empty() {
			continue
		}
		span = span.trim(v.value, " \t\n\v\f\r")
		entry := grpcEntry{span: span, text: toLowerASCII(span.Of(v.value))}
		if networks {
			entry.network = grpcNetwork(entry.text)
		}
		l.entries = append(l.entries, entry)
	}
	return l
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

// grpcProxy is a proxy variable of grpc-core.
type grpcProxy struct {
	variable
	usable bool
	broken bool // it is used, but the port is none
	hop    Hop
}

// readGRPCProxy is GetHttpProxyServer: http only, in lower case, and with a host.
// A missing port is that of https, as for every target.
func readGRPCProxy(v variable) grpcProxy {
	proxy := grpcProxy{variable: v, hop: Hop{Protocol: Connect}}
	rest, found := strings.CutPrefix(v.value, "http://")
	if !found {
		return proxy
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	query, fragment, _ := strings.Cut(rest[len(authority):], "#")
	_, query, hasQuery := strings.Cut(query, "?")
	if at := strings.LastIndexByte(authority, '@'); at >= 0 {
		if at > 0 {
			proxy.hop.Auth = Sends(percentDecode(authority[:at]))
		}
		authority = authority[at+1:]
	}
	authority = percentDecode(authority)
	proxy.usable = authority != "" && (!hasQuery || query != "") && isGRPCQuery(query) && isGRPCQuery(fragment)
	host, port, ok := splitGRPC(authority)
	proxy.broken = !ok || host == "" || !isDigits(port) || portNumber(port) > 65535
	proxy.hop.Address = joinHostPort(host, port)
	return proxy
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

func toLowerASCII(text string) string {
	for i := range len(text) {
		if lowerASCII(text[i]) != text[i] {
			b := []byte(text)
			for j, c := range b {
				b[j] = lowerASCII(c)
			}
			return string(b)
		}
	}
	return text
}
