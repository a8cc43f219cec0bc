package clusterapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
	decided "github.com/fairlead-io/fairlead/internal/core/wiring"
)

// wire runs fairlead wire for mycluster, which must end with the status.
func (w *wired) wire(status int, args ...string) (result decided.Result, states map[string]decided.State) {
	w.Helper()
	kubeconfig, err := w.cp.Kubeconfig(w.cp.Admin())
	w.must(err)
	args = append([]string{"wire", "mycluster", "-n", w.namespace, "-o", "json", "--kubeconfig", kubeconfig}, args...)
	var out, warnings string
	controlplanetest.Await(w, "the API server to try the labels", func(context.Context) (bool, error) {
		var got int
		got, out, warnings = command.Run(w, nil, args...)
		if strings.Contains(warnings, "failed calling webhook") { // which is slow on a busy machine
			return false, errors.New(warnings)
		}
		if got != status {
			w.Fatalf("fairlead %s: status %d\n%s%s", strings.Join(args, " "), got, out, warnings)
		}
		return true, nil
	})
	w.must(json.Unmarshal([]byte(out), &result))
	if strings.Contains(out+warnings, "mySuperSecretPassword") {
		w.Error("the password is shown")
	}
	states = map[string]decided.State{}
	for _, o := range result.Objects {
		states[o.Kind] = o.State
	}
	return result, states
}

// unlabelled is the example of Debian as somebody has it who knows nothing of Fairlead yet.
func (w *wired) unlabelled() map[string]*unstructured.Unstructured {
	w.Helper()
	manifests := w.byLabel(true)
	for _, object := range manifests {
		object.SetLabels(nil)
		if strings.HasPrefix(object.GetKind(), "Kubeadm") {
			w.must(unstructured.SetNestedSlice(object.Object, []any{map[string]any{"path": "/etc/own.env", "content": "a=mySuperSecretPassword"}}, append(wiring(object), "files")...))
		}
	}
	return manifests
}

var allKinds = []string{"Cluster", "KubeadmControlPlane", "KubeadmConfigTemplate"}

func all(state decided.State) map[string]decided.State {
	return map[string]decided.State{allKinds[0]: state, allKinds[1]: state, allKinds[2]: state}
}

// The diff says what happens, --yes has it happen, and the second time there is nothing to do.
func TestWireShowsWhatChangesAndWritesItOnce(t *testing.T) {
	tier.Full(t)
	withEachEngine(t, true, func(_ *testing.T, w *wired) {
		w.install(hasInjected)
		manifests := w.unlabelled()
		w.applyCluster(applied["flux"], manifests)
		w.provision()
		w.awaitMachine(manifests["KubeadmControlPlane"])
		w.awaitUpToDate(true)
		w.awaitReady()

		before := w.generations(manifests)
		shown, states := w.wire(1)
		if diff := cmp.Diff(all(decided.Change), states); diff != "" {
			w.Fatalf("states (-want +got):\n%s\n%+v", diff, shown)
		}
		w.wantShown(shown)
		if diff := cmp.Diff(before, w.generations(manifests)); diff != "" || w.labelled(manifests) != 0 {
			w.Errorf("a dry run has written: %d labels, generations (-before +after):\n%s", w.labelled(manifests), diff)
		}

		written, _ := w.wire(0, "--yes")
		for i, o := range written.Objects {
			if o.State == decided.Change && (!o.Written || !cmp.Equal(o.Diff, shown.Objects[i].Diff)) {
				w.Errorf("%+v\nwas shown as %+v", o, shown.Objects[i])
			}
		}
		w.wantWritten(manifests)
		w.awaitUpToDate(false) // as it said

		after := w.generations(manifests)
		for _, args := range [][]string{nil, {"--yes"}} {
			if result, states := w.wire(0, args...); !cmp.Equal(all(decided.Wired), states) {
				w.Errorf("again: %+v", result)
			}
		}
		for _, kind := range clusterKinds { // which know nothing of the labels
			applied["flux"](w, manifests[kind])
			applied["kubectl"](w, manifests[kind])
		}
		w.wantWritten(manifests)
		if diff := cmp.Diff(after, w.generations(manifests)); diff != "" {
			w.Errorf("generations (-before +after):\n%s", diff)
		}
	})
}

// awaitMachine awaits that the control plane counts its one machine: no further one comes up here.
func (w *wired) awaitMachine(controlPlane *unstructured.Unstructured) {
	w.Helper()
	controlplanetest.Await(w, "a machine that is counted", func(context.Context) (bool, error) {
		replicas, _, err := unstructured.NestedInt64(w.live(controlPlane).Object, "status", "replicas")
		return replicas == 1, err
	})
}

// awaitReady awaits a report that has nothing to say.
func (w *wired) awaitReady() {
	w.Helper()
	w.awaitReport("the report", "mycluster", func(report *v1alpha1.ProxyReport) (bool, error) {
		return controlplanetest.Holds(meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionReady), "%+v", report.Status)
	})
}

// labelled counts the labels of Fairlead.
func (w *wired) labelled(manifests map[string]*unstructured.Unstructured) (n int) {
	w.Helper()
	for _, kind := range allKinds {
		for name := range w.live(manifests[kind]).GetLabels() {
			if strings.HasPrefix(name, "fairlead.io/") {
				n++
			}
		}
	}
	return n
}

