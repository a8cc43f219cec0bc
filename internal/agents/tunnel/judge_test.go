package tunnel_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
)

const password = "mySuperSecretPassword"

// families are rows like those of charts/fairlead-policies.
var families = []tunnel.Family{
	{Name: "cluster-proxy", Labels: map[string][]string{"proxy.open-cluster-management.io/component-name": {"proxy-agent"}}, Containers: []string{"proxy-agent", "addon-agent", "service-proxy"}, Reads: []string{"HTTPS_PROXY", "https_proxy"}},
	{Name: "frpc", Labels: map[string][]string{"app": {"frpc", "spectro-proxy"}}, Containers: []string{"frpc", "tunnel"}, Reads: []string{"http_proxy"}},
	{Name: "konnectivity-agent", Labels: map[string][]string{"app": {"konnectivity-agent"}}, Containers: []string{"konnectivity-agent"}, Through: "Environment", ThroughTLS: "Relay", Reads: []string{"HTTPS_PROXY", "https_proxy"}},
	{Name: "mine", Labels: map[string][]string{"example.com/tunnel": {"yes"}}, Reads: []string{"HTTPS_PROXY", "https_proxy"}},
	{Name: "none", Labels: map[string][]string{"app": {"other"}}, Through: "None"},
}

// read reads what a manifest has: a pod or a workload, and ConfigMaps, Secrets (stringData) and NetworkPolicies.
func readInput(t *testing.T, manifest string) tunnel.Input {
	t.Helper()
	in := tunnel.Input{
		Object: "Pod p", Families: families, IdleTimeout: 900,
		Objects: tunnel.Objects{Secrets: map[string]map[string]string{}, ConfigMaps: map[string]map[string]string{}},
	}
	for text := range strings.SplitSeq(manifest, "\n---\n") {
		var object struct {
			Kind       string
			Metadata   struct{ Name string }
			Data       map[string]string
			StringData map[string]string
			Spec       struct{ Template map[string]any }
		}
		var all map[string]any
		for _, into := range []any{&object, &all} {
			if err := yaml.Unmarshal([]byte(text), into); err != nil {
				t.Fatal(err)
			}
		}
		switch object.Kind {
		case "ConfigMap":
			in.Objects.ConfigMaps[object.Metadata.Name] = object.Data
			continue
		case "Secret":
			in.Objects.Secrets[object.Metadata.Name] = object.StringData
			continue
		case "NetworkPolicy":
			policy, err := tunnel.Read[tunnel.Policy](all)
			if err != nil {
				t.Fatal(err)
			}
			in.Policies = append(in.Policies, policy)
			continue
		case "Pod":
			object.Spec.Template = all
		}
		var err error
		if in.Pod, in.Read, err = tunnel.ReadPod(object.Spec.Template); err != nil {
			t.Fatal(err)
		}
	}
	return in
}

// judge returns the verdict on the container that is an agent, or on the first, and all codes. It fails if a password
// is shown.
func judge(t *testing.T, in tunnel.Input) (tunnel.Verdict, []string) {
	t.Helper()
	report := tunnel.Judge(in)
	text, err := json.Marshal(report)
	if err != nil || strings.Contains(string(text), password) {
		t.Fatalf("%v: %s", err, text)
	}
	verdict := report.Containers[0]
	for _, v := range report.Containers {
		if v.Agent != "" {
			verdict = v
			break
		}
	}
	return verdict, codes(append(report.Findings, verdict.Findings...))
}

func codes(findings []tunnel.Finding) []string {
	all := []string{}
	for _, f := range findings {
		all = append(all, string(f.Severity)+" "+string(f.Code))
	}
	slices.Sort(all)
	return all
}

