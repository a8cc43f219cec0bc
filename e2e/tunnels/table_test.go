package tunnels_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

// way is how a tunnel's agent is told of the proxy.
type way string

// The ways of the policies, and none for agents that no setting helps.
const (
	environment way = "environment"
	sidecar     way = "sidecar"
	target      way = "relay" // which stands in the place of the agent's target
	none        way = "none"
)

// engine is the program that changes the agent's pod.
type engine string

const (
	byKyverno engine = "Kyverno"
	byMutate  engine = "fairlead mutate"
)

// stage is where a row is shown.
type stage string

const (
	plain  stage = "TestAgentsLeaveByAProxy"
	secure stage = "TestAgentsLeaveByAProxyThatSpeaksTLS"
)

// row is an agent of a version that is told in one way.
type row struct {
	agent, version string
	way            way
	set            string // what the pod is given
	cannot         string // what stays impossible
	on             stage
	run            func(*testing.T, *cluster, engine)
	short          bool   // make test runs it, by Kyverno
	kyverno        bool   // the pod as Kyverno makes it is run
	mutate         bool   // and as fairlead mutate prints it
	notRun         string // why nobody runs it
}

const (
	six        = "six variables"
	onOCM      = six + " on proxy-agent, addon-agent and service-proxy"
	keepalive  = "`--keepalive-time=30s`"
	noSecret   = ", without a password"
	byGRPC     = "`https://` proxies; a keepalive below 30 s; a proxy URL without a port"
	unread     = "the variables, which it does not read"
	udp        = "UDP: kcp and quic"
	anp        = "apiserver-network-proxy agent"
	proxyAgent = "OCM cluster-proxy"
)

// table has a row for each agent.
var table = []row{
	{
		agent: anp, version: tools.ANPAgent01.Version, way: environment, set: six + "; " + keepalive, cannot: byGRPC,
		on: plain, run: konnectivity01.environment, kyverno: true, mutate: true,
	},
	{
		agent: anp, version: tools.ANPAgent031.Version, way: environment, set: six + "; " + keepalive, cannot: byGRPC,
		on: plain, run: konnectivity031.environment, kyverno: true, mutate: true,
	},
	{
		agent: anp, version: tools.ANPAgent034.Version, way: environment, set: six + "; " + keepalive, cannot: byGRPC + " (it goes to 443)",
		on: plain, run: konnectivity034.environment, short: true, kyverno: true, mutate: true,
	},
	{
		agent: anp, version: tools.ANPAgent034.Version, way: sidecar, set: six + noSecret + "; " + keepalive,
		on: secure, run: konnectivity034.sidecar, kyverno: true, mutate: true,
	},
	{
		agent: anp, version: tools.ANPAgent034.Version, way: target, set: "`https://` proxies; " + keepalive,
		on: secure, run: konnectivity034.relay, kyverno: true, mutate: true,
	},
	{
		agent: "chisel", version: tools.Chisel.Version, way: sidecar, set: "`--proxy`" + noSecret, cannot: unread,
		on: secure, run: chiselSidecar, kyverno: true, mutate: true,
	},
	{
		agent: "chisel", version: tools.Chisel.Version, way: target, set: "`fairlead.io/relay-targets`; `https://` proxies", cannot: unread,
		on: secure, run: chiselRelay, kyverno: true, mutate: true,
	},
	{
		agent: "frpc", version: tools.FRPC044.Version, way: environment, set: "`http_proxy`",
		cannot: "NO_PROXY is not read; `https://` proxies; kcp; websocket through a proxy",
		on:     plain, run: frp044.environment, kyverno: true, mutate: true,
	},
	{
		agent: "frpc", version: tools.FRPC061.Version, way: environment, set: "`http_proxy`",
		cannot: "NO_PROXY is not read; `https://` proxies; kcp; quic",
		on:     plain, run: frp061.environment, short: true, kyverno: true, mutate: true,
	},
	{
		agent: "frpc", version: tools.FRPC061.Version, way: sidecar, set: "`http_proxy`" + noSecret, cannot: udp,
		on: plain, run: frp061.through(sidecar), kyverno: true, mutate: true,
	},
	{
		agent: "frpc", version: tools.FRPC061.Version, way: target, set: "the sidecar fairlead-relay, a host alias", cannot: udp,
		on: plain, run: frp061.through(target), kyverno: true, mutate: true,
	},
	{
		agent: "frpc", version: tools.FRPC070.Version, way: environment, set: "`http_proxy`; SSL_CERT_FILE for an `https://` proxy",
		on: plain, run: frp070, mutate: true,
	},
	{
		agent: proxyAgent, version: "v0.10.0", way: environment,
		set:    onOCM + "; " + keepalive + " on proxy-agent. proxy-agent is apiserver-network-proxy 0.31.4, its image has 0.30.2",
		cannot: "`https://` proxies; addon-agent and service-proxy by AddOnDeploymentConfig alone, which does not reach them",
		on:     plain, run: ocmEnvironment, short: true, kyverno: true, mutate: true,
	},
	{
		agent: proxyAgent, version: "v0.10.0", way: sidecar, set: onOCM + noSecret + "; " + keepalive + " on proxy-agent",
		notRun: "its settings are rows of the policy's tests, and its proxy-agent is the apiserver-network-proxy agent",
	},
	{
		agent: proxyAgent + ", user-server on the hub", version: "v0.10.0", way: environment,
		set:    six + " by inject-proxy-env, the proxy server's namespace in NO_PROXY",
		cannot: "`proxy-entrypoint.<namespace>` with `.svc` alone in NO_PROXY",
		notRun: "the list is tested with the chart, its gRPC with the apiserver-network-proxy",
	},
	{
		agent: "stolostron cluster-proxy-addon", version: "0.1.6-patch-03", way: environment, set: six + "; `https://` proxies too",
		cannot: "no CA of the proxy's own but the one in `ROOT_CA_CERT`",
		notRun: "its fork of gRPC could not be had; read in stolostron/grpc-go, `internal/transport/proxy.go`",
	},
	{
		agent: "Spectro Proxy (frpc)", version: "0.44.0 (branch tls-1.2)", way: environment, set: "`http_proxy`",
		cannot: "NO_PROXY; `https://` proxies; kcp, quic",
		notRun: "its image and pack could not be had; frpc 0.44.0 is what it is made from",
	},
	{
		agent: "Rancher cattle-cluster-agent", version: "since 2020", way: environment, set: six,
		cannot: "`https://` proxies with remotedialer before 0.5.0",
		notRun: "rancher/rancher could not be had; read in rancher/remotedialer, `client.go` (http.ProxyFromEnvironment)",
	},
	{
		agent: "Teleport agent", version: "any", way: environment, set: six, cannot: "a proxy at localhost, so no sidecar",
		notRun: "it is no Go module that can be built by itself; read in gravitational/teleport, `api/client/proxy/proxy.go`",
	},
	{
		agent: "OCM klusterlet", version: "any", way: environment, set: six,
		cannot: "a kubeconfig with `proxy-url`, which wins; `https://` proxies with the gRPC driver",
		notRun: "it needs a whole hub; the addon's client of the same hub is under OCM cluster-proxy",
	},
	{agent: "cloudflared", version: "any", way: none, cannot: "it has no proxy setting at all", notRun: "it needs Cloudflare"},
	{
		agent: "Gardener vpn-shoot", version: "any", way: none,
		cannot: "OpenVPN has one proxy setting, which is in use for the seed's gateway", notRun: "it needs a seed",
	},
	{agent: "inlets-pro", version: "any", way: none, cannot: "unknown: it is closed source", notRun: "it is closed source"},
}
