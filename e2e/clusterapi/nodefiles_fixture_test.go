package clusterapi_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

const (
	nodeFilesLabel = "fairlead.io/node-files"
	renewNodeFiles = "fairlead.io/renew-node-files"
	injectFiles    = "inject-node-files"
	requireFiles   = "require-node-files"
	policyLabel    = "fairlead.test/node-files"
	clusterLabel   = "cluster.x-k8s.io/cluster-name"
)

// startedKyverno evaluates policies beside the shared control plane.
var startedKyverno struct {
	sync.Once
	kyverno *kyverno.Kyverno
	err     error
}

// withEachEngine runs a test with the policy evaluated by either, in a namespace of its own.
func withEachEngine(t *testing.T, parallel bool, test func(*testing.T, *wired)) {
	t.Helper()
	for _, engine := range []string{"Native", "Kyverno"} {
		t.Run(engine, func(t *testing.T) {
			if parallel {
				t.Parallel()
			}
			f := newFleet(t)
			if engine == "Kyverno" {
				startedKyverno.Do(func() {
					startedKyverno.kyverno, startedKyverno.err = kyverno.Start(context.Background(), f.cp, kyverno.Options{Progress: os.Stderr})
				})
				f.must(startedKyverno.err)
			}
			test(t, &wired{fleet: f, engine: engine, id: f.namespace, settings: map[string]any{"trustedCA": "Debian"}})
		})
	}
}

// wired is a fleet whose namespace has the policy.
type wired struct {
	*fleet
	engine   string
	id       string         // of the policies, and in a label of their namespaces
	settings map[string]any // nodeFiles of the chart
}

// install makes of the chart what the settings say, for the namespaces of this id alone, and returns when it acts as wanted.
func (w *wired) install(acts func(*unstructured.Unstructured) bool) {
	w.Helper()
	for _, object := range w.rendered() {
		w.must(w.cp.ApplyObjects(w.Context(), object))
		w.Cleanup(func() { _ = w.client.Delete(context.Background(), object) })
	}
	w.join(acts)
}

// again is another namespace of the same policies.
func (w *wired) again(t *testing.T) *wired {
	t.Helper()
	other := *w
	other.fleet = newFleet(t)
	other.join(hasInjected)
	return &other
}

// join labels the namespace, so that the policies act in it, and waits until they do.
func (w *wired) join(acts func(*unstructured.Unstructured) bool) {
	w.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.namespace}}
	w.answered(func() error {
		return w.client.Patch(w.Context(), namespace, merge(`{"metadata":{"labels":{%q:%q}}}`, policyLabel, w.id))
	})
	controlplanetest.Await(w, "the policies", func(context.Context) (bool, error) {
		nameless := w.template("nameless", map[string]string{nodeFilesLabel: "inject"})
		if err := w.client.Create(w.Context(), nameless, client.DryRunAll); err == nil || !strings.Contains(err.Error(), requireFiles) {
			return false, err
		}
		probe := w.template("probe", nil)
		err := w.client.Create(w.Context(), probe, client.DryRunAll)
		return err == nil && acts(probe), err
	})
}

// rendered are the policies, named and narrowed to this namespace.
func (w *wired) rendered() []*unstructured.Unstructured {
	w.Helper()
	manifest, err := helm.Template(w.Context(), helm.Release{
		Chart: repository.Path("charts", "fairlead"), Name: "fairlead", Namespace: "fairlead-system",
		Values: []any{
			map[string]any{"corporateProxy": map[string]any{"create": false}, "nodeFiles": map[string]any{"enabled": true, "engine": w.engine}},
			map[string]any{"nodeFiles": w.settings},
		},
	})
	w.must(err)
	objects, err := controlplane.Parse(manifest)
	w.must(err)
	var policies []*unstructured.Unstructured
	for _, object := range objects {
		if name := object.GetName(); name != injectFiles && name != requireFiles {
			continue
		}
		object.SetName(object.GetName() + "-" + w.id)
		spec := object.Object["spec"].(map[string]any)
		if name, isBinding := spec["policyName"].(string); isBinding {
			spec["policyName"] = name + "-" + w.id
		} else {
			spec["matchConstraints"].(map[string]any)["namespaceSelector"] = map[string]any{
				"matchLabels": map[string]any{policyLabel: w.id},
			}
		}
		policies = append(policies, object)
	}
	if want := map[string]int{"Native": 4, "Kyverno": 3}[w.engine]; len(policies) != want {
		w.Fatalf("%d policies and bindings", len(policies))
	}
	return policies
}

