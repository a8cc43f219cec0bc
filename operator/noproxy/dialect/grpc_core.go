package dialect

import (
	"cmp"
	"net/netip"
	"regexp"
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy/internal/percent"
)

// grpcCoreRules is HttpProxyMapper. Of the proxy variables the first that is
// set counts, for every target, and if it is empty there is no proxy.
func grpcCoreRules(networks bool) rules {
	const proxies = "grpc_proxy https_proxy http_proxy"
	return rules{
		find: Env.set, http: proxies, https: proxies, no: "no_grpc_proxy no_proxy", readProxy: func(v variable, _ string) proxy { return grpcURL.read(v, "https") },
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

// grpcURL is GetHttpProxyServer: http only, in lower case, and with a host. A
// missing port is that of https, as for every target.
var grpcURL = proxyURL{
	grammar: regexp.MustCompile(`^(?P<scheme>http)://` + lastAt + `(?P<host>[^@/?#]+)(?:/[^?#]*)?(?:\?` + grpcQuery + `+)?(?:#` + grpcQuery + `*)?$`),
	host: func(u *urlParts) bool {
		u.host, u.port = splitGRPC(percent.Decode(u.host))
		return true
	},
	port:       func(written, _ string) (string, bool) { return written, true },
	malformed:  proxy{ignored: unusableProxy},
	schemes:    map[string]Protocol{"http": Connect},
	sends:      func(u *urlParts) bool { return u.userinfo != "" },
	credential: func(u *urlParts) (string, bool) { return percent.Decode(u.userinfo), true },
	reach: func(host, port string) (string, bool) {
		return joinHostPort(host, port), host != "" && isDigits(port) && portNumber(port) <= 65535
	},
}

const grpcQuery = "[!$-;=?-Z_a-z~]"

// splitGRPC is SplitHostPort; what it cannot split has no host.
func splitGRPC(text string) (host, port string) {
	host, port, found := strings.Cut(text, ":")
	inner, bracketed := strings.CutPrefix(text, "[")
	switch {
	case bracketed:
		host, port, found = strings.Cut(inner, "]")
		if port = cmp.Or(port, ":443"); !found || port[0] != ':' || !strings.Contains(host, ":") {
			return "", ""
		}
		return host, port[1:]
	case found && !strings.Contains(port, ":"):
		return host, port
	}
	return text, "443"
}
