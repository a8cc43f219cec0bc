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
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/kubelet"
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

// HOME stands for what the kubelet could expand in an entry.
const ownEntries = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, annotations: {fairlead.io/no-proxy: "kafka.internal, $(HOME)"}}
spec:
  containers:
  - {name: annotation, image: web, env: [{name: HOME, value: /root}]}
  - {name: below, image: web, env: [{name: HOME, value: /root}], envFrom: [{secretRef: {name: settings}}]}
  - {name: asks, image: web, env: [{name: NO_PROXY, value: "kafka.internal,$$(HOME),$(FAIRLEAD_NO_PROXY)"}, {name: HOME, value: /root}]}
  - {name: asks-below, image: web, env: [{name: no_proxy, value: "kafka.internal,$$(HOME),$(FAIRLEAD_NO_PROXY)"}], envFrom: [{secretRef: {name: settings}}]}
`

func TestTheKubeletMakesOneListOfTheWorkloadsEntriesAndOurs(t *testing.T) {
	list := ".svc,a$(HOME)$$b"
	for _, carry := range []string{"SecretRef", "Literal", "Relay"} {
		values, err := yaml.Marshal(map[string]any{"carry": carry, "proxy": map[string]any{"https": "http://proxy.example:3128", "noProxy": list}})
		controlplanetest.Require(t, err)
		pod := &corev1.Pod{}
		mutated := mutate(t, []byte(ownEntries), "--policy-values", write(t, "values.yaml", string(values)), "--policy", policies.InjectProxyEnv)
		controlplanetest.Require(t, yaml.UnmarshalStrict(mutated, pod))
		for _, c := range pod.Spec.Containers {
			t.Run(carry+"/"+c.Name, func(t *testing.T) {
				got := environment(t, c, list)
				for _, name := range []string{"NO_PROXY", "no_proxy"} {
					if want := "kafka.internal,$(HOME)," + list; got[name] != want {
						t.Errorf("%s is %q, want %q", name, got[name], want)
					}
				}
			})
		}
	}
}

// environment returns the container's variables as the kubelet sets them. Our Secret has the list, and the
// container's own source another.
func environment(t *testing.T, c corev1.Container, list string) map[string]string {
	t.Helper()
	var variables []kubelet.Variable
	for _, from := range c.EnvFrom {
		value := list
		if from.SecretRef.Name != policies.Secret {
			value = "another"
		}
		variables = append(variables, kubelet.Variable{Name: "NO_PROXY", Value: value, From: true}, kubelet.Variable{Name: "no_proxy", Value: value, From: true})
	}
	for _, e := range c.Env {
		v := kubelet.Variable{Name: e.Name, Value: e.Value}
		if e.ValueFrom != nil {
			v.From = true
			if strings.EqualFold(e.ValueFrom.SecretKeyRef.Key, "NO_PROXY") {
				v.Value = list
			}
		}
		variables = append(variables, v)
	}
	texts, err := kubelet.Expand(t.Context(), variables)
	controlplanetest.Require(t, err)
	found := map[string]string{}
	for i, v := range variables {
		found[v.Name] = texts[i]
	}
	return found
}

// plugin is the first YAML block of docs/how-to/mutate.md.
func plugin(t *testing.T) string {
	t.Helper()
	doc := controlplanetest.ReadFile(t, "../../docs/how-to/mutate.md")
	_, after, isThere := strings.Cut(string(doc), "\n```yaml\n")
	block, _, isWhole := strings.Cut(after, "\n```\n")
	if !isThere || !isWhole {
		t.Fatal("the page shows no plugin")
	}
	return block
}

const chart = `apiVersion: apps/v1
kind: Deployment
metadata: {name: frpc}
spec:
  template:
    metadata:
      labels: {app: frpc} # ours
    spec: {containers: [{name: frpc, image: "frpc:0.61.0"}]}
---
apiVersion: batch/v1
kind: Job
metadata: {name: first, annotations: {helm.sh/hook: pre-install}}
spec: {template: {metadata: {labels: {app: frpc}}, spec: {restartPolicy: Never, containers: [{name: frpc, image: x}]}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other}
data: {a: "1"}
`

// The plugin of the document, in the real Helm.
func TestHelmTakesTheCommandAsAPostRenderer(t *testing.T) {
	fairlead := controlplanetest.Program(t, "fairlead")
	dir := t.TempDir()
	for name, content := range map[string]string{
		"plugins/fairlead/plugin.yaml": plugin(t),
		"chart/Chart.yaml":             "apiVersion: v2\nname: agent\nversion: 1.0.0\n",
		"chart/templates/all.yaml":     chart,
	} {
		file := filepath.Join(dir, name)
		controlplanetest.Require(t, os.MkdirAll(filepath.Dir(file), 0o700))
		controlplanetest.Require(t, os.WriteFile(file, []byte(content), 0o600))
	}
	path, err := filepath.Abs(filepath.Dir(fairlead))
	controlplanetest.Require(t, err)
	t.Setenv("PATH", path+string(filepath.ListSeparator)+os.Getenv("PATH"))
	t.Setenv("HELM_PLUGINS", filepath.Join(dir, "plugins"))
	template := []string{"template", "x", filepath.Join(dir, "chart"), "--post-renderer", "fairlead", "--post-renderer-args", "--require"}
	rendered, err := helm.Run(t.Context(), template...)
	controlplanetest.Require(t, err)
	if out := string(rendered); strings.Count(out, "key: HTTPS_PROXY") != 2 || !strings.Contains(out, "labels: {app: frpc} # ours") {
		t.Errorf("the Deployment and the hook have not both got the variables: %s", out)
	}
	// Without its status, Helm would complain of empty output.
	_, err = helm.Run(t.Context(), append(template, "--post-renderer-args", "--policy=tunnel-rancher")...)
	if err == nil || !strings.Contains(err.Error(), "exited with error") {
		t.Errorf("an argument does not reach the command, or its status does not reach Helm: %v", err)
	}
}
