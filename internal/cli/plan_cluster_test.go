package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/internal/core/plan"
)

// lists returns an API server that has these objects, by path.
func lists(objects map[string][]string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		kind := "List"
		if strings.Contains(r.Header.Get("Accept"), "PartialObjectMetadataList") {
			kind = "PartialObjectMetadataList"
		}
		fmt.Fprintf(w, `{"apiVersion": "v1", "kind": %q, "metadata": {}, "items": [%s]}`, kind, strings.Join(objects[r.URL.Path], ","))
	}
}

const (
	clustersPath   = "/apis/cluster.x-k8s.io/v1beta2/clusters"
	proxiesPath    = "/apis/fairlead.io/v1alpha1/corporateproxies"
	overridesPath  = "/apis/fairlead.io/v1alpha1/proxyoverrides"
	reportsPath    = "/apis/fairlead.io/v1alpha1/proxyreports"
	namespacesPath = "/api/v1/namespaces"
	configMapsPath = "/api/v1/namespaces/fairlead-system/configmaps"
)

// liveFleet returns a fleet of clusters with a CorporateProxy whose list stands in a Secret, which has a public half, and that
// allows namespaces of a label.
func liveFleet(clusters int) map[string][]string {
	objects := map[string][]string{
		proxiesPath: {`{"apiVersion": "fairlead.io/v1alpha1", "kind": "CorporateProxy", "metadata": {"name": "default"}, "spec": {
 "source": {"valuesRef": {"name": "values"}}, "allowedNamespaces": {"matchLabels": {"fleet": "yes"}}, "rollout": {"waves": [{"name": "all"}]}}}`},
		configMapsPath: {
			`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "fairlead-revision-default-3", "namespace": "fairlead-system", "labels": {"fairlead.io/revision": "3"}},
 "data": {"revision.yaml": "{proxy: default, number: 3, digest: d, since: null, http: 'http://proxy.example:3128', sourceEntries: [a.example], spec: {source: {valuesRef: {name: values}}}}"}}`,
			`{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "somebody-elses", "namespace": "fairlead-system"}, "data": {"a": "b"}}`,
		},
		namespacesPath: {`{"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata", "metadata": {"name": "org", "labels": {"fleet": "yes"}}}`},
	}
	for i := range clusters {
		objects[clustersPath] = append(objects[clustersPath], fmt.Sprintf(`{"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "metadata": {"name": "c%d", "namespace": "org"},
 "spec": {"clusterNetwork": {"services": {"cidrBlocks": ["172.31.0.0/16"]}, "pods": {"cidrBlocks": ["100.64.0.0/12"]}}, "controlPlaneEndpoint": {"host": "c%d.example", "port": 6443},
  "aFieldOfALaterVersion": true}}`, i, i))
		objects[reportsPath] = append(objects[reportsPath], fmt.Sprintf(`{"apiVersion": "fairlead.io/v1alpha1", "kind": "ProxyReport",
 "metadata": {"name": "c%d", "namespace": "org", "annotations": {"fairlead.io/form": "Portable/v1", "fairlead.io/had-proxy": "true"}},
 "status": {"mode": "Proxied", "form": "Portable/v1", "nodes": {"machines": 20, "outdated": 0}}}`, i))
	}
	return objects
}

// planLive runs plan with a manifest that would be applied to a server.
func planLive(t testing.TB, kubeconfig, manifest string, arguments ...string) (plan.Plan, int, string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "manifest.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	args := append([]string{"plan", "-o", "json", "--kubeconfig", kubeconfig}, arguments...)
	if manifest != "" {
		args = append(args, "-f", file)
	}
	status := cli.Run(args, strings.NewReader(""), &out, &errs)
	var p plan.Plan
	if out.Len() > 0 {
		if err := json.Unmarshal(out.Bytes(), &p); err != nil {
			t.Fatalf("%v: %s", err, out.String())
		}
	}
	if strings.Contains(out.String()+errs.String(), "S3CRET") {
		t.Errorf("the password is shown")
	}
	return p, status, errs.String()
}

