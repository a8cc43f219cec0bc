// Package flux goes the way of the values through Flux' real controllers: the operator's Secret, a HelmRelease as
// docs/how-to/charts.md shows it, a release. The charts come from a registry.
package flux_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/registry"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// The cluster of examples/cluster.yaml, as in docs/how-to/charts.md, and the proxy's passwords.
const (
	namespace = "org-acme"
	cluster   = "mycluster"
	values    = cluster + "-cluster-values"
	release   = cluster + "-fairlead-policies"
	first     = "first-password"
	second    = "second-password"
	third     = "third-password"
)

var helmReleases = schema.GroupVersionKind{Group: "helm.toolkit.fluxcd.io", Version: "v2", Kind: "HelmRelease"}

// site is a management cluster with the operator and Flux, which is its own workload cluster.
type site struct {
	cp       *controlplane.ControlPlane
	client   client.Client
	program  string // helm-controller
	registry string // its address
}

func TestFluxHandsTheValuesOn(t *testing.T) {
	s := &site{cp: controlplanetest.Shared(t, operator.Content...)}
	s.install(t)
	s.startOperator(t)
	controller := s.startController(t)
	s.release(t, s.documented(t)...)
	s.copyValues(t, "unwatched", map[string]string{})
	s.release(t, s.small(t)...)
	t.Run("unchanged", s.checkUnchanged)
	t.Run("a change at once, by the label", func(t *testing.T) { s.checkAtOnce(t, controller) })
}

// install installs Flux' kinds, and starts a registry and source-controller. helm-controller is not started.
func (s *site) install(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	s.program = controlplanetest.Tool(t, tools.FluxHelmController)
	module, err := tools.ModuleDir(ctx, tools.FluxHelmControllerModule, "github.com/fluxcd/helm-controller")
	controlplanetest.Require(t, err)
	for _, module := range []string{module, sourcesModule(t)} {
		controlplanetest.Require(t, s.cp.ApplyFS(ctx, os.DirFS(filepath.Join(module, "config", "crd", "bases"))))
	}
	s.client = controlplanetest.Client(t, s.cp.Admin(), nil)
	s.registry = registry.Start(t)
	s.startSources(t)
}

// startOperator returns when the Secret with the values is there.
func (s *site) startOperator(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	controlplanetest.Require(t, operator.Install(ctx, s.cp))
	example := controlplanetest.ReadFile(t, filepath.Join("..", "..", "examples", "cluster.yaml"))
	kubeconfig := controlplanetest.ReadFile(t, s.cp.AdminKubeconfig())
	controlplanetest.Require(t, s.cp.Apply(ctx, []byte(proxyObjects), example))
	s.setPassword(t, first)
	s.secret(t, namespace, cluster+"-kubeconfig", map[string]string{"value": string(kubeconfig)})
	_, err := operator.Start(ctx, s.cp, operator.Options{Args: []string{"--leader-elect=false"}})
	controlplanetest.Require(t, err)
	controlplanetest.Await(t, "the Secret with the values", func(ctx context.Context) (bool, error) {
		return true, s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: values}, &corev1.Secret{})
	})
}

const proxyObjects = proxyNamespaces + `
---
{apiVersion: v1, kind: ServiceAccount, metadata: {name: default, namespace: flux-system}}
---
apiVersion: fairlead.io/v1alpha1
kind: CorporateProxy
metadata: {name: default}
spec: {source: {valuesRef: {name: corporate-proxy}}}
`

func proxyURL(password string) string { return "http://flux:" + password + "@192.0.2.1:3128" }

// setPassword is the platform team, which changes the Secret of the CorporateProxy.
func (s *site) setPassword(t *testing.T, password string) {
	t.Helper()
	url := proxyURL(password)
	s.secret(t, operator.Namespace, "corporate-proxy", map[string]string{"http": url, "https": url, "noProxy": "corp.example"})
}

