package dialect

import (
	"net/netip"
	"regexp"
	"strings"
)

// gRPC for Go asks http.ProxyFromEnvironment with the scheme https, whatever
// the credentials are, and makes a tunnel; only who is asked about changed.
// The rules are those of grpc.NewClient, from 1.63 on. Programs that still call
// grpc.Dial ask about the name in every version.
//
// Rules: grpc/grpc-go internal/transport/proxy.go until 1.70, which is called
// with the address that the resolver dns found, and
// internal/resolver/delegatingresolver from 1.71 on, which asks before it
// resolves.
var grpcGoFamily = []*Client{{
	Name:      "grpc-go",
	AlsoReads: []string{"OpenTelemetry Collector"},
	Latest:    "1.85",
	Behaviours: []Behaviour{
		{Source: "grpc/grpc-go internal/transport/proxy.go, 1.62.2, with grpc.Dial", Read: grpcGo{}.read},
		{
			Since: "1.63", Change: "grpc.NewClient resolves the name, and NO_PROXY is asked about the address",
			Source: "grpc/grpc-go internal/transport/proxy.go, 1.63.2 and 1.68.2", Read: grpcGo{unmapped: true}.readResolved, Resolves: true,
		},
		{
			Since: "1.69", Change: "an IPv4 address inside an IPv6 one can be dialled",
			Source: "grpc/grpc-go internal/transport/proxy.go, 1.70.0", Read: grpcGo{}.readResolved, Resolves: true,
		},
		{
			Since: "1.71", Change: "NO_PROXY is asked about the name; a proxy without a port has 443",
			Source: "grpc/grpc-go internal/resolver/delegatingresolver, 1.71.0 and 1.83.2", Read: grpcGo{defaultPort: true}.read,
		},
	},
}}

// grpcGo has the differences between the versions, except for the resolver.
type grpcGo struct {
	defaultPort bool // a proxy may lack its port
	unmapped    bool // an IPv4 address inside an IPv6 one loses its brackets
}

func (g grpcGo) read(env Env) Decider {
	const proxies = "HTTPS_PROXY https_proxy"
	return rules{
		find: Env.nonEmpty, http: proxies, https: proxies, readProxy: g.proxy,
		host: func(t Target) (host, string) {
			return host{name: t.Host, port: t.EffectivePort(), proxyOnly: !goResolvable(t.Host)}, ""
		},
	}.goDecider(env)
}

var (
	goLabel   = regexp.MustCompile(`^[0-9A-Za-z_](?:[0-9A-Za-z_-]{0,61}[0-9A-Za-z_])?$`)
	goNumeric = regexp.MustCompile(`^[0-9.]*$`)
)

// goResolvable is isDomainName of package net, or an address. No name is encoded.
func goResolvable(host string) bool {
	if literal(host).IsValid() {
		return true
	}
	name := strings.TrimSuffix(host, ".")
	for label := range strings.SplitSeq(name, ".") {
		if !goLabel.MatchString(label) {
			return false
		}
	}
	return len(name) < 254 && !goNumeric.MatchString(name)
}

// proxy dials the host of the URL as it stands there, over TCP, whatever the
// scheme is.
func (g grpcGo) proxy(v variable, _ string) proxy {
	row := proxyTraits{schemes: map[string]Protocol{"": Connect, anyScheme: Connect}, sends: withUser}
	if g.defaultPort {
		row.ports = map[string]string{anyScheme: "443"}
	}
	return row.read(v, "https")
}

// readResolved says why a name that the list covers uses the proxy all the same.
func (g grpcGo) readResolved(env Env) Decider {
	byName, byAddress := g.read(env), g.readAddresses(env)
	return func(t Target) Decision {
		decision := byAddress(t)
		if decision.Route == Proxy && byName(t).Route == Direct {
			decision.Reason = nameNotAsked
		}
		return decision
	}
}

// readAddresses decides about each address of a name. Where these do not agree,
// it depends on which one answers first.
func (g grpcGo) readAddresses(env Env) Decider {
	decide := g.read(env)
	return func(t Target) Decision {
		addrs := t.resolved()
		switch {
		case !goResolvable(t.Host) || g.unmapped && literal(t.Host).Is4In6():
			return fails("", unsendableHost)
		case len(addrs) == 0:
			return g.unresolved(env, t)
		}
		decision := decide(t.at(addrs[0]))
		for _, addr := range addrs[1:] {
			if other := decide(t.at(addr)); other.Route != decision.Route {
				return depends(env.nonEmpty("NO_PROXY", "no_proxy").name, unevenAddresses)
			}
		}
		return decision
	}
}

// unresolved is about a name whose address is not known: where the list has an
// address or a network, that may decide.
func (g grpcGo) unresolved(env Env, t Target) Decision {
	noProxy := env.nonEmpty("NO_PROXY", "no_proxy")
	list, asked := CompileGo(noProxy.value), g.read(env)(t)
	switch {
	case list.all != none, asked.Route == Direct && asked.Entry.Empty(): // also without a proxy
		return asked
	case len(list.addrs)+len(list.networks) > 0:
		return depends(noProxy.name, unknownAddress)
	}
	https := env.nonEmpty("HTTPS_PROXY", "https_proxy")
	return g.read(Env{https.name: https.value})(t)
}

const (
	nameNotAsked    = "the name is resolved first (grpc.NewClient, 1.63 to 1.70), and NO_PROXY is asked about the address: list its network, or update to 1.71"
	unknownAddress  = "the name is resolved first, and its address is not known here (--resolve)"
	unevenAddresses = "the name is resolved first, and the list covers only some of its addresses"
)

// at is the same URL with an address in place of the name.
func (t Target) at(addr netip.Addr) Target {
	t.Host = addr.String()
	return t
}
