package flux_test

import (
	"context"
	"fmt"
	"os"
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
	"github.com/fairlead-io/fairlead/e2e/registry"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The real source-controller pulls the chart, and helm-controller installs it with its CRDs, by what docs/how-to/gitops.md shows. There
// is no kubelet: nothing waits for the Deployment.
func TestFluxInstallsTheOperatorFromARegistry(t *testing.T) {
	s := &site{cp: controlplanetest.Start(t, controlplane.Options{})}
	s.install(t)
	controlplanetest.Require(t, s.cp.Apply(t.Context(), []byte(proxyNamespaces+registryNamespace)))
	address := registry.Start(t)
	dir := t.TempDir()
	_, err := helm.Run(t.Context(), "package", repository.Path("charts", "fairlead"), "--destination", dir)
	controlplanetest.Require(t, err)
	packages, err := filepath.Glob(filepath.Join(dir, "*.tgz"))
	if err != nil || len(packages) != 1 {
		t.Fatal(packages, err)
	}
	_, err = helm.Run(t.Context(), "push", packages[0], "oci://"+address+"/fairlead-io/charts", "--plain-http")
	controlplanetest.Require(t, err)
	file, err := os.ReadFile(repository.Path("examples", "secret-values.yaml"))
	controlplanetest.Require(t, err)
	s.secret(t, operator.Namespace, "fairlead-proxy-values", map[string]string{"values.yaml": string(file)})
	s.startSources(t)
	s.startController(t)

	objects := installation(t)
	controlplanetest.Require(t, unstructured.SetNestedField(objects[0].Object, "oci://"+address+"/fairlead-io/charts/fairlead", "spec", "url"))
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
}

const registryNamespace = `
---
{apiVersion: v1, kind: Namespace, metadata: {name: fairlead-system}}`

// installation is the OCIRepository and the HelmRelease of the page.
func installation(t *testing.T) []*unstructured.Unstructured {
	t.Helper()
	page, err := os.ReadFile(repository.Path("docs", "how-to", "gitops.md"))
	controlplanetest.Require(t, err)
	_, section, _ := strings.Cut(string(page), "**With Flux:**")
	_, section, _ = strings.Cut(section, "```yaml\n")
	section, _, _ = strings.Cut(section, "```")
	objects, err := controlplane.Parse([]byte(section))
	controlplanetest.Require(t, err)
	if len(objects) != 2 || objects[0].GetKind() != "OCIRepository" || objects[1].GetKind() != "HelmRelease" {
		t.Fatalf("the page shows %v", objects)
	}
	return objects
}

// startSources starts source-controller.
func (s *site) startSources(t *testing.T) {
	t.Helper()
	path, err := tools.Build(t.Context(), tools.FluxSourceController, os.Stderr)
	controlplanetest.Require(t, err)
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
		Env: []string{"KUBECONFIG=" + s.cp.AdminKubeconfig(), "RUNTIME_NAMESPACE=flux-system"},
		Ready: func(ctx context.Context) error {
			_, err := process.Get(ctx, "http://"+addresses[1]+"/readyz")
			return err
		},
	})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = running.Stop() })
}
