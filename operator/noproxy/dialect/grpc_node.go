package dialect

import (
	"net/netip"
	"strings"
)

// grpcJSRules is mapProxyName: of the variables the first that is not empty
// counts. Nothing is trimmed. With networks an entry is how the host ends, so
// that an empty one covers everything; before, only the host itself is compared.
func grpcJSRules(decoded, networks bool) rules {
	const proxies = "grpc_proxy https_proxy http_proxy"
	r := rules{
		find: Env.nonEmpty, http: proxies, https: proxies, no: "no_grpc_proxy no_proxy",
		readProxy: func(v variable, _ string) proxy { return readGRPCJSProxy(v.value, decoded) },
		host: func(t Target) (host, string) {
			return host{name: t.Host, addr: literal(t.Host).WithZone("")}, ""
		},
		cut: elementsOf, names: exactly,
	}
	if networks {
		r.names = exactly | dotted | ends
		r.entry = func(text string) (entry, bool) { return entry{text: text, network: grpcJSNetwork(text)}, true }
	}
	return r
}

// readGRPCJSProxy is getProxyInfo. A user without a password is sent as it is
// written, without a colon. What cannot be decoded fails whatever the list says.
func readGRPCJSProxy(value string, decodes bool) proxy {
	u, ok := parseWHATWG(value)
	if !ok || u.scheme != "http" {
		return proxy{ignored: unusableProxy}
	}
	auth, decoded := Auth{}, true
	switch {
	case u.username != "" && u.password == "":
		auth = Sends(u.username)
	case u.username != "" && decodes:
		auth, decoded = u.decodedAuth()
	case u.username != "":
		auth = u.encodedAuth()
	}
	if !decoded {
		return proxy{fatal: brokenProxy}
	}
	return proxy{hop: u.hop(auth)}
}

// grpcJSNetwork is parseCIDR: IPv4 only, and the length ends where parseInt
// ends. A shift by 32 bits is one by none, so that /0 is the address itself.
func grpcJSNetwork(text string) netip.Prefix {
	base, length, _ := strings.Cut(text, "/")
	length = strings.TrimPrefix(strings.TrimLeftFunc(length, isJSSpace), "+")
	digits := length[:len(length)-len(strings.TrimLeft(length, "0123456789"))]
	addr, bits := literal(base), portNumber(digits)
	if !addr.Is4() || digits == "" || strings.Contains(length, "/") || bits > 32 {
		return netip.Prefix{}
	}
	if bits == 0 {
		bits = 32
	}
	return netip.PrefixFrom(addr, bits)
}