func (w *wired) wantShown(shown decided.Result) {
	w.Helper()
	for _, o := range shown.Objects {
		text, replaced, paths := strings.Join(o.Diff, "\n"), int64(0), injectedPaths
		switch o.Kind {
		case "Cluster":
			paths = nil
		case "KubeadmControlPlane":
			replaced = 1
		}
		if o.Replaces != replaced || strings.Contains(text, "~ ") {
			w.Errorf("it replaces machines, or changes what is not the policy's: %+v", o)
		}
		for _, want := range paths {
			if !strings.Contains(text, want) {
				w.Errorf("the diff of %s does not show %s:\n%s", o.Kind, want, text)
			}
		}
	}
}

func (w *wired) wantWritten(manifests map[string]*unstructured.Unstructured) {
	w.Helper()
	if got := w.live(manifests["Cluster"]).GetLabels()[v1alpha1.DeliverLabel]; got != "mycluster" {
		w.Errorf("the Cluster's label is %q", got)
	}
	for _, kind := range allKinds[1:] {
		live := w.live(manifests[kind])
		if labels := live.GetLabels(); labels[nodeFilesLabel] != "inject" || labels[clusterLabel] != "mycluster" {
			w.Errorf("labels of the %s: %v", kind, labels)
		}
		w.want(live, append([]string{"/etc/own.env"}, injectedPaths...), append([]any{injectedCommand}, ownCommands...))
	}
}

// A label on what a topology made is the user's, and the topology controller leaves it there. The files belong into the class.
func TestWhatATopologyOwnsIsLeftAlone(t *testing.T) {
	tier.Full(t)
	withEachEngine(t, true, func(_ *testing.T, w *wired) {
		w.install(hasInjected)
		w.apply(vsphere)
		objects := w.example("clusterclass.yaml")
		for _, object := range objects {
			unstructured.RemoveNestedField(object.Object, "spec", "patches")
		}
		w.must(w.create(objects...))
		manifests := w.ofTopology()
		before := w.generations(manifests)

		want := map[string]decided.State{"Cluster": decided.Change, "KubeadmControlPlane": decided.Left, "KubeadmConfigTemplate": decided.Left}
		result, states := w.wire(1)
		if diff := cmp.Diff(want, states); diff != "" {
			w.Errorf("states (-want +got):\n%s", diff)
		}
		for _, o := range result.Objects {
			if o.State == decided.Left && !strings.Contains(o.Do, "examples/nodes/clusterclass.yaml") {
				w.Errorf("it does not say what to do: %+v", o)
			}
		}
		w.wire(0, "--yes")
		for kind, object := range manifests {
			if labels := w.live(object).GetLabels(); labels[nodeFilesLabel] != "" {
				w.Errorf("the %s has got the labels %v", kind, labels)
			}
			w.patch(object, `{"metadata":{"labels":{%q:"inject"}}}`, nodeFilesLabel)
		}

		w.scaleTopology(4) // with which the topology looks at all there is
		for kind, object := range manifests {
			if live := w.live(object); live.GetLabels()[nodeFilesLabel] != "inject" || len(listOf(live, "files")) != 0 {
				w.Errorf("%s has labels %v and files %v", kind, live.GetLabels(), pathsOf(live))
			}
		}
		if was, name := manifests["KubeadmConfigTemplate"].GetName(), w.workersTemplate().Name; name != was {
			w.Errorf("template %s has become %s", was, name)
		}
		if diff := cmp.Diff(before, w.generations(manifests)); diff != "" {
			w.Errorf("generations (-before +after):\n%s", diff)
		}
	})
}

// ofTopology returns the objects that the topology controller has made, once the Cluster names its control plane.
func (w *wired) ofTopology() map[string]*unstructured.Unstructured {
	w.Helper()
	controlPlane := w.named("controlplane.cluster.x-k8s.io/v1beta2", "KubeadmControlPlane", w.awaitTopology().Name)
	awaitObject(w.fleet, "the Cluster to name its control plane", &clusterv1.Cluster{}, "mycluster", func(cluster *clusterv1.Cluster) (bool, error) {
		return controlplanetest.Holds(cluster.Spec.ControlPlaneRef.Name != "", "it names none")
	})
	return map[string]*unstructured.Unstructured{
		"KubeadmControlPlane": controlPlane, "KubeadmConfigTemplate": w.template(w.workersTemplate().Name, nil),
	}
}

// scaleTopology returns when the topology controller has done it.
func (w *wired) scaleTopology(replicas int32) {
	w.Helper()
	cluster := w.named("cluster.x-k8s.io/v1beta2", "Cluster", "mycluster")
	w.must(w.client.Patch(w.Context(), cluster, client.RawPatch("application/json-patch+json", fmt.Appendf(nil,
		`[{"op":"replace","path":"/spec/topology/workers/machineDeployments/0/replicas","value":%d}]`, replicas))))
	controlplanetest.Await(w, "the topology", func(ctx context.Context) (bool, error) {
		deployments := &clusterv1.MachineDeploymentList{}
		err := w.client.List(ctx, deployments, client.InNamespace(w.namespace))
		return err == nil && len(deployments.Items) == 1 && *deployments.Items[0].Spec.Replicas == replicas, err
	})
}