func TestAgentsAsTheirVendorsDeliverThem(t *testing.T) {
	for file, want := range map[string]struct{ agent, hub, codes string }{
		"cluster-proxy.yaml": {"apiserver-network-proxy agent", "hub.example.com:8091", "Error NoProxy, Warning HubPort, Warning Keepalive"},
		"konnectivity.yaml":  {"apiserver-network-proxy agent", "203.0.113.7:8132", "Error NoProxy, Warning HubAddress, Warning HubPort, Warning Keepalive, Warning NoPolicy"},
		"hypershift.yaml":    {"apiserver-network-proxy agent", "konnectivity.apps.hub.example.com:443", "Error EmptyValue"},
		"frpc.yaml":          {"frpc", "proxy.palette.example:443", "Error OtherVariable"},
		"frpc-toml.yaml":     {"frpc", "frps.hub.example:443", "Error NoProxy"},
		"chisel.yaml":        {"chisel", "chisel.hub.example:443", "Error NoProxy"},
		"cloudflared.yaml":   {"cloudflared", "region1.v2.argotunnel.com:7844", "Error NoSetting, Warning HubPort"},
		"vpn-shoot.yaml":     {"vpn-shoot", "proxy.seed.example:8132", "Error NoSetting, Warning HubPort"},
		"teleport.yaml":      {"teleport", "teleport.hub.example:443", "Error NoProxy, Warning NoPolicy"},
		"rancher.yaml":       {"cattle-cluster-agent", "rancher.hub.example:443", "Error NoProxy, Warning NoPolicy"},
		"klusterlet.yaml":    {"klusterlet", "", "Error NoProxy, Info HubUnknown, Warning NoPolicy"},
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", file))
			if err != nil {
				t.Fatal(err)
			}
			got, all := judge(t, readInput(t, string(text)))
			if got.Agent != want.agent || got.Hub != want.hub || got.Through != tunnel.Direct || strings.Join(all, ", ") != want.codes {
				t.Errorf("%s %s %s %s: %+v", got.Agent, got.Hub, got.Through, strings.Join(all, ", "), got.Findings)
			}
		})
	}
}

func TestEveryContainerOfAClusterProxyPodIsAnAgent(t *testing.T) {
	text, err := os.ReadFile("testdata/cluster-proxy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{"apiserver-network-proxy agent", "cluster-proxy addon-agent", "cluster-proxy service-proxy"} {
		if got := tunnel.Judge(readInput(t, string(text))).Containers[i]; got.Agent != want || got.Family != "cluster-proxy" {
			t.Errorf("%+v", got)
		}
	}
}

// What a case puts into a pod.
type parts struct {
	container string // fields of the container agent, in flow style
	spec      string // of the pod
	labels    string
	// annotations in flow style
	annotations string
	beside      string // documents
}

func (p parts) manifest() string {
	labels := p.labels
	if labels == "" {
		labels = "app: konnectivity-agent"
	}
	return "kind: Pod\nmetadata: {name: p, labels: {" + labels + "}, annotations: {" + p.annotations + "}}\nspec:\n  " + p.spec + "\n  containers:\n  - name: konnectivity-agent\n    " +
		strings.ReplaceAll(p.container, "\n", "\n    ") + p.beside
}

// Command lines.
const (
	anp   = "args: [--proxy-server-host=hub.example, --proxy-server-port=443, --keepalive-time=30s]"
	frpc  = "image: fatedier/frpc:v0.61.0\nargs: [tcp, -s, hub.example, -P, '443']"
	relay = "initContainers: [{name: fairlead-relay, args: [--proxy=/run/fairlead-proxy, --target=hub.example:443], volumeMounts: [{name: s, mountPath: /run/fairlead-proxy}]}]\n  volumes: [{name: s, secret: {secretName: fairlead-proxy}}]"
	alias = "\n  hostAliases: [{ip: 127.0.0.1, hostnames: [hub.example]}]"
	good  = "http://me:" + password + "@10.0.0.9:3128"
)

func env(pairs ...string) string {
	text := "\nenv:"
	for i := 0; i < len(pairs); i += 2 {
		text += "\n- {name: " + pairs[i] + ", value: '" + pairs[i+1] + "'}"
	}
	return text
}

func fromSecret(variables ...string) string {
	text := "\nenv:"
	for _, name := range variables {
		text += "\n- {name: " + name + ", valueFrom: {secretKeyRef: {name: fairlead-proxy, key: " + name + "}}}"
	}
	return text
}

func secret(url, noProxy string) string {
	return "\n---\nkind: Secret\nmetadata: {name: fairlead-proxy}\nstringData: {HTTPS_PROXY: '" + url + "', http_proxy: '" + url + "', NO_PROXY: '" + noProxy + "'}\n"
}

