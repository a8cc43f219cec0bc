package dialect

import (
	"maps"
	"strings"
)

// Prometheus with proxy_from_environment asks golang.org/x/net itself, and not the
// copy that Go has. The version is that of the module with which it was built.
//
// Rules: prometheus/common config/http_config.go (ProxyConfig.Proxy) and golang/net
// http/httpproxy/proxy.go, which reads lower case first since v0.58.
var xnetFamily = []*Client{{
	Name:      "x-net-httpproxy",
	Aliases:   []string{"golang.org/x/net/http/httpproxy"},
	Programs:  []string{"prometheus", "alertmanager"},
	AlsoReads: []string{"Prometheus and Alertmanager with proxy_from_environment"},
	Latest:    "0.62",
	Behaviours: []Behaviour{
		{Source: "golang/net http/httpproxy/proxy.go, v0.57.0", Read: readGo},
		{
			Since: "0.58", Change: "variables in lower case are read first",
			Source: "golang/net http/httpproxy/proxy.go, v0.58.0 and v0.62.0", Read: readXNet,
		},
	},
}}

// readXNet is net/http with the order of the names turned round.
func readXNet(env Env) Decider {
	own := maps.Clone(env)
	for _, name := range []string{"http_proxy", "https_proxy", "no_proxy"} {
		if env[name] != "" {
			delete(own, strings.ToUpper(name))
		}
	}
	return readGo(own)
}
