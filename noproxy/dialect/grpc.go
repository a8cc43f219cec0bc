package dialect

import (
	"net/netip"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/internal/percent"
)

// gRPC: the core, which is behind C++, Python, Ruby and PHP, and the one of
// Node.js. gRPC for Go is in grpc_go.go. Both look at the same lower-case
// variables for every target, whether it is secure or not, and make a tunnel.
var grpcFamily = []*Client{{
	Name:    "grpc-core",
	Latest:  "1",
	Aliases: []string{"grpc-c++", "grpc-python", "grpcio", "grpc-ruby", "grpc-php"},
	Behaviours: versions{
		{"", "", "grpc/grpc src/core/ext/filters/client_channel/http_proxy.cc, 1.54", grpcCoreRules(false).read},
		{"1.55", "networks", "grpc/grpc src/core/handshaker/http_connect/http_proxy_mapper.cc, 0638416 (pull request 31119)", grpcCoreRules(true).read},
	}.behaviours(),
}, {
	Name:    "grpc-js",
	Latest:  "1",
	Aliases: []string{"grpc-node"},
	Behaviours: versions{
		{"", "", grpcJSSource + "1.9.15", grpcJSRules(false, false).read},
		{"1.10.10", "the credential is decoded", grpcJSSource + "1.12.6", grpcJSRules(true, false).read},
		{"1.13.0", "an entry is how the host ends, no longer the host itself; networks", grpcJSSource + "1.14.7 (pull request 2876)", grpcJSRules(true, true).read},
	}.behaviours(),
}}

const grpcJSSource = "grpc/grpc-node packages/grpc-js/src/http_proxy.ts, "

// grpcCoreRules is HttpProxyMapper. Of the proxy variables the first that is
// set counts, for every target, and if it is empty there is no proxy.
func grpcCoreRules(networks bool) rules {
	const proxies = "grpc_proxy https_proxy http_proxy"
	return rules{
		find: Env.set, http: proxies, https: proxies, no: "no_grpc_proxy no_proxy", readProxy: grpcURL.tunnelled,
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

// cutGRPC drops empty elements, but keeps those of white space only: they become
// the end of every host.
func cutGRPC(list string) []Span {
	spans := commas(nothing)(list)
	for i := range spans {
		spans[i] = spans[i].trimFunc(list, cSpace)
	}
	return spans
}

// grpcNetwork is ServerInCIDRRange. A length that is too large counts as the length
// of the address. Only an IPv6 address may have brackets.
func grpcNetwork(text string) netip.Prefix {
	base, length, _ := strings.Cut(text, "/")
	if inner, ok := inBrackets(base); ok && strings.Contains(inner, ":") {
		base = inner
	}
	addr := literal(base)
	length = strings.TrimPrefix(strings.TrimSpace(length), "+")
	if !addr.IsValid() || !isDigits(length) {
		return netip.Prefix{}
	}
	return netip.PrefixFrom(addr.WithZone(""), min(portNumber(length), addr.BitLen()))
}

// grpcURL is GetHttpProxyServer: http only. A missing port is 443, as for every
// target.
var grpcURL = proxyTraits{
	ports:   map[string]string{anyScheme: "443"},
	schemes: map[string]Protocol{"http": Connect}, unknown: unused,
	sends: asItStands,
}

// grpcJSRules is mapProxyName: of the variables the first that is not empty
// counts. Nothing is trimmed. With networks an entry is how the host ends, so
// that an empty one covers everything; before, only the host itself is compared.
func grpcJSRules(decodes, networks bool) rules {
	const proxies = "grpc_proxy https_proxy http_proxy"
	r := rules{
		find: Env.nonEmpty, http: proxies, https: proxies, no: "no_grpc_proxy no_proxy",
		readProxy: grpcJSURL(decodes).tunnelled,
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

// grpcJSURL is getProxyInfo. A user without a password is sent as it is written,
// without a colon.
func grpcJSURL(decodes bool) *proxyTraits {
	return &proxyTraits{
		ports:   webOr80,
		schemes: map[string]Protocol{"http": Connect}, unknown: unused,
		sends: func(u proxyURL) (string, bool) {
			switch {
			case u.password == "":
				return u.user, u.hasUser
			case decodes:
				return percent.Decode(u.user) + ":" + percent.Decode(u.password), true
			}
			return withUser(u)
		},
		bytes: asSerialized,
	}
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
