package tunnel_test

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
)

func parse(t *testing.T, text string) map[string]any {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	return object
}

func managedProxy(t *testing.T, spec string) tunnel.ManagedProxy {
	t.Helper()
	m, err := tunnel.Read[tunnel.ManagedProxy](parse(t, "spec: {"+spec+"}"))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestWhatAManagedProxyConfigurationMeans(t *testing.T) {
	const hostname = "proxyServer: {entrypoint: {type: Hostname, hostname: {value: hub.example}, port: 443}}, "
	for name, test := range map[string]struct {
		spec  string
		codes string
		args  string
	}{
		"without a keepalive":         {hostname + "proxyAgent: {}", "Warning Keepalive", "--keepalive-time=30s"},
		"with other arguments":        {hostname + "proxyAgent: {additionalArgs: [--v=4]}", "Warning Keepalive", "--v=4 --keepalive-time=30s"},
		"with one that is too long":   {hostname + "proxyAgent: {additionalArgs: [--keepalive-time, 1h, --v=4]}", "Warning Keepalive", "--v=4 --keepalive-time=30s"},
		"with one that is refused":    {hostname + "proxyAgent: {additionalArgs: [--keepalive-time=5s]}", "Error Keepalive", "--keepalive-time=30s"},
		"with one that does":          {hostname + "proxyAgent: {additionalArgs: [--keepalive-time=1m]}", "", "--keepalive-time=1m"},
		"with a password":             {hostname + "proxyAgent: {additionalArgs: ['--x=http://me:" + password + "@p:1', --keepalive-time=1m]}", "Error Password", "--x=http://***@p:1 --keepalive-time=1m"},
		"with one at the hub":         {strings.Replace(hostname, "{entrypoint", "{additionalArgs: [--keepalive-time=30s], entrypoint", 1) + "proxyAgent: {}", "Info Keepalive", "--keepalive-time=30s"},
		"without a port":              {"proxyServer: {entrypoint: {type: Hostname, hostname: {value: hub.example}}}, proxyAgent: {additionalArgs: [--keepalive-time=30s]}", "Warning HubPort", "--keepalive-time=30s"},
		"by a load balancer":          {"proxyServer: {entrypoint: {type: LoadBalancerService, port: 443}}, proxyAgent: {additionalArgs: [--keepalive-time=30s]}", "Warning HubAddress", "--keepalive-time=30s"},
		"by a forwarded port":         {"proxyServer: {entrypoint: {type: PortForward}}, proxyAgent: {additionalArgs: [--keepalive-time=30s]}", "Info PortForward", "--keepalive-time=30s"},
		"without an entrypoint":       {"proxyAgent: {additionalArgs: [--keepalive-time=30s]}", "Info HubUnknown, Warning HubPort", "--keepalive-time=30s"},
		"with policies for a network": {hostname + "networkPolicies: {enabled: true}, proxyAgent: {additionalArgs: [--keepalive-time=30s]}", "Warning NetworkPolicy", "--keepalive-time=30s"},
	} {
		t.Run(name, func(t *testing.T) {
			got := managedProxy(t, test.spec).Judge("m", 900)
			if strings.Join(codes(got.Findings), ", ") != test.codes || strings.Join(got.AdditionalArgs, " ") != test.args {
				t.Errorf("%q %+v", got.AdditionalArgs, got.Findings)
			}
		})
	}
}

func TestWhatAnAddOnDeploymentConfigMeans(t *testing.T) {
	entrypoint := managedProxy(t, "proxyServer: {entrypoint: {type: Hostname, hostname: {value: hub.example}, port: 443}}")
	for name, test := range map[string]struct{ proxy, codes string }{
		"a proxy":               {"httpsProxy: 'http://10.0.0.9:3128', noProxy: .svc", ""},
		"a password":            {"httpsProxy: '" + good + "'", "Error Password"},
		"none":                  {"httpProxy: 'http://10.0.0.9:3128'", "Error NoProxy"},
		"TLS":                   {"httpsProxy: 'https://10.0.0.9:3129', caBundle: aaaa", "Error ProxyScheme"},
		"no port":               {"httpsProxy: 'http://proxy.example'", "Error ProxyURL"},
		"the hub in the list":   {"httpsProxy: 'http://10.0.0.9:3128', noProxy: '.svc,.example'", "Error HubListed"},
		"another in the list":   {"httpsProxy: 'http://10.0.0.9:3128', noProxy: 'hub.example:8091'", ""},
		"a password, and no id": {"httpProxy: 'me:" + password + "@10.0.0.9:3128', httpsProxy: 'http://10.0.0.9:3128'", "Error Password"},
	} {
		t.Run(name, func(t *testing.T) {
			a, err := tunnel.Read[tunnel.AddOnDeployment](parse(t, "spec: {proxyConfig: {"+test.proxy+"}}"))
			if err != nil {
				t.Fatal(err)
			}
			got := codes(a.Judge("a", []tunnel.ManagedProxy{entrypoint}).Findings)
			want := append(strings.FieldsFunc(test.codes, func(r rune) bool { return r == ',' }), "Info ProxyAgentAlone")
			if !slices.Equal(got, want) {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