const liveProxy = `
apiVersion: fairlead.io/v1alpha1
kind: CorporateProxy
metadata: {name: default}
spec:
  source: {valuesRef: {name: values}}
  allowedNamespaces: {matchLabels: {fleet: "yes"}}
  noProxy: [{value: new.example}]
  rollout: {waves: [{name: all}]}
`

func TestPlanComparesTheClusterWithItselfAndReadsNoSecret(t *testing.T) {
	server, kubeconfig := newServer(t, lists(liveFleet(3)))
	p, status, errs := planLive(t, kubeconfig, liveProxy)
	if status != 1 || errs != "" || len(p.Clusters) != 3 {
		t.Fatalf("status %d: %s: %+v", status, errs, p)
	}
	if c := p.Clusters[0]; len(c.Comes) != 1 || c.Comes[0].Entry != "new.example" || len(c.Goes)+len(c.Fields) > 0 || c.Wave != "all" || *c.Costs.Machines != 20 {
		t.Errorf("%+v", c)
	}
	if len(p.Notes) != 1 {
		t.Errorf("notes: %q", p.Notes)
	}
	want := []string{clustersPath, proxiesPath, overridesPath, reportsPath, configMapsPath, namespacesPath}
	if !slices.Equal(server.asked, want) {
		t.Errorf("asked %q, want %q", server.asked, want)
	}
}

func TestPlanOfWhatIsThereIsNoChange(t *testing.T) {
	_, kubeconfig := newServer(t, lists(liveFleet(3)))
	for name, manifest := range map[string]string{
		"a CorporateProxy as it is":               strings.Replace(liveProxy, "noProxy: [{value: new.example}]", "priority: 0", 1),
		"a Cluster without what others filled in": "{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c1, namespace: org}, spec: {}}",
		"the Secret with another password": `
apiVersion: v1
kind: Secret
metadata: {name: values, namespace: fairlead-system}
stringData: {http: "http://me:S3CRET@proxy.example:3128", noProxy: a.example}
`,
	} {
		if p, status, errs := planLive(t, kubeconfig, manifest); status != 0 || p.Changed {
			t.Errorf("%s: status %d: %s: %+v", name, status, errs, p.Clusters)
		}
	}
}

func TestPlanOfObjectsThatAreNew(t *testing.T) {
	_, kubeconfig := newServer(t, lists(liveFleet(2)))
	p, _, errs := planLive(t, kubeconfig, `
{apiVersion: cluster.x-k8s.io/v1beta2, kind: Cluster, metadata: {name: c9, namespace: org}, spec: {controlPlaneEndpoint: {host: c9.example, port: 6443}}}
---
{apiVersion: fairlead.io/v1alpha1, kind: ProxyOverride, metadata: {name: c0, namespace: org}, spec: {noProxy: [{value: own.example}]}}
---
{apiVersion: v1, kind: Secret, metadata: {name: values, namespace: fairlead-system}, stringData: {http: "http://me:S3CRET@proxy.example:3128", noProxy: "a.example,b.example"}}
`)
	var got []string
	for _, c := range p.Clusters {
		if c.Change == plan.Added {
			c.Comes = nil
		}
		got = append(got, fmt.Sprintf("%s %s %+v", c.Cluster, c.Change, c.Comes))
	}
	want := []string{
		"org/c0 Changed [{Entry:b.example Layer:Installation Object:Secret values Field:data.noProxy[1] Audience:} {Entry:own.example Layer:Cluster Object:ProxyOverride org/c0 Field:spec.noProxy[0].value Audience:}]",
		"org/c1 Changed [{Entry:b.example Layer:Installation Object:Secret values Field:data.noProxy[1] Audience:}]",
		"org/c9 Added []",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s\n%s", errs, strings.Join(got, "\n"))
	}
}

