// Package release_test is about what users download: that an API server takes it, that Helm pulls charts from a registry, and that the
// same commit makes the same bits.
package release_test

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/images/release"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// written is a folder with the manifests.
func written(t *testing.T) string {
	t.Helper()
	path := controlplanetest.Tool(t, tools.Helm)
	options := release.Options{Repository: repository.Path(), Output: t.TempDir(), Helm: path}
	controlplanetest.Require(t, release.WriteManifests(t.Context(), options))
	return options.Output
}

func objectsOf(t *testing.T, file string) []*unstructured.Unstructured {
	t.Helper()
	content := controlplanetest.ReadFile(t, file)
	objects, err := controlplane.Parse(content)
	controlplanetest.Require(t, err)
	return objects
}

func TestAManifestIsWhatTheChartRenders(t *testing.T) {
	dir := written(t)
	for file, values := range map[string]map[string]any{
		"fairlead-operator.yaml":         {"corporateProxy": map[string]any{"create": false}},
		"fairlead-policies-kyverno.yaml": {"source": map[string]any{"existing": true}},
		"fairlead-policies-native.yaml":  {"source": map[string]any{"existing": true}, "engine": "Native"},
	} {
		chart := "fairlead"
		if strings.Contains(file, "policies") {
			chart = "fairlead-policies"
		}
		rendered, err := helm.Template(t.Context(), helm.Release{
			Chart: repository.Path("charts", chart), Name: chart, Namespace: release.Namespace, Values: []any{values},
		})
		controlplanetest.Require(t, err)
		want, err := controlplane.Parse(rendered)
		controlplanetest.Require(t, err)
		objects := objectsOf(t, filepath.Join(dir, file))
		if diff := cmp.Diff(want, objects); diff != "" {
			t.Errorf("%s (-chart +manifest):\n%s", file, diff)
		}
		for _, object := range objects {
			if kind := object.GetKind(); kind == "Secret" || kind == "Namespace" {
				t.Errorf("%s has the %s %s", file, kind, object.GetName())
			}
		}
	}
	crds := objectsOf(t, filepath.Join(dir, "fairlead-crds.yaml"))
	if len(crds) != 3 || len(release.Manifests) != 4 {
		t.Errorf("%d CRDs in %d manifests", len(crds), len(release.Manifests))
	}
}

// kubectl itself, as the page says. Kyverno's kinds are there, and Kyverno does not run.
func TestAnAPIServerTakesTheManifestsTwiceAndTheSecondTimeNothingChanges(t *testing.T) {
	cp := controlplanetest.Start(t, controlplane.Options{})
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	manifest, err := kyverno.Manifest(t.Context(), false)
	controlplanetest.Require(t, err)
	kinds, err := controlplane.Parse(manifest)
	controlplanetest.Require(t, err)
	kinds = slices.DeleteFunc(kinds, func(o *unstructured.Unstructured) bool { return o.GetKind() != "CustomResourceDefinition" })
	controlplanetest.Require(t, cp.ApplyObjects(t.Context(), kinds...))
	clients := controlplanetest.Clients(t, cp)
	_, err = clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: release.Namespace}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	dir := written(t)
	for _, manifest := range release.Manifests { // the last one takes objects over from the one before
		applyTwice(t, cp, filepath.Join(dir, manifest.File))
	}

	kindsTwice(t, cp, objectsOf(t, filepath.Join(dir, "fairlead-crds.yaml")))

	namespace := controlplanetest.Namespace(t, cp)
	controlplanetest.Await(t, "a pod with the variables", func(ctx context.Context) (bool, error) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "web"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		}
		pod, err := clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && len(pod.Spec.Containers[0].Env) != 6 {
			err = fmt.Errorf("it has %+v", pod.Spec.Containers[0].Env)
		}
		return err == nil, err
	})
}

func applyTwice(t *testing.T, cp *controlplane.ControlPlane, file string) {
	t.Helper()
	controlplanetest.Await(t, file, func(context.Context) (bool, error) {
		err := kubectl(t, cp, file, "--server-side")
		return err == nil, err
	})
	objects := objectsOf(t, file)
	before := stored(t, cp, objects)
	controlplanetest.Require(t, kubectl(t, cp, file, "--server-side"))
	if diff := cmp.Diff(before, stored(t, cp, objects)); diff != "" {
		t.Errorf("%s, applied again (-before +after):\n%s", file, diff)
	}
}

// stored returns the fields that kubectl manages. The status is the API server's own, and takes its time.
func stored(t *testing.T, cp *controlplane.ControlPlane, objects []*unstructured.Unstructured) map[string]any {
	t.Helper()
	c := controlplanetest.Client(t, cp.Admin(), nil)
	found := map[string]any{}
	for _, object := range objects {
		got := &unstructured.Unstructured{}
		got.SetGroupVersionKind(object.GroupVersionKind())
		controlplanetest.Require(t, c.Get(t.Context(), client.ObjectKeyFromObject(object), got))
		fields := slices.DeleteFunc(got.GetManagedFields(), func(f metav1.ManagedFieldsEntry) bool { return f.Manager != "kubectl" })
		got.SetManagedFields(fields)
		got.SetResourceVersion("")
		delete(got.Object, "status")
		found[object.GetKind()+"/"+object.GetName()] = got.Object
	}
	return found
}
