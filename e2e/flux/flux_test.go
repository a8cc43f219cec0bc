// Package flux goes the way of the values through the real helm-controller of Flux: the operator's Secret, a
// HelmRelease as docs/how-to/charts.md shows it, a release; and helm-controller itself behind squid.
// source-controller runs where a chart comes from a registry; elsewhere source_test.go stands in for it.
package flux_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// The cluster of examples/cluster.yaml, which is that of docs/how-to/charts.md, and who squid lets through.
const (
	namespace = "org-acme"
	cluster   = "mycluster"
	values    = cluster + "-cluster-values"
	release   = cluster + "-fairlead-policies"
	user      = "flux"
	first     = "first-password"
	second    = "second-password"
	third     = "third-password" // squid's
)

var helmReleases = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}

// site is a management cluster with the operator and Flux, which is its own workload cluster.
type site struct {
	cp      *controlplane.ControlPlane
	client  client.Client
	program string // helm-controller
	module  string // its module's folder
	source  *source
}

func TestFluxHandsTheValuesOnAndWorksBehindTheProxyItself(t *testing.T) {
	s := newSite(t)
	controller := s.startController(t)
	s.release(t, s.documented(t))
	s.release(t, s.small(t, "unwatched", map[string]string{}))
	t.Run("unchanged", s.checkUnchanged)
	t.Run("a change at once, by the label", func(t *testing.T) { s.checkAtOnce(t, controller) })
	controlplanetest.Require(t, controller.Stop())
	s.suspend(t, release, "unwatched")
	t.Run("its own charts directly, by the entries that end in a dot", s.checkOwnCharts)
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{cp: controlplanetest.Shared(t, operator.Content...)}
	s.install(t)
	s.startOperator(t)
	return s
}

// install has Flux' kinds, and a source. helm-controller is not started.
func (s *site) install(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	var err error
	s.program, err = tools.Build(ctx, tools.FluxHelmController, os.Stderr)
	controlplanetest.Require(t, err)
	s.module, err = tools.ModuleDir(ctx, tools.FluxHelmControllerModule, "github.com/fluxcd/helm-controller")
	controlplanetest.Require(t, err)
	sources, err := tools.ModuleDir(ctx, "provider-crds", "github.com/fluxcd/source-controller")
	controlplanetest.Require(t, err)
	for _, module := range []string{s.module, sources} {
		controlplanetest.Require(t, s.cp.ApplyFS(ctx, os.DirFS(filepath.Join(module, "config", "crd", "bases"))))
	}
	s.client, err = client.New(s.cp.Admin(), client.Options{})
	controlplanetest.Require(t, err)
	s.source = newSource(t)
}

// startOperator returns when the Secret with the values is there.
func (s *site) startOperator(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	controlplanetest.Require(t, operator.Install(ctx, s.cp))
	example, err := os.ReadFile(filepath.Join("..", "..", "examples", "cluster.yaml"))
	controlplanetest.Require(t, err)
	kubeconfig, err := os.ReadFile(s.cp.AdminKubeconfig())
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, s.cp.Apply(ctx, []byte(proxyObjects), example))
	s.setPassword(t, first)
	s.secret(t, namespace, cluster+"-kubeconfig", map[string]string{"value": string(kubeconfig)})
	_, err = operator.Start(ctx, s.cp, operator.Options{Args: []string{"--leader-elect=false"}})
	controlplanetest.Require(t, err)
	controlplanetest.Await(t, "the Secret with the values", func(ctx context.Context) (bool, error) {
		return true, s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: values}, &corev1.Secret{})
	})
}

const proxyObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: org-acme}
---
apiVersion: v1
kind: Namespace
metadata: {name: flux-system}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: default, namespace: flux-system}
---
apiVersion: fairlead.io/v1alpha1
kind: CorporateProxy
metadata: {name: default}
spec: {source: {valuesRef: {name: corporate-proxy}}}
`

func proxyURL(password string) string {
	return fmt.Sprintf("http://%s:%s@%s:%d", user, password, machine.ProxyAddress, machine.ProxyPort)
}

// setPassword is the platform team, which changes the Secret of the CorporateProxy.
func (s *site) setPassword(t *testing.T, password string) {
	t.Helper()
	url := proxyURL(password)
	s.secret(t, operator.Namespace, "corporate-proxy", map[string]string{"http": url, "https": url, "noProxy": "corp.example"})
}

func (s *site) secret(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": namespace, "name": name}, "stringData": data,
	})
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, s.cp.Apply(t.Context(), text))
}

// values are those in a Secret.
func (s *site) values(t *testing.T, name string) map[string]any {
	t.Helper()
	secret := &corev1.Secret{}
	controlplanetest.Require(t, s.client.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, secret))
	var read map[string]any
	controlplanetest.Require(t, yaml.Unmarshal(secret.Data["values"], &read))
	return read
}

// released are the values of a release, as Helm has stored them.
func (s *site) released(ctx context.Context, namespace, name string) (map[string]any, error) {
	text, err := helm.Run(ctx, "get", "values", name, "--namespace", namespace, "--output", "yaml", "--kubeconfig", s.cp.AdminKubeconfig())
	if err != nil {
		return nil, err
	}
	var read map[string]any
	return read, yaml.Unmarshal(text, &read)
}

// documented are a source, and the HelmRelease of docs/how-to/charts.md. The policies are evaluated by the API server, so
// that they need no Kyverno here, and carry the values themselves, so that they need no replicator.
func (s *site) documented(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "how-to", "charts.md"))
	controlplanetest.Require(t, err)
	_, section, _ := strings.Cut(string(text), "\n## Flux\n")
	_, section, _ = strings.Cut(section, "```yaml\n")
	section, _, found := strings.Cut(section, "```")
	if !found {
		t.Fatal("docs/how-to/charts.md shows no HelmRelease")
	}
	objects, err := controlplane.Parse([]byte(softwareRepository + "\n---\n" + section))
	controlplanetest.Require(t, err)
	if len(objects) != 2 || objects[1].GetName() != release {
		t.Fatalf("docs/how-to/charts.md shows %d objects", len(objects))
	}
	controlplanetest.Require(t, unstructured.SetNestedField(objects[1].Object, map[string]any{"engine": "Native", "carry": "Literal"}, "spec", "values"))
	s.source.pack(t, objects[0], policies.Chart(), s.source.address)
	return objects
}

// small are objects of a chart with our value paths and nothing else. Its values are a copy of ours, in a Secret with
// these labels.
func (s *site) small(t *testing.T, name string, labels map[string]string) []*unstructured.Unstructured {
	t.Helper()
	s.copyValues(t, name, labels)
	objects, err := controlplane.Parse(fmt.Appendf(nil, smallObjects, name))
	controlplanetest.Require(t, err)
	s.source.pack(t, objects[0], smallChart(t), s.source.address)
	return objects
}

const smallObjects = `
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: %[1]s, namespace: org-acme}
spec: {interval: 10m, url: "oci://registry.example/%[1]s"}
---
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: %[1]s, namespace: org-acme}
spec:
  interval: 24h
  chartRef: {kind: OCIRepository, name: %[1]s}
  valuesFrom: [{kind: Secret, name: %[1]s, valuesKey: values}]
`

// copyValues writes our values as they are now into a Secret of somebody else's.
func (s *site) copyValues(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	text, err := yaml.Marshal(s.values(t, values))
	controlplanetest.Require(t, err)
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "stringData": map[string]any{"values": string(text)},
	}}
	secret.SetNamespace(namespace)
	secret.SetName(name)
	secret.SetLabels(labels)
	controlplanetest.Require(t, s.cp.ApplyObjects(t.Context(), secret))
}