// template is one of workers that asks for files.
func (w *wired) template(name string, labels map[string]string) *unstructured.Unstructured {
	w.Helper()
	object := w.named("bootstrap.cluster.x-k8s.io/v1beta2", "KubeadmConfigTemplate", name)
	w.must(unstructured.SetNestedField(object.Object, int64(1), append(wiring(object), "verbosity")...))
	if labels == nil {
		labels = map[string]string{nodeFilesLabel: "inject", clusterLabel: "mycluster"}
	}
	object.SetLabels(labels)
	return object
}

// wiring is the field that has files and commands.
func wiring(object *unstructured.Unstructured) []string {
	if object.GetKind() == "KubeadmControlPlane" {
		return []string{"spec", "kubeadmConfigSpec"}
	}
	return []string{"spec", "template", "spec"}
}

func listOf(object *unstructured.Unstructured, field string) []any {
	list, _, _ := unstructured.NestedSlice(object.Object, append(wiring(object), field)...)
	return list
}

func pathsOf(object *unstructured.Unstructured) (paths []string) {
	for _, file := range listOf(object, "files") {
		paths = append(paths, file.(map[string]any)["path"].(string))
	}
	return paths
}

// applied are ways in which people apply a manifest, again and again.
var applied = map[string]func(*wired, *unstructured.Unstructured){
	// As Flux: it looks at what would become of the object, and applies where that differs.
	"flux": func(w *wired, manifest *unstructured.Unstructured) {
		owner := []client.PatchOption{client.ForceOwnership, client.FieldOwner("kustomize-controller")}
		dry := manifest.DeepCopy()
		apply := func(object *unstructured.Unstructured, options ...client.PatchOption) {
			w.answered(func() error { return w.client.Patch(w.Context(), object, client.Apply, append(options, owner...)...) }) //nolint:staticcheck // of what has no type
		}
		apply(dry, client.DryRunAll)
		apply(manifest.DeepCopy())
		if diff := cmp.Diff(w.live(manifest).Object["spec"], dry.Object["spec"]); diff != "" {
			w.Errorf("the dry run was another (-live +dry):\n%s", diff)
		}
	},
	"kubectl": func(w *wired, manifest *unstructured.Unstructured) { w.kubectl("apply", manifest) },
	"replace": func(w *wired, manifest *unstructured.Unstructured) {
		if w.exists(manifest) {
			w.kubectl("replace", manifest)
		} else {
			w.kubectl("create", manifest)
		}
	},
}

func (w *wired) kubectl(verb string, manifest *unstructured.Unstructured) {
	w.Helper()
	path := controlplanetest.Tool(w, tools.Kubectl)
	text, err := json.Marshal(manifest)
	w.must(err)
	w.answered(func() error {
		cmd := exec.CommandContext(w.Context(), path, verb, "--filename=-", "--kubeconfig="+w.cp.AdminKubeconfig())
		cmd.Stdin = bytes.NewReader(text)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("kubectl %s: %w\n%s", verb, err, out)
		}
		return nil
	})
}

// answered writes again as long as a webhook does not answer, as Kyverno's does not in time on a busy machine.
func (w *wired) answered(write func() error) {
	w.Helper()
	var refused error
	controlplanetest.Await(w, "an answer of the webhooks", func(context.Context) (bool, error) {
		err := write()
		if err != nil && strings.Contains(err.Error(), "failed calling webhook") {
			return false, err
		}
		refused = err
		return true, nil
	})
	w.must(refused)
}

func (w *wired) exists(object *unstructured.Unstructured) bool {
	w.Helper()
	err := w.client.Get(w.Context(), client.ObjectKeyFromObject(object), object.DeepCopy())
	w.must(client.IgnoreNotFound(err))
	return !apierrors.IsNotFound(err)
}

func (w *wired) live(object *unstructured.Unstructured) *unstructured.Unstructured {
	w.Helper()
	live := object.DeepCopy()
	w.must(w.client.Get(w.Context(), client.ObjectKeyFromObject(object), live))
	return live
}

// patch is a merge patch, as an administrator's.
func (w *wired) patch(object *unstructured.Unstructured, format string, args ...any) {
	w.Helper()
	w.answered(func() error {
		return w.client.Patch(w.Context(), object.DeepCopy(), merge(format, args...))
	})
}

// want compares what an object has with files, by path, and commands.
func (w *wired) want(object *unstructured.Unstructured, paths []string, commands []any) {
	w.Helper()
	if diff := cmp.Diff(paths, pathsOf(object)); diff != "" {
		w.Errorf("files of %s %s (-want +got):\n%s", object.GetKind(), object.GetName(), diff)
	}
	if diff := cmp.Diff(commands, listOf(object, "preKubeadmCommands")); diff != "" {
		w.Errorf("commands of %s %s (-want +got):\n%s", object.GetKind(), object.GetName(), diff)
	}
}
