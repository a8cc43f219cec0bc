package frp_test

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// version is one of frp, with what its configuration is called there.
type version struct {
	name           string
	client, server tools.Tool
	manifest       []byte // a ConfigMap and a Deployment
	program        string // of the Deployment: its command, or its image
	file           string // of the ConfigMap
	port           int    // of frps, for frpc
	config         func(port, vhostPort int) string
	// quiet adds to a configuration of either side that nothing is said on an idle connection. By itself, frpc or frps
	// says something every 30 s.
	quiet func(config string) string
	// transport adds another protocol to frpc's.
	transport  func(config, protocol string) string
	transports map[string]string // protocol: what frpc says then
	cannot     string            // for people
}

//go:embed testdata/v0.44.0.yaml
var manifest044 []byte

//go:embed testdata/v0.61.0.yaml
var manifest061 []byte

var v044 = version{
	name: "v0.44.0", client: tools.FRPC044, server: tools.FRPS044,
	manifest: manifest044, program: "/frpc", file: "frpc.ini", port: 443,
	config: func(port, vhostPort int) string {
		return fmt.Sprintf("[common]\nbind_port = %d\nvhost_https_port = %d\nsubdomain_host = %s\n", port, vhostPort, machine.HubName)
	},
	quiet: func(config string) string {
		return strings.Replace(config, "[common]", "[common]\nheartbeat_interval = -1\ntcp_mux_keepalive_interval = 600", 1)
	},
	transport: func(config, protocol string) string {
		return strings.Replace(config, "[common]", "[common]\nprotocol = "+protocol, 1)
	},
	transports: map[string]string{
		"quic":      "invalid protocol",
		"websocket": "bad status", // it is the proxy that it asks to upgrade, before the CONNECT
	},
	cannot: "NO_PROXY is not read; `https://` proxies; kcp; websocket through a proxy",
}

var v061 = version{
	name: "v0.61.0", client: tools.FRPC061, server: tools.FRPS061,
	manifest: manifest061, program: "registry.example/frpc:v0.61.0", file: "frpc.toml", port: 7000,
	config: func(port, vhostPort int) string {
		return fmt.Sprintf("bindPort = %d\nvhostHTTPSPort = %d\nsubDomainHost = %q\n", port, vhostPort, machine.HubName)
	},
	quiet: func(config string) string {
		return "transport.tcpMuxKeepaliveInterval = 600\n" + config
	},
	transport: func(config, protocol string) string {
		return fmt.Sprintf("transport.protocol = %q\n", protocol) + config
	},
	transports: map[string]string{
		"quic":      "lookup " + machine.HubName, // it dials the hub itself
		"websocket": "start proxy success",
	},
	cannot: "NO_PROXY is not read; `https://` proxies; kcp; quic",
}