// release applies an OCIRepository and a HelmRelease, and returns when there is a release.
func (s *site) release(t *testing.T, objects []*unstructured.Unstructured) {
	t.Helper()
	s.source.publish(t, s, objects[0])
	controlplanetest.Require(t, s.cp.ApplyObjects(t.Context(), objects[1]))
	s.awaitRevision(t, objects[1].GetNamespace(), objects[1].GetName(), 1)
}

// awaitRevision returns when the HelmRelease is ready and its release has this revision.
func (s *site) awaitRevision(t *testing.T, namespace, name string, want int) {
	t.Helper()
	controlplanetest.Await(t, fmt.Sprintf("revision %d of %s", want, name), func(ctx context.Context) (bool, error) {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(helmReleases)
		if err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object); err != nil {
			return false, err
		}
		if got := revision(object); got != want || !isReady(object) {
			return false, fmt.Errorf("revision %d, conditions %v", got, conditions(object))
		}
		return true, nil
	})
}

// revision is that of the newest release.
func revision(object *unstructured.Unstructured) int {
	history, _, _ := unstructured.NestedSlice(object.Object, "status", "history")
	if len(history) == 0 {
		return 0
	}
	newest, _ := history[0].(map[string]any)
	version, _ := newest["version"].(int64)
	return int(version)
}

func conditions(object *unstructured.Unstructured) []any {
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	return all
}

func isReady(object *unstructured.Unstructured) bool {
	for _, c := range conditions(object) {
		condition, _ := c.(map[string]any)
		if condition["type"] == "Ready" && condition["status"] == "True" {
			return true
		}
	}
	return false
}

func (s *site) suspend(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(helmReleases)
		object.SetNamespace(namespace)
		object.SetName(name)
		patch := client.RawPatch("application/merge-patch+json", []byte(`{"spec":{"suspend":true}}`))
		controlplanetest.Require(t, s.client.Patch(t.Context(), object, patch))
	}
}

// checkUnchanged: the release has what is in the Secret, and what the HelmRelease says itself.
func (s *site) checkUnchanged(t *testing.T) {
	want := s.values(t, values)
	want["engine"], want["carry"] = "Native", "Literal"
	got, err := s.released(t.Context(), policies.Namespace, "fairlead-policies")
	controlplanetest.Require(t, err)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the values of the release (-want +got):\n%s", diff)
	}
}

// checkAtOnce: a new password reaches the release although its interval is a day. The same change of a Secret without
// the label, made before it, has not even made helm-controller look, until it gets the label.
func (s *site) checkAtOnce(t *testing.T, controller *controller) {
	t.Helper()
	before := controller.awaitIdle(t)
	s.setPassword(t, second)
	controlplanetest.Await(t, "the new password in the Secret", func(context.Context) (bool, error) {
		url := s.values(t, values)["http_proxy"]
		return controlplanetest.Holds(url == proxyURL(second), "it is %v", url)
	})
	s.copyValues(t, "unwatched", map[string]string{})
	s.awaitRevision(t, namespace, release, 2)
	after := controller.awaitIdle(t)
	if after[release] == before[release] || after["unwatched"] != before["unwatched"] {
		t.Errorf("helm-controller looked so often: before %v, after %v", before, after)
	}
	got, err := s.released(t.Context(), policies.Namespace, "fairlead-policies")
	controlplanetest.Require(t, err)
	if got["https_proxy"] != proxyURL(second) {
		t.Errorf("https_proxy of the release is %v", got["https_proxy"])
	}
	// Whatever helm-controller has to do for the copy, it does for the release after it.
	s.setPassword(t, third)
	s.awaitRevision(t, namespace, release, 3)
	last := controller.awaitIdle(t)
	if last["unwatched"] != before["unwatched"] {
		t.Errorf("helm-controller looked at the copy without the label: before %v, after %v", before, last)
	}
	s.copyValues(t, "unwatched", map[string]string{"reconcile.fluxcd.io/watch": "Enabled"})
	s.awaitRevision(t, namespace, "unwatched", 2)
}
