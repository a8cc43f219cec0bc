package tunnel_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
)

// withConfig returns a pod of frpc whose configuration is in a ConfigMap.
func withConfig(name, content, container string) string {
	return "kind: Pod\nmetadata: {labels: {app: frpc}}\nspec:\n  volumes: [{name: c, configMap: {name: frpc}}]\n  containers:\n" +
		"  - {name: frpc, image: 'frpc:v0.61.0', args: [-c, /etc/frp/" + name + "], volumeMounts: [{name: c, mountPath: /etc/frp}]" + container + "}\n" +
		"---\nkind: ConfigMap\nmetadata: {name: frpc}\ndata:\n  " + name + ": |\n    " + strings.ReplaceAll(content, "\n", "\n    ") + "\n"
}

func TestConfigurationsOfFRPC(t *testing.T) {
	const variable = ", env: [{name: http_proxy, value: 'http://10.0.0.9:3128'}, {name: HUB, value: hub.example}]"
	for name, test := range map[string]struct {
		file, content, container string
		hub, setting             string
		through                  tunnel.Through
		codes                    string
	}{
		"TOML, by the environment":       {"frpc.toml", "serverAddr = \"hub.example\"\nserverPort = 443", variable, "hub.example:443", "variable http_proxy", tunnel.Proxy, ""},
		"TOML, with a proxy of its own":  {"frpc.toml", "serverAddr = \"hub.example\"\nserverPort = 443\n[transport]\nproxyURL = \"http://10.0.0.8:3128\"", variable, "hub.example:443", "transport.proxyURL in ConfigMap frpc, key frpc.toml", tunnel.Proxy, ""},
		"TOML, dotted":                   {"frpc.toml", "serverAddr = 'hub.example' # the hub\nserverPort = 443 # https\ntransport.protocol = \"quic\"", variable, "hub.example:443", "transport.protocol", tunnel.Fails, "Error NoSetting"},
		"TOML, commented out":            {"frpc.toml", "serverAddr = \"hub.example\"\nserverPort = 443\n# transport.proxyURL = \"http://10.0.0.8:3128\"", "", "hub.example:443", "", tunnel.Direct, "Error NoProxy"},
		"TOML, of a proxy":               {"frpc.toml", "serverAddr = \"hub.example\"\nserverPort = 443\n[[proxies]]\nserverPort = 1", variable, "hub.example:443", "variable http_proxy", tunnel.Proxy, ""},
		"TOML, a comment at a table":     {"frpc.toml", "serverAddr = \"hub.example\"\nserverPort = 443\n[transport] # of the tunnel\nproxyURL = \"http://10.0.0.8:3128\"", variable, "hub.example:443", "transport.proxyURL in ConfigMap frpc, key frpc.toml", tunnel.Proxy, ""},
		"TOML, an inline table":          {"frpc.toml", "serverAddr = \"hub.example\"\nserverPort = 443\ntransport = {protocol = \"tcp\", proxyURL = \"http://10.0.0.8:3128\"}", variable, "hub.example:443", "transport.proxyURL in ConfigMap frpc, key frpc.toml", tunnel.Proxy, ""},
		"TOML, a text of many lines":     {"frpc.toml", "serverAddr = \"\"\"hub.example\"\"\"\nserverPort = 4_43\nauth.token = \"\"\"\nserverAddr = 'x'\n\"\"\"\n\"transport\".'proxyURL' = 'http://10.0.0.8:3128'", variable, "hub.example:443", "transport.proxyURL in ConfigMap frpc, key frpc.toml", tunnel.Proxy, ""},
		"TOML, a table below proxies":    {"frpc.toml", "serverAddr = \"hub.example\"\nserverPort = 443\n[[proxies]]\nname = \"a\"\n[proxies.transport]\nproxyURL = \"http://10.0.0.8:3128\"", variable, "hub.example:443", "variable http_proxy", tunnel.Proxy, ""},
		"INI, a comment at a section":    {"frpc.ini", "[common] ; of the tunnel\nserver_addr = hub.example\nserver_port = 443\nhttp_proxy = \"http://10.0.0.8:3128\"", variable, "hub.example:443", "transport.proxyURL in ConfigMap frpc, key frpc.ini", tunnel.Proxy, ""},
		"a template with a loop":         {"frpc.toml", "serverAddr = \"{{ .Envs.HUB }}\"\nserverPort = 443\n{{- range $_, $v := parseNumberRangePair \"1-2\" \"1-2\" }}\n[[proxies]]\nname = \"tcp-{{ $v.First }}\"\nlocalPort = {{ $v.First }}\n{{- end }}", variable, "hub.example:443", "variable http_proxy", tunnel.Proxy, ""},
		"INI":                            {"frpc.ini", "[common]\nserver_addr = hub.example\nserver_port = 443\nprotocol = tcp\nhttp_proxy = http://10.0.0.8:3128", "", "hub.example:443", "transport.proxyURL in ConfigMap frpc, key frpc.ini", tunnel.Proxy, ""},
		"INI, without a port":            {"frpc.ini", "[common]\nserver_addr = hub.example", variable, "hub.example:7000", "variable http_proxy", tunnel.Proxy, "Warning HubPort"},
		"INI, with a password":           {"frpc.ini", "[common]\nserver_addr = hub.example\nserver_port = 443\nhttp_proxy = " + good, "", "hub.example:443", "transport.proxyURL in ConfigMap frpc, key frpc.ini", tunnel.Proxy, "Error Password"},
		"YAML":                           {"frpc.yaml", "serverAddr: hub.example\nserverPort: 443\ntransport:\n  protocol: kcp", variable, "hub.example:443", "transport.protocol", tunnel.Fails, "Error NoSetting"},
		"JSON":                           {"frpc.json", `{"serverAddr": "hub.example", "serverPort": 443}`, variable, "hub.example:443", "variable http_proxy", tunnel.Proxy, ""},
		"a template":                     {"frpc.toml", "serverAddr = \"{{ .Envs.HUB }}\"\nserverPort = {{ .Envs.PORT }}\ntransport.proxyURL = \"{{ .Envs.http_proxy }}\"", variable, "hub.example:7000", "transport.proxyURL in ConfigMap frpc, key frpc.toml", tunnel.Proxy, "Warning HubPort"},
		"an empty one":                   {"frpc.toml", "", variable, "", "variable http_proxy", tunnel.Proxy, "Info HubUnknown"},
		"one that breaks off in a quote": {"frpc.toml", "serverAddr = \"hub", variable, "", "variable http_proxy", tunnel.Proxy, "Info HubUnknown"},
	} {
		t.Run(name, func(t *testing.T) {
			got, all := judge(t, readInput(t, withConfig(test.file, test.content, test.container)))
			if got.Hub != test.hub || got.Setting != test.setting || got.Through != test.through || strings.Join(all, ", ") != test.codes {
				t.Errorf("%+v", got)
			}
		})
	}
}

