package operator_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// Somebody's repository is applied every second, as Flux does (server-side) and with kubectl apply, while people pause,
// undo and resume: neither takes back what the other said, and no cluster is written twice.
func TestGitOpsAndPeopleDoNotFight(t *testing.T) {
	w := newWaves(t, 2, 18)
	stop := w.applyEverySecond()
	w.awaitApplied(2) // the first writes out what was left to defaults
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(w.proxy), w.proxy))
	generation := w.proxy.Generation

	w.pause()
	w.awaitRollout("it is paused", func(s v1alpha1.RolloutStatus) bool { return s.Paused })
	w.setNoProxy(w.proxy, "wrong.example")
	w.awaitRollout("revision 2 waits", func(s v1alpha1.RolloutStatus) bool { return s.Revision == 2 && s.Paused && s.Updated == 0 })
	versions := w.count(w.all())
	w.awaitApplied(3)
	if now := w.count(w.all()); now != versions {
		t.Errorf("%d Secrets were written while the rollout was paused", now-versions)
	}

	w.resume()
	w.awaitComplete(2)
	w.undo()
	w.awaitComplete(1)
	w.awaitApplied(3)
	w.awaitComplete(1)
	for _, cluster := range w.all() {
		w.awaitNoProxy(cluster, exampleMerged)
	}
	if now := w.count(w.all()) - versions; now != 2*2*len(w.all()) {
		t.Errorf("%d versions of Secrets since the pause, want two changes of each of both", now)
	}
	stop()
	w.must(w.client.Get(t.Context(), client.ObjectKeyFromObject(w.proxy), w.proxy))
	if w.proxy.Generation != generation {
		t.Errorf("the generation of the CorporateProxy went from %d to %d", generation, w.proxy.Generation)
	}
	control := &corev1.ConfigMap{}
	w.must(w.client.Get(t.Context(), client.ObjectKey{Namespace: operator.Namespace, Name: revision.ControlName(w.proxy.Name)}, control))
	if control.Data[revision.PausedKey] == "true" || control.Data[revision.RejectedKey] != w.digest(2) {
		t.Errorf("the control ConfigMap has %v", control.Data)
	}
}

// gitOps counts how often the repository was applied.
type gitOps struct {
	mu    sync.Mutex
	times int
}

var applied gitOps

// applyEverySecond applies the CorporateProxy as its author wrote it, until the returned function is called.
func (w *waves) applyEverySecond() (stop func()) {
	w.Helper()
	manifest := map[string]any{
		"apiVersion": v1alpha1.GroupVersion.String(), "kind": "CorporateProxy",
		"metadata": map[string]any{"name": w.proxy.Name}, "spec": w.proxy.Spec,
	}
	text, err := yaml.Marshal(manifest)
	w.must(err)
	file := filepath.Join(w.TempDir(), "corporateproxy.yaml")
	w.must(os.WriteFile(file, text, 0o600))
	kubectl, err := tools.Build(w.Context(), tools.Kubectl, os.Stderr)
	w.must(err)
	kubeconfig, err := w.cp.Kubeconfig(w.cp.Admin())
	w.must(err)
	ctx, cancel := context.WithCancel(w.Context())
	var done sync.WaitGroup
	done.Go(func() {
		for ctx.Err() == nil {
			object := &unstructured.Unstructured{}
			if err := yaml.Unmarshal(text, &object.Object); err != nil {
				w.Error(err)
				return
			}
			err := w.client.Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.FieldOwner("kustomize-controller"), client.ForceOwnership)
			if err != nil && ctx.Err() == nil {
				w.Errorf("server-side apply: %v", err)
			}
			out, err := exec.CommandContext(ctx, kubectl, "--kubeconfig", kubeconfig, "apply", "-f", file).CombinedOutput()
			if err != nil && ctx.Err() == nil {
				w.Errorf("kubectl apply: %v: %s", err, out)
			}
			applied.mu.Lock()
			applied.times++
			applied.mu.Unlock()
			select {
			case <-ctx.Done():
			case <-time.After(time.Second):
			}
		}
	})
	return func() { cancel(); done.Wait() }
}

// awaitApplied awaits that the repository was applied so many times more.
func (w *waves) awaitApplied(times int) {
	w.Helper()
	count := func() int {
		applied.mu.Lock()
		defer applied.mu.Unlock()
		return applied.times
	}
	until := count() + times
	controlplanetest.Await(w, "the repository to be applied", func(context.Context) (bool, error) {
		return holds(count() >= until, "it was %d times, and not %d", count(), until)
	})
}
