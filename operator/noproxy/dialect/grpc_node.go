package dialect

import (
	"net/netip"
	"strings"
)

// grpcJSRules are the versions of grpc-js that changed what it does.
type grpcJSRules struct{ decoded, networks bool }

// read is mapProxyName: of the variables the first that is not empty counts.
func (r grpcJSRules) read(env Env) Decider {
	proxy := r.readProxy(env.nonEmpty("grpc_proxy", "https_proxy", "http_proxy"))
	list := r.readList(env.nonEmpty("no_grpc_proxy", "no_proxy"))
	return func(t Target) Decision {
		switch {
		case proxy.name == "":
			return direct("", Span{}, noVariable)
		case proxy.broken:
			return fails(proxy.name, brokenProxy)
		case !proxy.usable:
			return direct(proxy.name, Span{}, unusableProxy)
		}
		if entry, reason, found := list.match(t.Host); found {
			return direct(list.variable.name, entry, reason)
		}
		return proxied(proxy.name, proxy.hop)
	}
}

// readProxy is getProxyInfo. A user without a password is sent as it is
// written, without a colon.
func (r grpcJSRules) readProxy(v variable) grpcProxy {
	proxy := grpcProxy{variable: v}
	u, ok := parseWHATWG(v.value)
	if !ok || u.scheme != "http" {
		return proxy
	}
	auth, decoded := Auth{}, true
	switch {
	case u.username != "" && u.password == "":
		auth = Sends(u.username)
	case u.username != "" && r.decoded:
		auth, decoded = u.decodedAuth()
	case u.username != "":
		auth = u.encodedAuth()
	}
	proxy.usable, proxy.broken, proxy.hop = true, !decoded, u.hop(auth)
	return proxy
}

// readList takes the elements as they are: nothing is trimmed, and since an
// entry is how the host ends, an empty one covers everything. Before, only the
// host itself was compared.
func (r grpcJSRules) readList(v variable) grpcList {
	l := grpcList{variable: v, exact: !r.networks}
	if v.name == "" {
		return l
	}
	for _, span := range elements(v.value) {
		entry := grpcEntry{span: span, text: span.Of(v.value)}
		if r.networks {
			entry.network = grpcJSNetwork(entry.text)
		}
		l.entries = append(l.entries, entry)
	}
	return l
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