// Where a file comes from, by how its volume is mounted.
func TestFilesAreFoundWhereKubeletPutsThem(t *testing.T) {
	const config = "---\nkind: ConfigMap\nmetadata: {name: m}\ndata: {k: 'serverAddr = \"hub.example\"'}\n"
	for name, volume := range map[string]string{
		"by its key":          "args: [-c, /etc/frp/k], volumeMounts: [{name: v, mountPath: /etc/frp/}]}]\n  volumes: [{name: v, configMap: {name: m}}]",
		"by an item":          "args: [-c, /etc/frp/a/b], volumeMounts: [{name: v, mountPath: /etc/frp}]}]\n  volumes: [{name: v, configMap: {name: m, items: [{key: k, path: a/b}]}}]",
		"by a subPath":        "args: [-c, /etc/frpc.toml], volumeMounts: [{name: v, mountPath: /etc/frpc.toml, subPath: k}]}]\n  volumes: [{name: v, configMap: {name: m}}]",
		"in a projected one":  "args: [--config=/etc/frp/c], volumeMounts: [{name: v, mountPath: /etc/frp}]}]\n  volumes: [{name: v, projected: {sources: [{secret: {name: m}}, {configMap: {name: m, items: [{key: k, path: c}]}}]}}]",
		"in the second mount": "args: [-c, /b/k], volumeMounts: [{name: x, mountPath: /a}, {name: v, mountPath: /b}]}]\n  volumes: [{name: x, emptyDir: {}}, {name: v, configMap: {name: m}}]",
	} {
		t.Run(name, func(t *testing.T) {
			got, _ := judge(t, readInput(t, fmt.Sprintf("kind: Pod\nspec:\n  containers: [{name: frpc, image: frpc, %s\n%s", volume, config)))
			if got.Hub != "hub.example:7000" {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestTheKubeconfigOfAHubIsReadFromItsSecret(t *testing.T) {
	manifest := func(cluster string) string {
		return "kind: Pod\nspec:\n  volumes: [{name: k, secret: {secretName: hub}}]\n  containers:\n" +
			"  - {name: addon-agent, command: [/agent], args: [--hub-kubeconfig=/etc/kubeconfig/kubeconfig, --proxy-server-namespace=x], volumeMounts: [{name: k, mountPath: /etc/kubeconfig}]}\n" +
			"---\nkind: Secret\nmetadata: {name: hub}\nstringData:\n  kubeconfig: |\n    clusters: [{name: hub, cluster: {server: 'https://hub.example:6443'" + cluster + "}}]\n"
	}
	for cluster, want := range map[string]string{
		"":                                     "Direct  Error NoProxy, Warning HubPort, Warning NoPolicy",
		", proxy-url: 'http://10.0.0.9:3128'":  "Proxy proxy-url of the kubeconfig in Secret hub, key kubeconfig Info NoPolicy, Warning HubPort",
		", proxy-url: '" + good + "'":          "Proxy proxy-url of the kubeconfig in Secret hub, key kubeconfig Info NoPolicy, Warning HubPort",
		", proxy-url: 'https://10.0.0.9:3129'": "Proxy proxy-url of the kubeconfig in Secret hub, key kubeconfig Info NoPolicy, Warning HubPort, Warning ProxyScheme",
	} {
		got, all := judge(t, readInput(t, manifest(cluster)))
		if said := string(got.Through) + " " + got.Setting + " " + strings.Join(all, ", "); said != want || got.Hub != "hub.example:6443" {
			t.Errorf("%s: %s, want %s", got.Hub, said, want)
		}
	}
}
