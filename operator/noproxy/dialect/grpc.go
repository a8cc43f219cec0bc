package dialect

import (
	"net/netip"
	"strings"
)

// gRPC: the core, which is behind C++, Python, Ruby and PHP, and the one of
// Node.js; grpc-go is net/http (go.go). Both look at the same lower-case
// variables for every target, whether it is secure or not, and make a tunnel.
var grpcFamily = []*Client{{
	Name:    "grpc-core",
	Aliases: []string{"grpc-c++", "grpc-python", "grpcio", "grpc-ruby", "grpc-php"},
	Behaviours: []Behaviour{
		{Source: "grpc/grpc src/core/ext/filters/client_channel/http_proxy.cc, 1.54", Read: readGRPCCore(false)},
		{
			Since: "1.55", Change: "networks",
			Source: "grpc/grpc src/core/handshaker/http_connect/http_proxy_mapper.cc, 0638416 (pull request 31119)", Read: readGRPCCore(true),
		},
	},
}, {
	Name:    "grpc-js",
	Aliases: []string{"grpc-node"},
	Behaviours: []Behaviour{
		{Source: grpcJSSource + "1.9.15", Read: grpcJSRules{}.read},
		{Since: "1.10.10", Change: "the credential is decoded", Source: grpcJSSource + "1.12.6", Read: grpcJSRules{decoded: true}.read},
		{
			Since: "1.13.0", Change: "an entry is how the host ends, no longer the host itself; networks",
			Source: grpcJSSource + "1.14.7 (pull request 2876)", Read: grpcJSRules{decoded: true, networks: true}.read,
		},
	},
}}

const grpcJSSource = "grpc/grpc-node packages/grpc-js/src/http_proxy.ts, "

// grpcEntry is an entry of the list: the end of the host, without regard to
// dots, or a network that an address is in.
type grpcEntry struct {
	span    Span
	text    string
	network netip.Prefix // not valid: none
}

func (e *grpcEntry) match(host string, addr netip.Addr, exact bool) string {
	switch {
	case host == e.text:
		return theName
	case exact:
		return ""
	case e.text == "":
		return everything
	case strings.HasSuffix(host, e.text):
		if e.text[0] == '.' {
			return belowName
		}
		return endsWith
	case e.network.Contains(addr):
		return inNetwork
	}
	return ""
}

// grpcList is a list of such entries, in the variable that was found.
type grpcList struct {
	variable variable
	entries  []grpcEntry
	exact    bool // only hosts as a whole are compared
}

func (l *grpcList) match(host string) (Span, string, bool) {
	addr := literal(host).WithZone("")
	for i := range l.entries {
		if reason := l.entries[i].match(host, addr, l.exact); reason != "" {
			return l.entries[i].span, reason, true
		}
	}
	return Span{}, "", false
}
