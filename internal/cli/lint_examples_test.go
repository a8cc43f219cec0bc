package cli_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// The proxy is in the network of the nodes, which is listed for these clusters.
const silentProxy = "testdata/field/proxy.yaml"

// listing are the outputs with a list as it is for NO_PROXY.
var listing = []string{"values", "helm-values", "systemd", "env", "crio", "addondeploymentconfig"}

// objects are the outputs that are objects with lists.
var objects = []string{"yaml", "addondeploymentconfig", "pod-secret"}

// listIn finds a NO_PROXY list in whatever is printed.
var listIn = regexp.MustCompile(`(?i)no_?proxy["']?[:=]\s*["']?([^"'\n]+)`)

// What Fairlead itself prints is the best list that it knows: lint has nothing to mend in it, whoever it is given to.
func TestLintIsSilentAboutEveryListThatRenderPrintsOfExamplesAndProviders(t *testing.T) {
	all := described(t)
	if len(all) < 35 {
		t.Fatalf("only %d Clusters", len(all))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, endpoint := range []string{"10.20.4.10", "api.elb.example"} {
			t.Run(name+"/"+endpoint, func(t *testing.T) {
				t.Parallel()
				documents := at(t, all[name], endpoint)
				fairlead(t, documents, "lint", "--proxy", silentProxy, "--cluster", "-", "--fail-on", "Warning")
				audienceOf := map[string]string{}
				for _, audience := range []string{"go", "any"} { // which may be one list
					audienceOf[strings.TrimSpace(fairlead(t, documents, "render", "--proxy", silentProxy, "--cluster", "-", "-o", "noproxy", "--audience", audience))] = audience
				}
				for list, audience := range audienceOf {
					fairlead(t, documents, "lint", "--no-proxy", list, "--audience", audience, "--http-proxy", "http://10.20.0.9:3128", "--https-proxy", "http://10.20.0.9:3128",
						"--cluster", "-", "--fail-on", "Warning")
				}
				for _, output := range objects {
					file := filepath.Join(t.TempDir(), "manifests.yaml")
					if err := os.WriteFile(file, []byte(fairlead(t, documents, "render", "--proxy", silentProxy, "--cluster", "-", "-o", output)), 0o600); err != nil {
						t.Fatal(err)
					}
					fairlead(t, documents, "lint", "-f", file, "--cluster", "-", "--fail-on", "Warning")
				}
				for _, output := range listing {
					found := 0
					for _, list := range listIn.FindAllStringSubmatch(fairlead(t, documents, "render", "--proxy", silentProxy, "--cluster", "-", "-o", output), -1) {
						if found++; audienceOf[strings.TrimSpace(list[1])] == "" {
							t.Errorf("-o %s has another list than -o noproxy: %s", output, list[1])
						}
					}
					if found == 0 {
						t.Errorf("-o %s: no list is found", output)
					}
				}
			})
		}
	}
}

// described returns the examples with a Cluster, two with IPv6, and one for each object that a provider is known by.
func described(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*", "*/*", "config-repo/installations/*/clusters/*"} {
		files, err := filepath.Glob("../../examples/" + pattern + ".yaml")
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			if content := mustRead(t, file); strings.Contains(content, "apiVersion: cluster.x-k8s.io/") && strings.Contains(content, "kind: Cluster\n") {
				all[strings.TrimPrefix(file, "../../examples/")] = content
			}
		}
	}
	for name, networks := range map[string]string{"dual-stack": `"10.96.0.0/16", "fd20:96::/112"`, "IPv6 alone": `"fd20:96::/112"`} {
		all[name] = `{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c, namespace: team-a}, spec: {
			clusterNetwork: {services: {cidrBlocks: [` + networks + `]}, pods: {cidrBlocks: ["fd20:244::/56"]}},
			infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: Metal3Cluster, name: c}}}`
	}
	objects, err := filepath.Glob("../core/provider/testdata/objects/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range objects {
		all["a "+strings.TrimSuffix(filepath.Base(file), ".yaml")] = around(t, mustRead(t, file))
	}
	return all
}

func mustRead(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// around returns a Cluster with a provider's object.
func around(t *testing.T, object string) string {
	t.Helper()
	var o struct {
		APIVersion, Kind string
		Metadata         struct{ Name, Namespace string }
	}
	if err := yaml.Unmarshal([]byte(object), &o); err != nil {
		t.Fatal(err)
	}
	group, _, _ := strings.Cut(o.APIVersion, "/")
	ref := map[string]any{"apiGroup": group, "kind": o.Kind, "name": o.Metadata.Name}
	spec := map[string]any{"infrastructureRef": ref, "clusterNetwork": map[string]any{"services": map[string]any{"cidrBlocks": []string{"10.96.0.0/12"}}}}
	if strings.HasSuffix(o.Kind, "ControlPlane") {
		spec["controlPlaneRef"] = ref
		delete(spec, "infrastructureRef")
	}
	cluster, err := yaml.Marshal(map[string]any{
		"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "spec": spec,
		"metadata": map[string]any{"name": o.Metadata.Name, "namespace": o.Metadata.Namespace},
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(cluster) + "\n---\n" + object
}

// at gives the Clusters without an endpoint this one, as their provider does.
func at(t *testing.T, documents, endpoint string) string {
	t.Helper()
	var all []string
	for _, document := range strings.Split(documents, "\n---\n") {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		if spec, ok := object["spec"].(map[string]any); ok && object["kind"] == "Cluster" && spec["controlPlaneEndpoint"] == nil {
			spec["controlPlaneEndpoint"] = map[string]any{"host": endpoint, "port": 6443}
			changed, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			document = string(changed)
		}
		all = append(all, document)
	}
	return strings.Join(all, "\n---\n")
}

func fairlead(t *testing.T, stdin string, arguments ...string) string {
	t.Helper()
	var out, problems bytes.Buffer
	if status := cli.Run(arguments, strings.NewReader(stdin), &out, &problems); status != 0 {
		t.Fatalf("%q: status %d\n%s%s", arguments, status, loud.FindAllString(out.String(), -1), problems.String())
	}
	return out.String()
}

// loud are findings that need something done.
var loud = regexp.MustCompile(`(?m)^(?:Error|Warning) (?:.+\n)+`)

// examples/import has lists of other systems, of which one is wrong.
func TestLintIsSilentAboutTheListsInExamples(t *testing.T) {
	root := filepath.Join("..", "..", "examples")
	folders, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	all := []string{"lint", "-R", "--fail-on", "Warning"}
	for _, folder := range folders {
		if name := folder.Name(); name != "import" && (folder.IsDir() || strings.HasSuffix(name, ".yaml")) {
			all = append(all, "-f", filepath.Join(root, name))
		}
	}
	fairlead(t, "", all...)
	for _, file := range []string{"secret-values.yaml", "nodes/corporateproxy.yaml", "providers/aks.yaml"} {
		if !strings.Contains(fairlead(t, "", "lint", "-f", filepath.Join(root, file), "-o", "json"), `"places"`) {
			t.Errorf("%s: no list is found", file)
		}
	}
}
