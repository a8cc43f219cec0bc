package dialect

// gRPC: the core, which is behind C++, Python, Ruby and PHP, and the one of
// Node.js; grpc-go is net/http (go.go). Both look at the same lower-case
// variables for every target, whether it is secure or not, and make a tunnel.
var grpcFamily = []*Client{{
	Name:    "grpc-core",
	Aliases: []string{"grpc-c++", "grpc-python", "grpcio", "grpc-ruby", "grpc-php"},
	Behaviours: versions{
		{"", "", "grpc/grpc src/core/ext/filters/client_channel/http_proxy.cc, 1.54", grpcCoreRules(false).read},
		{"1.55", "networks", "grpc/grpc src/core/handshaker/http_connect/http_proxy_mapper.cc, 0638416 (pull request 31119)", grpcCoreRules(true).read},
	}.behaviours(),
}, {
	Name:    "grpc-js",
	Aliases: []string{"grpc-node"},
	Behaviours: versions{
		{"", "", grpcJSSource + "1.9.15", grpcJSRules(false, false).read},
		{"1.10.10", "the credential is decoded", grpcJSSource + "1.12.6", grpcJSRules(true, false).read},
		{"1.13.0", "an entry is how the host ends, no longer the host itself; networks", grpcJSSource + "1.14.7 (pull request 2876)", grpcJSRules(true, true).read},
	}.behaviours(),
}}

const grpcJSSource = "grpc/grpc-node packages/grpc-js/src/http_proxy.ts, "