func egress(rules string) string {
	return "\n---\nkind: NetworkPolicy\nmetadata: {name: narrow}\nspec: {podSelector: {matchLabels: {app: konnectivity-agent}}, policyTypes: [Egress], egress: [" + rules + "]}\n"
}

func TestHowATunnelLeaves(t *testing.T) {
	for name, test := range map[string]struct {
		parts
		through tunnel.Through
		codes   string
	}{
		"through the proxy of a Secret":              {parts{container: anp + fromSecret("HTTPS_PROXY", "NO_PROXY"), beside: secret(good, ".svc")}, tunnel.Proxy, ""},
		"to a Secret that nobody gives":              {parts{container: anp + fromSecret("HTTPS_PROXY")}, tunnel.Unknown, "Info NotGiven"},
		"to a Secret without the key":                {parts{container: anp + fromSecret("HTTPS_PROXY"), beside: "\n---\nkind: Secret\nmetadata: {name: fairlead-proxy}\n"}, tunnel.Direct, "Error MissingKey"},
		"with an empty value in the Secret":          {parts{container: anp + fromSecret("HTTPS_PROXY"), beside: secret("", "")}, tunnel.Direct, "Error EmptyValue"},
		"with a field as value":                      {parts{container: anp + "\nenv: [{name: HTTPS_PROXY, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}]"}, tunnel.Unknown, "Info NotGiven"},
		"with a variable of a ConfigMap":             {parts{container: anp + "\nenvFrom: [{configMapRef: {name: proxy}}]", beside: "\n---\nkind: ConfigMap\nmetadata: {name: proxy}\ndata: {HTTPS_PROXY: 'http://10.0.0.9:3128'}\n"}, tunnel.Proxy, ""},
		"with a source that nobody gives":            {parts{container: anp + "\nenvFrom: [{configMapRef: {name: proxy-settings}}]"}, tunnel.Unknown, "Info NotGiven"},
		"with a source that is hardly about proxies": {parts{container: anp + "\nenvFrom: [{configMapRef: {name: flags}}]"}, tunnel.Direct, "Error NoProxy"},
		"with a source whose prefix makes no name":   {parts{container: anp + "\nenvFrom: [{prefix: APP_, configMapRef: {name: proxy-settings}}]"}, tunnel.Direct, "Error NoProxy"},
		"with a source whose prefix makes another":   {parts{container: anp + "\nenvFrom: [{prefix: HTTP_, secretRef: {name: proxy-settings}}]"}, tunnel.Direct, "Error NoProxy"},
		"with a source whose prefix makes one":       {parts{container: anp + "\nenvFrom: [{prefix: HTTPS_, secretRef: {name: proxy-settings}}]"}, tunnel.Unknown, "Info NotGiven"},
		"with HTTP_PROXY alone":                      {parts{container: anp + env("HTTP_PROXY", "http://10.0.0.9:3128")}, tunnel.Direct, "Error OtherVariable"},
		"in lower case":                              {parts{container: anp + env("https_proxy", "http://10.0.0.9:3128")}, tunnel.Proxy, ""},
		"an empty one in front of another":           {parts{container: anp + env("HTTPS_PROXY", "", "https_proxy", "http://10.0.0.9:3128")}, tunnel.Proxy, ""},
		"with a password in the pod":                 {parts{container: anp + env("HTTPS_PROXY", good)}, tunnel.Proxy, "Error Password"},
		"with a password by reference":               {parts{container: anp + env("PASSWORD", password, "HTTPS_PROXY", "http://me:$(PASSWORD)@10.0.0.9:3128")}, tunnel.Proxy, ""},
		"with a URL without port":                    {parts{container: anp + env("HTTPS_PROXY", "http://proxy.example")}, tunnel.Fails, "Error ProxyPort"},
		"with a URL that is none":                    {parts{container: anp + env("HTTPS_PROXY", "socks5://10.0.0.9:1080")}, tunnel.Fails, "Error ProxyURL"},
		"with TLS to the proxy":                      {parts{container: anp + env("HTTPS_PROXY", "https://10.0.0.9:3129")}, tunnel.Fails, "Error ProxyScheme"},
		"with TLS to the proxy, and a CA for it":     {parts{container: anp + env("HTTPS_PROXY", "https://10.0.0.9:3129", "ROOT_CA_CERT", "/ca.crt")}, tunnel.Fails, "Error ProxyScheme"},
		"past the proxy, by a name in NO_PROXY":      {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128", "NO_PROXY", ".example")}, tunnel.Direct, "Error HubListed"},
		"past the proxy, by a network in NO_PROXY":   {parts{container: "args: [--proxy-server-host=10.1.2.3, --proxy-server-port=443, --keepalive-time=30s]" + env("HTTPS_PROXY", "http://proxy.example:3128", "NO_PROXY", "10.0.0.0/8")}, tunnel.Direct, "Error HubListed"},
		"to an address":                              {parts{container: "args: [--proxy-server-host=10.1.2.3, --proxy-server-port=443, --keepalive-time=30s]" + env("HTTPS_PROXY", "http://proxy.example:3128")}, tunnel.Proxy, "Warning HubAddress"},
		"to a Service of the cluster":                {parts{container: "args: [--proxy-server-host=proxy.hub.svc, --proxy-server-port=443, --keepalive-time=30s]" + env("HTTPS_PROXY", "http://proxy.example:3128", "NO_PROXY", ".svc")}, tunnel.Direct, "Info HubInside"},
		"to the pod itself":                          {parts{container: "args: [--proxy-server-host=127.0.0.1, --keepalive-time=30s]" + env("HTTPS_PROXY", "http://proxy.example:3128")}, tunnel.Direct, "Info HubInside"},
		"to a port that squid refuses":               {parts{container: "args: [--proxy-server-host=hub.example, --keepalive-time=30s]" + env("HTTPS_PROXY", "http://proxy.example:3128")}, tunnel.Proxy, "Warning HubPort"},
		"silent for an hour":                         {parts{container: "args: [--proxy-server-host=hub.example, --proxy-server-port=443]" + env("HTTPS_PROXY", "http://proxy.example:3128")}, tunnel.Proxy, "Warning Keepalive"},
		"silent for too long":                        {parts{container: "args: [--proxy-server-host=hub.example, --proxy-server-port=443, --keepalive-time, 15m]" + env("HTTPS_PROXY", "http://proxy.example:3128")}, tunnel.Proxy, "Warning Keepalive"},
		"too eager":                                  {parts{container: "args: [--proxy-server-host=hub.example, --proxy-server-port=443, --keepalive-time=29s]" + env("HTTPS_PROXY", "http://proxy.example:3128")}, tunnel.Proxy, "Error Keepalive"},
		"with a time that is none":                   {parts{container: "args: [--proxy-server-host=hub.example, --proxy-server-port=443, --keepalive-time=30]" + env("HTTPS_PROXY", "http://proxy.example:3128")}, tunnel.Proxy, "Error Keepalive"},
		"without arguments":                          {parts{container: "command: [/proxy-agent]" + env("HTTPS_PROXY", "http://proxy.example:3128")}, tunnel.Proxy, "Info HubUnknown, Warning Keepalive"},
		"by a shell":                                 {parts{container: "command: [sh, -c, 'export HTTPS_PROXY=http://10.0.0.9:3128 && exec /proxy-agent --proxy-server-host=hub.example --proxy-server-port \"443\" --keepalive-time=30s']"}, tunnel.Proxy, "Info Shell"},
		"by a shell, with a password":                {parts{container: "command: [sh, -c, 'HTTPS_PROXY=" + good + " /proxy-agent --proxy-server-host hub.example --proxy-server-port 443 --keepalive-time=30s']"}, tunnel.Proxy, "Error Password, Info Shell"},
		"to a Service, and no proxy":                 {parts{container: "args: [--proxy-server-host=konnectivity-server.kube-system.svc.cluster.local, --keepalive-time=30s]"}, tunnel.Direct, "Info HubInside"},
		"to the pod itself, and no proxy":            {parts{container: "args: [--proxy-server-host=127.0.0.1, --keepalive-time=30s]"}, tunnel.Direct, "Info HubInside"},
		"excluded":                                   {parts{container: anp, labels: "app: konnectivity-agent, policies.kyverno.io/inject-proxy-env: exclude"}, tunnel.Direct, "Error NoProxy, Info Excluded"},
		"of no family":                               {parts{container: anp, labels: "app: x"}, tunnel.Direct, "Error NoProxy, Warning NoPolicy"},
		"of no family, and well":                     {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128"), labels: "app: x"}, tunnel.Proxy, "Info NoPolicy"},
		"of a family alone":                          {parts{container: "image: mine" + env("HTTPS_PROXY", "http://10.0.0.9:3128"), labels: "example.com/tunnel: 'yes'"}, tunnel.Proxy, "Info HubUnknown"},
		"of a family that is for none":               {parts{container: "image: mine", labels: "app: other"}, "", "Error NoAgent"},
		"to a hub that a field names":                {parts{container: "args: [--proxy-server-host=$(HUB), --keepalive-time=30s]\nenv: [{name: HUB, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}, {name: HTTPS_PROXY, value: 'http://10.0.0.9:3128'}]"}, tunnel.Proxy, "Info HubUnknown"},
		"not at all":                                 {parts{container: "image: nginx", labels: "app: x"}, "", "Error NoAgent"},

		"frpc, by http_proxy":                  {parts{container: frpc + env("http_proxy", "http://10.0.0.9:3128"), labels: "app: frpc"}, tunnel.Proxy, "Info NoPolicy"},
		"frpc, by HTTP_PROXY":                  {parts{container: frpc + env("HTTP_PROXY", "http://10.0.0.9:3128")}, tunnel.Direct, "Error OtherVariable"},
		"frpc, by a Secret":                    {parts{container: frpc + fromSecret("http_proxy", "NO_PROXY"), beside: secret(good, "hub.example")}, tunnel.Proxy, "Info HubListed"},
		"frpc, with a URL without port":        {parts{container: frpc + env("http_proxy", "http://proxy.example")}, tunnel.Fails, "Error ProxyPort"},
		"frpc, with TLS to the proxy":          {parts{container: frpc + env("http_proxy", "https://10.0.0.9:3129")}, tunnel.Fails, "Error NoRelay, Error ProxyScheme"},
		"frpc, a newer one":                    {parts{container: "image: x/frpc:v0.70.1\nargs: [tcp, -s, 'hub.example:443']" + env("http_proxy", "https://10.0.0.9:3129")}, tunnel.Proxy, ""},
		"frpc, of nobody knows which version":  {parts{container: "image: x/frpc@sha256:0\nargs: [tcp, -s, 'hub.example:443']" + env("http_proxy", "https://10.0.0.9:3129")}, tunnel.Proxy, "Warning Version"},
		"frpc, by UDP":                         {parts{container: frpc[:len(frpc)-1] + ", -p, kcp]" + env("http_proxy", "http://10.0.0.9:3128")}, tunnel.Fails, "Error NoSetting"},
		"frpc, with a configuration nowhere":   {parts{container: "image: frpc:v0.61.0\nargs: [-c, /etc/frpc.toml]" + env("http_proxy", "http://10.0.0.9:3128")}, tunnel.Proxy, "Info HubUnknown"},
		"chisel, with an argument":             {parts{container: "image: chisel:1.11.3\nargs: [client, '--proxy=http://10.0.0.9:3128', 'https://hub.example', 'R:1:a:1']"}, tunnel.Proxy, ""},
		"chisel, with the argument behind":     {parts{container: "image: chisel:1.11.3\nargs: [client, 'https://hub.example', '--proxy=http://10.0.0.9:3128']"}, tunnel.Direct, "Error NoProxy, Error OtherVariable"},
		"chisel, with a password in arguments": {parts{container: "image: chisel:1.11.3\nargs: [client, '--proxy=" + good + "', 'https://hub.example']"}, tunnel.Proxy, "Error Password, Warning LogsPassword"},
		"chisel, with a variable":              {parts{container: "image: chisel:1.11.3\nargs: [client, --proxy, $(HTTPS_PROXY), 'https://hub.example']" + fromSecret("HTTPS_PROXY"), beside: secret(good, "")}, tunnel.Proxy, "Warning LogsPassword"},
		"chisel, with a variable of nobody":    {parts{container: "image: chisel:1.11.3\nargs: [client, --proxy, $(HTTPS_PROXY), 'https://hub.example']" + fromSecret("HTTPS_PROXY")}, tunnel.Unknown, "Info NotGiven"},
		"teleport, by the node":                {parts{container: "image: teleport:18\nargs: [start]" + env("HTTPS_PROXY", "http://127.0.0.1:3128")}, tunnel.Fails, "Error ProxyLoopback, Info HubUnknown"},
		"rancher, with TLS to the proxy":       {parts{container: "image: x" + env("CATTLE_SERVER", "https://hub.example", "HTTPS_PROXY", "https://10.0.0.9:3129")}, tunnel.Proxy, "Warning ProxyScheme"},
		"rancher, with a URL without port":     {parts{container: "image: x" + env("CATTLE_SERVER", "https://hub.example", "HTTPS_PROXY", "http://proxy.example")}, tunnel.Proxy, "Warning ProxyPort"},

		"by a relay":                                 {parts{container: anp + env("NO_PROXY", "*"), spec: relay + alias, beside: secret("https://10.0.0.9:3129", "")}, tunnel.Relay, ""},
		"by a relay that honours NO_PROXY":           {parts{container: anp + env("NO_PROXY", "*"), spec: relay + alias, beside: secret("https://10.0.0.9:3129", ".corp.example,hub.example")}, tunnel.Direct, "Error HubListed"},
		"by a relay whose list is of others":         {parts{container: anp, spec: relay + alias, beside: secret("https://10.0.0.9:3129", ".corp.example,hub.example:8443")}, tunnel.Relay, ""},
		"with TLS to the proxy, to an address":       {parts{container: "args: [--proxy-server-host=10.1.2.3, --proxy-server-port=443, --keepalive-time=30s]" + env("HTTPS_PROXY", "https://proxy.example:3129")}, tunnel.Fails, "Error NoRelay, Error ProxyScheme, Warning HubAddress"},
		"with TLS to the proxy, of the node":         {parts{container: anp + env("HTTPS_PROXY", "https://10.0.0.9:3129"), spec: "hostNetwork: true"}, tunnel.Fails, "Error NoRelay, Error ProxyScheme"},
		"with TLS to the proxy, on Windows":          {parts{container: anp + env("HTTPS_PROXY", "https://10.0.0.9:3129"), spec: "nodeSelector: {kubernetes.io/os: windows}"}, tunnel.Fails, "Error NoRelay, Error ProxyScheme"},
		"with TLS to the proxy, to a variable":       {parts{container: "args: [--proxy-server-host=$(HUB), --proxy-server-port=443, --keepalive-time=30s]" + env("HUB", "hub.example", "HTTPS_PROXY", "https://10.0.0.9:3129")}, tunnel.Fails, "Error NoRelay, Error ProxyScheme"},
		"and has said to which":                      {parts{container: "args: [--proxy-server-host=$(HUB), --proxy-server-port=443, --keepalive-time=30s]" + env("HUB", "hub.example", "HTTPS_PROXY", "https://10.0.0.9:3129"), annotations: "fairlead.io/relay-targets: 'hub.example:443'"}, tunnel.Fails, "Error ProxyScheme"},
		"nothing, where the way is a relay":          {parts{container: "args: [--proxy-server-host=10.1.2.3, --proxy-server-port=443, --keepalive-time=30s]", beside: secret("https://10.0.0.9:3129", "")}, tunnel.Direct, "Error NoProxy, Error NoRelay, Warning HubAddress"},
		"nothing, where the variables would do":      {parts{container: "args: [--proxy-server-host=10.1.2.3, --proxy-server-port=443, --keepalive-time=30s]", beside: secret("http://10.0.0.9:3128", "")}, tunnel.Direct, "Error NoProxy, Warning HubAddress"},
		"by a relay whose Secret nobody gives":       {parts{container: anp, spec: relay + alias}, tunnel.Relay, "Info NotGiven"},
		"by a relay without a proxy":                 {parts{container: anp, spec: relay + alias, beside: secret("", "")}, tunnel.Fails, "Error EmptyValue"},
		"by a relay without its Secret":              {parts{container: anp, spec: "initContainers: [{name: fairlead-relay, args: [--proxy=/x, --target=hub.example:443]}]" + alias}, tunnel.Fails, "Error NoProxy"},
		"past a relay with another port":             {parts{container: anp, spec: strings.Replace(relay, ":443", ":8132", 1) + alias}, tunnel.Direct, "Error NoProxy, Error RelayTarget"},
		"past a relay that no alias leads to":        {parts{container: anp, spec: relay}, tunnel.Direct, "Error NoProxy, Error RelayTarget"},
		"to itself, without a relay":                 {parts{container: anp, spec: alias[3:]}, tunnel.Direct, "Error HubAliased, Error NoProxy"},
		"to itself, if there were no proxy":          {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128"), spec: alias[3:]}, tunnel.Proxy, "Info HubAliased"},
		"frpc by a relay":                            {parts{container: frpc, spec: relay + alias, beside: secret(good, "")}, tunnel.Relay, ""},
		"past a NetworkPolicy that lets 443 out":     {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128"), beside: egress("{ports: [{port: 443}, {port: 6443}, {port: 8091}]}")}, tunnel.Proxy, "Error NetworkPolicy"},
		"past a NetworkPolicy that lets nothing out": {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128"), beside: egress("")}, tunnel.Proxy, "Error NetworkPolicy"},
		"past one for UDP":                           {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128"), beside: egress("{ports: [{port: 3128, protocol: UDP}]}")}, tunnel.Proxy, "Error NetworkPolicy"},
		"past one for others":                        {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128"), beside: egress("{to: [{ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.9/32]}}]}")}, tunnel.Proxy, "Error NetworkPolicy"},
		"by the relay, past one":                     {parts{container: anp, spec: relay + alias, beside: secret("http://10.0.0.9:3128", "") + egress("{ports: [{port: 443}]}")}, tunnel.Relay, "Error NetworkPolicy"},
		"through one with the proxy's port":          {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128"), beside: egress("{ports: [{port: 3000, endPort: 3200}], to: [{ipBlock: {cidr: 10.0.0.0/24}}]}")}, tunnel.Proxy, ""},
		"past none that is about it":                 {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128"), labels: "app: x", beside: egress("")}, tunnel.Proxy, "Info NoPolicy"},
		"through one of two":                         {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128"), beside: egress("") + egress("{}")}, tunnel.Proxy, ""},
		"perhaps through one with addresses":         {parts{container: anp + env("HTTPS_PROXY", "http://proxy.example:3128"), beside: egress("{to: [{ipBlock: {cidr: 10.0.0.0/24}}]}")}, tunnel.Proxy, "Warning NetworkPolicy"},
		"on the host's network, past none":           {parts{container: anp + env("HTTPS_PROXY", "http://10.0.0.9:3128"), spec: "hostNetwork: true", beside: egress("")}, tunnel.Proxy, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, all := judge(t, readInput(t, test.manifest()))
			if got.Through != test.through || strings.Join(all, ", ") != test.codes {
				t.Errorf("%s: %s\nwant %s: %s\n%+v", got.Through, strings.Join(all, ", "), test.through, test.codes, got)
			}
		})
	}
}

// Values stand behind the flag that they belong to, whatever stands elsewhere.
func TestTheProxyOfOpenVPNStandsBehindItsFlag(t *testing.T) {
	for args, want := range map[string]string{
		"--remote, gw, '1194', --http-proxy, gw, '3128'":                                          "http://gw:3128",
		"--http-proxy, 10.0.0.9, '3128', /auth, basic, --remote, gw, '1194'":                      "http://10.0.0.9:3128",
		"--http-proxy, first.example, '1', --remote, gw, '1', --http-proxy, last.example, '3128'": "http://last.example:3128",
		"--http-proxy, 'fd00::9', '3128'":                                                         "http://[fd00::9]:3128",
	} {
		got, _ := judge(t, readInput(t, parts{container: "command: [openvpn, " + args + "]"}.manifest()))
		if got.Proxy != want || got.Through != tunnel.Proxy {
			t.Errorf("%s: %s %q, want %s", args, got.Through, got.Proxy, want)
		}
	}
}

func TestARootDotOfAProxyIsKept(t *testing.T) {
	got, _ := judge(t, readInput(t, parts{container: anp + env("HTTPS_PROXY", "http://proxy.example.:3128")}.manifest()))
	if want := "http://proxy.example.:3128"; got.Proxy != want {
		t.Errorf("%q, want %q", got.Proxy, want)
	}
}
