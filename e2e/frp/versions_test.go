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
	program        string // what stands for the program there: its command, or its image
	config         string // the key of the ConfigMap
	port           int    // of frps, for frpc
	// quiet changes frpc.'s configuration so that nothing is said on an idle connection; quietServer is a whole one.
	quiet       func(config string) string
	serverText  func(port int) string
	quietServer func(port int) string
	transport   func(config, protocol string) string
	refused     string // what frpc says when the proxy refuses it
}

//go:embed testdata/v0.44.0.yaml
var manifest044 []byte

//go:embed testdata/v0.61.0.yaml
var manifest061 []byte

var versions = []version{{
	name: "v0.44.0", client: tools.FRPC044, server: tools.FRPS044,
	manifest: manifest044, program: "/frpc", config: "frpc.ini", port: 443,
	quiet: func(config string) string {
		return strings.Replace(config, "[common]", "[common]\nheartbeat_interval = -1\ntcp_mux_keepalive_interval = 600", 1)
	},
	serverText: func(port int) string {
		return fmt.Sprintf("[common]\nbind_port = %d\nvhost_https_port = 443\nsubdomain_host = %s\n", port, machine.HubName)
	},
	quietServer: func(port int) string {
		return fmt.Sprintf("[common]\nbind_port = %d\nvhost_https_port = 9443\nsubdomain_host = other.example\ntcp_mux_keepalive_interval = 600\n", port)
	},
	transport: func(config, protocol string) string {
		return strings.Replace(config, "[common]", "[common]\nprotocol = "+protocol, 1)
	},
}, {
	name: "v0.61.0", client: tools.FRPC061, server: tools.FRPS061,
	manifest: manifest061, program: "registry.example/frpc:v0.61.0", config: "frpc.toml", port: 7000,
	quiet: func(config string) string {
		return "transport.tcpMuxKeepaliveInterval = 600\n" + config
	},
	serverText: func(port int) string {
		return fmt.Sprintf("bindPort = %d\nvhostHTTPSPort = 443\nsubDomainHost = %q\n", port, machine.HubName)
	},
	quietServer: func(port int) string {
		return fmt.Sprintf("bindPort = %d\nvhostHTTPSPort = 9443\nsubDomainHost = \"other.example\"\ntransport.tcpMuxKeepaliveInterval = 600\n", port)
	},
	transport: func(config, protocol string) string {
		return fmt.Sprintf("transport.protocol = %q\n", protocol) + config
	},
}}