func (s *site) secret(t *testing.T, namespace, name string, data map[string]string) {
	t.Helper()
	s.labelledSecret(t, namespace, name, map[string]string{}, data)
}

func (s *site) labelledSecret(t *testing.T, namespace, name string, labels, data map[string]string) {
	t.Helper()
	text, err := yaml.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"namespace": namespace, "name": name, "labels": labels}, "stringData": data,
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

// documented are a source, and the HelmRelease of docs/how-to/charts.md. The policies are evaluated by the API server, so
// that they need no Kyverno here, and carry the values themselves, so that they need no replicator.
func (s *site) documented(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects := append(s.repository(t, policies.Chart()), shown(t, "charts.md", "## Flux")...)
	if len(objects) != 2 || objects[1].GetName() != release {
		t.Fatalf("docs/how-to/charts.md shows %v", objects)
	}
	controlplanetest.Require(t, unstructured.SetNestedField(objects[1].Object, map[string]any{"engine": "Native", "carry": "Literal"}, "spec", "values"))
	return objects
}

// shown are the objects of the first block of YAML below a line of a page.
func shown(t *testing.T, page, line string) []*unstructured.Unstructured {
	t.Helper()
	text := controlplanetest.ReadFile(t, repository.Path("docs", "how-to", page))
	_, section, _ := strings.Cut(string(text), "\n"+line)
	_, section, _ = strings.Cut(section, "```yaml\n")
	section, _, _ = strings.Cut(section, "```")
	objects, err := controlplane.Parse([]byte(section))
	controlplanetest.Require(t, err)
	return objects
}

// small are a source and a HelmRelease of a chart with our value paths and nothing else. Its values are a copy of ours.
func (s *site) small(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	objects, err := controlplane.Parse([]byte(`
apiVersion: helm.toolkit.fluxcd.io/v2
kind: HelmRelease
metadata: {name: unwatched, namespace: org-acme}
spec:
  interval: 24h
  chartRef: {kind: OCIRepository, name: small}
  valuesFrom: [{kind: Secret, name: unwatched, valuesKey: values}]
`))
	controlplanetest.Require(t, err)
	return append(s.repository(t, smallChart(t)), objects...)
}

// smallChart writes a chart with our value paths.
func smallChart(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "small")
	controlplanetest.Require(t, os.MkdirAll(filepath.Join(dir, "templates"), 0o755))
	for name, content := range map[string]string{
		"Chart.yaml": "apiVersion: v2\nname: small\nversion: 0.1.0\n",
		"templates/settings.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: {{ .Release.Name }}-settings}\n" +
			"data:\n  noProxy: {{ .Values.cluster.proxy.noProxy | quote }}\n",
	} {
		controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
	}
	return dir
}

// copyValues writes our values as they are now into a Secret of somebody else's.
func (s *site) copyValues(t *testing.T, name string, labels map[string]string) {
	t.Helper()
	text, err := yaml.Marshal(s.values(t, values))
	controlplanetest.Require(t, err)
	s.labelledSecret(t, namespace, name, labels, map[string]string{"values": string(text)})
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

// release applies a source and a HelmRelease, and returns when there is a release.
func (s *site) release(t *testing.T, objects ...*unstructured.Unstructured) {
	t.Helper()
	controlplanetest.Require(t, s.cp.ApplyObjects(t.Context(), objects...))
	s.awaitRevision(t, namespace, objects[1].GetName(), 1)
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
		got := revision(object)
		return controlplanetest.Holds(got == want && isReady(object), "revision %d, conditions %v", got, conditions(object))
	})
}

// revision returns the version of the newest release.
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
	return slices.ContainsFunc(conditions(object), func(c any) bool {
		condition, _ := c.(map[string]any)
		return condition["type"] == "Ready" && condition["status"] == "True"
	})
}

// checkUnchanged checks that the release has the values in the Secret, and those in the HelmRelease itself.
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