func TestPlanOfAnUpgradeAsksTheCluster(t *testing.T) {
	_, kubeconfig := newServer(t, lists(liveFleet(2)))
	p, status, errs := planLive(t, kubeconfig, "", "--upgrade")
	if status != 1 || len(p.Groups) != 1 || p.Groups[0].Fields[0].After != "Portable/v3" {
		t.Errorf("status %d: %s: %+v", status, errs, p.Groups)
	}
}

func TestPlanSaysWhatTheClusterLacks(t *testing.T) {
	_, kubeconfig := newServer(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == proxiesPath {
			http.NotFound(w, r)
			return
		}
		empty(w, r)
	})
	if _, status, errs := planLive(t, kubeconfig, liveProxy); status != 2 || !strings.Contains(errs, "has no corporateproxies.fairlead.io: is it a management cluster with Fairlead?") {
		t.Errorf("status %d: %s", status, errs)
	}
	_, kubeconfig = newServer(t, lists(map[string][]string{}))
	if _, status, errs := planLive(t, kubeconfig, liveProxy); status != 2 || !strings.Contains(errs, "there is no Cluster of cluster.x-k8s.io") {
		t.Errorf("status %d: %s", status, errs)
	}
}

// What is the same in two thousand clusters is said once. How long it takes is the benchmark's to measure.
func TestAPlanOfTwoThousandClustersIsOneGroup(t *testing.T) {
	_, kubeconfig := newServer(t, lists(liveFleet(2000)))
	p, status, errs := planLive(t, kubeconfig, liveProxy)
	if status != 1 || len(p.Groups) != 1 || len(p.Groups[0].Clusters) != 2000 || p.Summary.Machines != 40_000 {
		t.Fatalf("status %d: %s: %d groups", status, errs, len(p.Groups))
	}
}

func BenchmarkPlanOfTwoThousandClusters(b *testing.B) {
	folder := b.TempDir()
	for state, entries := range map[string]string{"old": "a.example", "new": "a.example,b.example"} {
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(folder, state, name), []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.Mkdir(filepath.Join(folder, state), 0o700); err != nil {
			b.Fatal(err)
		}
		write("secret-values.yaml.patch", `proxy: {http: "http://proxy.example:3128", noProxy: "`+entries+`"}`)
		for i, cluster := range liveFleet(2000)[clustersPath] {
			write(fmt.Sprintf("c%d.json", i), strings.Replace(cluster, `"aFieldOfALaterVersion": true`, `"paused": false`, 1))
		}
	}
	for b.Loop() {
		var out bytes.Buffer
		if status := cli.Run([]string{"plan", filepath.Join(folder, "old"), filepath.Join(folder, "new")}, strings.NewReader(""), &out, &out); status != 1 {
			b.Fatalf("status %d: %s", status, out.String())
		}
	}
}

func TestWhatPlanDoesNotUnderstandIsNoAnswer(t *testing.T) {
	_, kubeconfig := newServer(t, lists(liveFleet(1)))
	for name, test := range map[string]struct{ manifest, want string }{
		"nothing":           {"# nothing\n", "no CorporateProxy, ProxyOverride, Cluster"},
		"another kind":      {"{apiVersion: apps/v1, kind: Deployment, metadata: {name: x}}", "no CorporateProxy, ProxyOverride, Cluster"},
		"a misspelled kind": {"{apiVersion: fairlead.io/v1alpha1, kind: CorporateProxyy, metadata: {name: x}}", "there is no kind CorporateProxyy in fairlead.io"},
		"a long line":       {strings.Repeat("a", 1<<20), "not valid YAML"},
	} {
		if _, status, errs := planLive(t, kubeconfig, test.manifest); status != 2 || !strings.Contains(errs, test.want) || strings.Contains(errs, "--help") {
			t.Errorf("%s: status %d: %s", name, status, errs)
		}
	}
	if _, status, errs := planLive(t, kubeconfig, "", "-f", "/dev/zero"); status != 2 || !strings.Contains(errs, "/dev/zero is a device, not a file") {
		t.Errorf("status %d: %s", status, errs)
	}
}
