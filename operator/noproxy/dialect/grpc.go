package dialect

// gRPC: the core, which is behind C++, Python, Ruby and PHP, and the one of
// Node.js; grpc-go is net/http (go.go). Both look at the same lower-case
// variables for every target, whether it is secure or not, and make a tunnel.
var grpcFamily = []*Client{{
	Name:    "grpc-core",
	Aliases: []string{"grpc-c++", "grpc-python", "grpcio", "grpc-ruby", "grpc-php"},
	Behaviours: []Behaviour{
		{Source: "grpc/grpc src/core/ext/filters/client_channel/http_proxy.cc, 1.54", Read: grpcCoreRules(false).read},
		{
			Since: "1.55", Change: "networks",
			Source: "grpc/grpc src/core/handshaker/http_connect/http_proxy_mapper.cc, 0638416 (pull request 31119)", Read: grpcCoreRules(true).read,
		},
	},
}, {
	Name:    "grpc-js",
	Aliases: []string{"grpc-node"},
	Behaviours: []Behaviour{
		{Source: grpcJSSource + "1.9.15", Read: grpcJSRules(false, false).read},
		{Since: "1.10.10", Change: "the credential is decoded", Source: grpcJSSource + "1.12.6", Read: grpcJSRules(true, false).read},
		{
			Since: "1.13.0", Change: "an entry is how the host ends, no longer the host itself; networks",
			Source: grpcJSSource + "1.14.7 (pull request 2876)", Read: grpcJSRules(true, true).read,
		},
	},
}}

const grpcJSSource = "grpc/grpc-node packages/grpc-js/src/http_proxy.ts, "
