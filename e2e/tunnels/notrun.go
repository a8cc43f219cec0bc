package tunnels

// unavailable are agents that no test here can run, and why.
var unavailable = []line{
	{
		agent: "stolostron cluster-proxy-addon", version: "0.1.6-patch-03", way: string(Environment),
		set:     "six variables; `https://` proxies too",
		cannot:  "no CA of the proxy's own but the one in `ROOT_CA_CERT`",
		kyverno: notRun + ": its fork of gRPC could not be had; read in stolostron/grpc-go, `internal/transport/proxy.go`",
	},
	{
		agent: "Spectro Proxy (frpc)", version: "0.44.0 (branch tls-1.2)", way: string(Environment),
		set:     "`http_proxy`",
		cannot:  "NO_PROXY; `https://` proxies; kcp, quic",
		kyverno: notRun + ": its image and pack could not be had; frpc 0.44.0 is what it is made from",
	},
	{
		agent: "Rancher cattle-cluster-agent", version: "since 2020", way: string(Environment),
		set:     "six variables",
		cannot:  "`https://` proxies with remotedialer before 0.5.0",
		kyverno: notRun + ": rancher/rancher could not be had; read in rancher/remotedialer, `client.go` (http.ProxyFromEnvironment)",
	},
	{
		agent: "Teleport agent", version: "any", way: string(Environment),
		set:     "six variables",
		cannot:  "a proxy at localhost, so no sidecar",
		kyverno: notRun + ": it is no Go module that can be built by itself; read in gravitational/teleport, `api/client/proxy/proxy.go`",
	},
	{
		agent: "OCM klusterlet", version: "any", way: string(Environment),
		set:     "six variables",
		cannot:  "a kubeconfig with `proxy-url`, which wins; `https://` proxies with the gRPC driver",
		kyverno: notRun + ": it needs a whole hub; the addon's client of the same hub is under OCM cluster-proxy",
	},
	{
		agent: "cloudflared", version: "any", way: string(None),
		cannot:  "it has no proxy setting at all",
		kyverno: notRun + ": it needs Cloudflare",
	},
	{
		agent: "Gardener vpn-shoot", version: "any", way: string(None),
		cannot:  "OpenVPN has one proxy setting, which is in use for the seed's gateway",
		kyverno: notRun + ": it needs a seed",
	},
	{
		agent: "inlets-pro", version: "any", way: string(None),
		cannot:  "unknown: it is closed source",
		kyverno: notRun + ": it is closed source",
	},
}

// withUnavailable adds them to the rows.
func withUnavailable(rows []line) []line {
	for _, row := range unavailable {
		row.mutate = notRun // for the same reason
		rows = replace(rows, row)
	}
	return rows
}
