// Package mutate_test holds fairlead mutate against what it stands in for: the policies that the chart installs, the real Helm and
// the kubelet. That it makes the pods that the policies make, e2e/policies proves; that it refuses what the chart refuses, e2e/charts.
package mutate_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// mutate runs the built command, which must succeed.
func mutate(t *testing.T, manifests []byte, args ...string) []byte {
	t.Helper()
	return command.Output(t, manifests, append([]string{"mutate"}, args...)...)
}

// write puts a text into a file of the test.
func write(t *testing.T, name, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), name)
	controlplanetest.Require(t, os.WriteFile(file, []byte(content), 0o600))
	return file
}

// The command renders the chart's own templates. Here are values that it could merge, type or write in another way than Helm.
var valuesFiles = map[string][]string{
	"none": nil,
	"a proxy": {`
cluster: {proxy: {http: "http://u:p%40ss@proxy.example:3128", https: "http://u:p%40ss@proxy.example:3128", noProxy: [10.0.0.0/8, .svc]}}`},
	"literally": {`
carry: Literal
proxy: {http: "http://u:$(p)&<@proxy.example:3128", https: "http://u:p@proxy.example:3128", noProxy: ".svc,"}
managementCluster: {enabled: true, endpointRanges: [.svc, 192.0.2.0/24], tunnelNamespaces: [hub]}`},
	"by the shared relay for HTTPS alone, and by that of machines": {`
{carry: Relay, relay: {onMachines: true, clusterIP: "fd00::a", accessLog: true}, proxy: {https: "http://proxy.example:1", noProxy: a}}`},
	"the files of a team over those of the company": {`
proxy: {https: "http://proxy.example:3128", noProxy: a}
optIn: true
exclude: {namespaces: [kube-system, mine, kyverno], names: ["a.b-*", "x"], labels: ["a/b=c*"]}
tunnels: {namespaces: [mine], families: {rancher: null, frpc: null, teleport: {through: None}}}`, `
exclude: {names: [], labels: []}
tunnels:
  families:
    frpc: {labels: {tier: [edge]}}
    agent: {labels: {app: [agent], tier: [a, b]}, containers: [], through: Environment, throughTLS: None, reads: [http_proxy], replacesBareURLs: true}
    other: {labels: {app: [other]}, containers: [x], through: Relay, targets: ["hub.example:443"], arguments: [[--keepalive-time, 45s], [--v, "2"]]}
  relay: {image: {repository: registry.example/relay, tag: "7"}, resources: null}`},
	"numbers for quantities": {`
proxy: {https: "http://proxy.example:3128", noProxy: a}
tunnels: {relay: {resources: {limits: {memory: 67108864, cpu: 0.5}, requests: null}}}`},
	"null for what the chart has": {`
proxy: {https: "http://proxy.example:3128", noProxy: a, http: null}
exclude: {hostNetwork: null, sources: null, namespaces: [legacy], defaults: {names: null}}
tunnels: {families: {frpc: {throughTLS: null}, rancher: null}}`},
	"the registry of a parent chart": {`
proxy: {https: "https://proxy.example:3128", noProxy: a}
commonLabels: {team: proxies}
global: {imageRegistry: registry.example/mirror/, imagePullSecrets: [a], vcdConfig: {site: b}}`},
	"texts that CEL, JSON and HTML write in other ways": {`
exclude: {names: ["<a>&*"], labels: ["a=<b>&c*"]}
tunnels: {families: {x: {labels: {app: ["x\"y", 'z\w']}, containers: ["a'b", "</script>"], through: Environment, reads: [http_proxy], arguments: [["--a<", "b>"]]}}}`},
	"what a platform has beside ours, and a digest": {`
cluster: {calico: {CIDR: 10.244.0.0/16}, httpEndpoint: a, proxyProtocol: true, proxy: {https: "http://proxy.example:3128", noProxy: a}}
clusterID: c1
env: [{name: NO_PROXY, value: a}]
nodes: 3
subscriptionID: ""
tunnels: {relay: {image: {digest: "sha256:` + strings.Repeat("0", 64) + `"}}}`},
}

func TestThePoliciesOfTheCommandAreThoseOfTheChart(t *testing.T) {
	for name, files := range valuesFiles {
		for _, engine := range []string{"Native", "Kyverno"} {
			t.Run(name+"/"+engine, func(t *testing.T) {
				layers := []any{map[string]any{"engine": engine}}
				args := []string{"-o", "policies"}
				for _, content := range files {
					layers = append(layers, []byte(content))
					args = append(args, "--policy-values", write(t, "values.yaml", content))
				}
				manifest, err := policies.Render(t.Context(), layers...)
				controlplanetest.Require(t, err)
				tunnels := mutate(t, nil, args...)
				want, got := mutating(t, manifest), mutating(t, tunnels)
				if len(got) != len(want)-1 {
					t.Errorf("%d policies for tunnels by default, of %d", len(got), len(want))
				}
				maps.Copy(got, mutating(t, mutate(t, nil, append(args, "--policy", policies.InjectProxyEnv)...)))
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("-chart +command:\n%s", diff)
				}
			})
		}
	}
}

// mutating are the policies that the command knows, by name: what decides whom they are for and what they do.
func mutating(t *testing.T, manifest []byte) map[string]any {
	t.Helper()
	objects, err := controlplane.Parse(manifest)
	controlplanetest.Require(t, err)
	found := map[string]any{}
	for _, object := range objects {
		if kind := object.GetKind(); kind != "MutatingPolicy" && kind != "MutatingAdmissionPolicy" || slices.Contains([]string{"inject-trusted-ca", "mark-new-namespaces"}, object.GetName()) {
			continue
		}
		spec, _, err := unstructured.NestedMap(object.Object, "spec")
		controlplanetest.Require(t, err)
		decisive := map[string]any{}
		for _, field := range []string{"matchConstraints", "matchConditions", "variables", "mutations"} {
			decisive[field] = spec[field]
		}
		found[object.GetName()] = decisive
	}
	return found
}
