package flux_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The real source-controller pulls the chart, and helm-controller installs it with its CRDs, by what docs/how-to/gitops.md shows. There
// is no kubelet: nothing waits for the Deployment.
func TestFluxInstallsTheOperatorFromARegistry(t *testing.T) {
	s := &site{cp: controlplanetest.Start(t, controlplane.Options{})}
	s.install(t)
	const namespaces = proxyNamespaces + "\n---\n{apiVersion: v1, kind: Namespace, metadata: {name: fairlead-system}}"
	controlplanetest.Require(t, s.cp.Apply(t.Context(), []byte(namespaces)))
	file := controlplanetest.ReadFile(t, repository.Path("examples", "secret-values.yaml"))
	s.secret(t, operator.Namespace, "fairlead-proxy-values", map[string]string{"values.yaml": string(file)})
	s.startController(t)

	objects := shown(t, "gitops.md", "**With Flux:**")
	if len(objects) != 2 || objects[0].GetKind() != "OCIRepository" || objects[1].GetKind() != "HelmRelease" {
		t.Fatalf("the page shows %v", objects)
	}
	controlplanetest.Require(t, unstructured.SetNestedField(objects[0].Object, s.push(t, repository.Path("charts", "fairlead")), "spec", "url"))
	controlplanetest.Require(t, unstructured.SetNestedField(objects[0].Object, true, "spec", "insecure")) // no TLS
	controlplanetest.Require(t, unstructured.SetNestedField(objects[1].Object, true, "spec", "install", "disableWait"))
	controlplanetest.Require(t, s.cp.ApplyObjects(t.Context(), objects...))
	controlplanetest.Await(t, "the operator and its CorporateProxy", func(ctx context.Context) (bool, error) {
		for _, object := range objects {
			if err := s.client.Get(ctx, client.ObjectKeyFromObject(object), object); err != nil {
				return false, err
			}
		}
		proxy := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "fairlead.io/v1alpha1", "kind": "CorporateProxy"}}
		if err := s.client.Get(ctx, client.ObjectKey{Name: "default"}, proxy); err != nil {
			return false, fmt.Errorf("%w; %v; %v", err, objects[0].Object["status"], objects[1].Object["status"])
		}
		return true, s.client.Get(ctx, client.ObjectKey{Namespace: operator.Namespace, Name: "fairlead-operator"}, &appsv1.Deployment{})
	})
	t.Run("sources ask the proxy", s.sourcesAskTheProxy)
	t.Run("sources have a name with a final dot", checkFinalDot)
}

// checkFinalDot: Flux' own manifest of source-controller is why a default list has cluster.local with a final dot, too.
func checkFinalDot(t *testing.T) {
	text := controlplanetest.ReadFile(t, filepath.Join(sourcesModule(t), "config", "manager", "deployment.yaml"))
	const host = "--storage-adv-addr=source-controller.$(RUNTIME_NAMESPACE).svc.cluster.local.\n"
	if !strings.Contains(string(text), host) {
		t.Errorf("no %s in\n%s", host, text)
	}
}

func sourcesModule(t *testing.T) string {
	t.Helper()
	dir, err := tools.ModuleDir(t.Context(), tools.FluxSourceController.Module, "github.com/fluxcd/source-controller")
	controlplanetest.Require(t, err)
	return dir
}

// push packages a chart, pushes it to the registry and returns its URL there.
func (s *site) push(t *testing.T, chart string) string {
	t.Helper()
	dir := t.TempDir()
	_, err := helm.Run(t.Context(), "package", chart, "--destination", dir)
	controlplanetest.Require(t, err)
	packages, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packages) != 1 {
		t.Fatal(packages, err)
	}
	folder := "oci://" + s.registry + "/fairlead-io/charts"
	_, err = helm.Run(t.Context(), "push", packages[0], folder, "--plain-http")
	controlplanetest.Require(t, err)
	return folder + "/" + filepath.Base(chart)
}

// repository is an OCIRepository of a chart that it pushes, by the chart's name.
func (s *site) repository(t *testing.T, chart string) []*unstructured.Unstructured {
	t.Helper()
	objects, err := controlplane.Parse(fmt.Appendf(nil, `
apiVersion: source.toolkit.fluxcd.io/v1
kind: OCIRepository
metadata: {name: %s, namespace: org-acme}
spec: {interval: 10m, url: %q, insecure: true, ref: {semver: 0.x}}
`, filepath.Base(chart), s.push(t, chart)))
	controlplanetest.Require(t, err)
	return objects
}

// startSources starts source-controller.
func (s *site) startSources(t *testing.T) {
	t.Helper()
	path := controlplanetest.Tool(t, tools.FluxSourceController)
	var addresses [3]string
	for i := range addresses {
		port, err := ports.Reserve()
		controlplanetest.Require(t, err)
		t.Cleanup(func() { _ = port.Release() })
		addresses[i] = port.Address()
	}
	running, err := s.cp.Run(t.Context(), process.Spec{
		Name: "source-controller", Path: path,
		Args: []string{
			"--storage-path", t.TempDir(), "--storage-addr", addresses[0], "--storage-adv-addr", addresses[0],
			"--health-addr", addresses[1], "--metrics-addr", addresses[2],
		},
		Env:   []string{"KUBECONFIG=" + s.cp.AdminKubeconfig(), "RUNTIME_NAMESPACE=flux-system"},
		Ready: process.Answers("http://" + addresses[1] + "/readyz"),
	})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = running.Stop() })
}
