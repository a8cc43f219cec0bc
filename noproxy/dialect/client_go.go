package dialect

import (
	"net/netip"
	"strconv"
	"strings"
)

// client-go, and with it kubelet, kubectl, helm and controllers. It asks
// net/http, but for a network of NO_PROXY that httpproxy does not read: leading
// zeros count as nothing in it and in the host. kubectl exec, attach and
// port-forward make their own connection, with SPDY or, since Kubernetes 1.31,
// with WebSockets first.
//
// Rules: kubernetes/apimachinery pkg/util/net/http.go (NewProxierWithNoProxyCIDR),
// kubernetes/streaming pkg/httpstream/spdy/roundtripper.go and gorilla/websocket
// client.go and proxy.go.
var clientGoFamily = []*Client{{
	Name:       "client-go",
	Aliases:    []string{"client-go-rest", "kubelet", "kubeadm", "kubectl"},
	AlsoReads:  []string{"kubelet", "kubeadm", "kubectl", "helm", "controllers"},
	Release:    clientGoRelease,
	Latest:     "0.36",
	Behaviours: []Behaviour{{Source: "kubernetes/apimachinery pkg/util/net/http.go, 0.36.3", Read: readClientGo}},
}, {
	Name:       "client-go-spdy",
	AlsoReads:  []string{"kubectl exec", "kubectl port-forward"},
	Release:    clientGoRelease,
	Latest:     "0.36",
	Behaviours: []Behaviour{{Source: "kubernetes/streaming pkg/httpstream/spdy/roundtripper.go, 0.36.3", Read: readClientGoSPDY}},
}, {
	Name:       "client-go-websocket",
	AlsoReads:  []string{"kubectl exec"},
	Release:    clientGoRelease,
	Latest:     "0.36",
	Behaviours: []Behaviour{{Source: "gorilla/websocket client.go and proxy.go, e064f32, with client-go 0.36.3", Read: readClientGoWebSocket}},
}}

// clientGoRelease knows that Kubernetes 1.36 has client-go 0.36, and that 1.5 to
// 1.15 had 2.0 to 12.0.
func clientGoRelease(version string) string {
	number := firstNumber(version)
	first, minor, _ := strings.Cut(number, ".")
	switch major, err := strconv.Atoi(first); {
	case err == nil && major == 1:
		return "0." + minor
	case err == nil && major >= 2 && major <= 12:
		return "0." + strconv.Itoa(major+3)
	}
	return number
}

func readClientGo(env Env) Decider {
	r := goRules(env, goURL.read)
	r.host = func(t Target) (host, string) {
		h := sloppyHost(t)
		h.proxyOnly = h.addr.IsValid() && !literal(t.Host).IsValid()
		return h, ""
	}
	return r.goDecider(env, sloppyNetworks(env))
}

func readClientGoSPDY(env Env) Decider {
	r := goRules(env, tunnelURL.tunnelled)
	r.host = func(t Target) (host, string) {
		return host{name: t.Host, port: t.EffectivePort(), proxyOnly: !goResolvable(t.Host)}, ""
	}
	return r.goDecider(env)
}

func readClientGoWebSocket(env Env) Decider {
	r := goRules(env, gorillaURL.tunnelled)
	r.host = func(t Target) (host, string) {
		h := sloppyHost(t)
		if h.proxyOnly = !goResolvable(t.Host); !t.User.IsZero() {
			return h, "a WebSocket URL has no user information"
		}
		return h, ""
	}
	return r.goDecider(env, sloppyNetworks(env))
}

// tunnelURL is a proxy as net/http reads it, of a scheme that is known; every
// request is a tunnel. gorillaURL sends a user only with a password,
// but to SOCKS.
var tunnelURL, gorillaURL = func() (tunnel, gorilla proxyTraits) {
	tunnel = goURL
	tunnel.unknown = proxy{failure: unknownScheme}
	tunnel.schemes = map[string]Protocol{"": Connect, "http": Connect, "https": TLS, "socks5": Socks5Name}
	gorilla = tunnel
	gorilla.schemes = map[string]Protocol{"": Connect, "http": Connect, "https": TLS, "socks5": Socks5Name, "socks5h": Socks5Name}
	gorilla.sends = func(u proxyURL) (string, bool) {
		return u.user + ":" + u.password, u.hasPassword || u.hasUser && strings.HasPrefix(u.scheme, "socks")
	}
	return tunnel, gorilla
}()

// tunnelled makes a tunnel whatever the scheme of the URL is.
func (r *proxyTraits) tunnelled(v variable, _ string) proxy { return r.read(v, "https") }

func sloppyHost(t Target) host {
	return host{name: t.Host, port: t.EffectivePort(), addr: sloppyAddr(t.Host)}
}

// sloppyNetworks are the networks as ParseCIDRSloppy reads them: nothing is trimmed.
func sloppyNetworks(env Env) list {
	return rules{
		cut: elements,
		entry: func(text string) (entry, bool) {
			address, length, _ := strings.Cut(text, "/")
			network, ok := parseGoCIDR(withoutZeros(address) + "/" + length)
			return entry{network: network}, ok
		},
		covers: func(e *entry, h host) string { return e.contains(h) },
	}.readList(env.nonEmpty("NO_PROXY", "no_proxy"))
}

// sloppyAddr is ParseIPSloppy.
func sloppyAddr(text string) netip.Addr {
	addr := literal(withoutZeros(text))
	if addr.Zone() != "" {
		return netip.Addr{}
	}
	return addr.Unmap()
}

// withoutZeros drops the leading zeros of the parts of a text that looks like an
// IPv4 address.
func withoutZeros(text string) string {
	if strings.Trim(text, "0123456789.") != "" {
		return text
	}
	parts := strings.Split(text, ".")
	for i, part := range parts {
		if trimmed := strings.TrimLeft(part, "0"); trimmed != "" || part == "" {
			parts[i] = trimmed
		} else {
			parts[i] = "0"
		}
	}
	return strings.Join(parts, ".")
}
