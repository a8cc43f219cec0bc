package clusterapi_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// What the policy adds for Debian, and what it is given besides.
var (
	injectedPaths = []string{
		"/etc/fairlead/proxy.env", "/etc/systemd/system/containerd.service.d/http-proxy.conf",
		"/etc/systemd/system/kubelet.service.d/http-proxy.conf", "/usr/local/share/ca-certificates/fairlead.crt",
	}
	injectedCommand any = "update-ca-certificates; systemctl daemon-reload; systemctl restart containerd # fairlead.io/node-files"
	ownCommands         = []any{"echo one", "systemctl daemon-reload", "echo two"}
)

func hasInjected(object *unstructured.Unstructured) bool {
	return slices.Contains(pathsOf(object), injectedPaths[0])
}

// byLabel is the example of Debian as somebody writes it who has the policy: a label in place of files and commands.
// With own, it has some of its own.
func (w *wired) byLabel(own bool) map[string]*unstructured.Unstructured {
	w.Helper()
	byKind := map[string]*unstructured.Unstructured{}
	for _, object := range w.example("kubeadm-debian.yaml") {
		byKind[object.GetKind()] = object
		object.SetNamespace(w.namespace)
		if !strings.HasPrefix(object.GetKind(), "Kubeadm") {
			continue
		}
		object.SetLabels(map[string]string{nodeFilesLabel: "inject", clusterLabel: "mycluster"})
		config := map[string]any{"verbosity": int64(2)}
		if own {
			config["preKubeadmCommands"] = slices.Clone(ownCommands)
			config["files"] = []any{map[string]any{ // at a path of its own, from the same Secret
				"path": "/etc/own.env", "owner": "root:root", "permissions": "0600", "encoding": "base64",
				"contentFrom": map[string]any{"secret": map[string]any{"name": "mycluster-systemd-proxy", "key": "environmentFile.base64"}},
			}}
		}
		w.must(unstructured.SetNestedMap(object.Object, config, wiring(object)...))
	}
	return byKind
}

// wantByLabel requires that an object of byLabel has its own files and commands, in order, and those of the policy.
func (w *wired) wantByLabel(object *unstructured.Unstructured, own bool) {
	w.Helper()
	if own {
		w.want(object, append([]string{"/etc/own.env"}, injectedPaths...), append([]any{injectedCommand}, ownCommands...))
	} else {
		w.want(object, injectedPaths, []any{injectedCommand})
	}
}

// The whole way: the API server, the webhooks and controllers of Cluster API, the operator. A machine that is up to date
// stays, however often its template is applied; a change of the template's own reaches it, so that the test would see one.
func TestATemplateWithTheLabelIsWiredAndRollsNothingHoweverOftenItIsApplied(t *testing.T) {
	tier.Full(t)
	withEachEngine(t, true, func(t *testing.T, w *wired) {
		t.Helper()
		w.install(hasInjected)
		for _, way := range []string{"flux", "kubectl"} {
			for _, own := range []bool{true, false} {
				t.Run(fmt.Sprintf("%s, own %t", way, own), func(t *testing.T) { w.again(t).applyAgain(applied[way], own) })
			}
		}
	})
}

// The kinds of byLabel, in the order in which they are applied.
var clusterKinds = []string{"Cluster", "KubeadmConfigTemplate", "KubeadmControlPlane", "MachineDeployment"}

// applyCluster applies the objects of byLabel, and what they refer to.
func (w *wired) applyCluster(apply func(*wired, *unstructured.Unstructured), manifests map[string]*unstructured.Unstructured) {
	w.Helper()
	w.apply(vsphere, vsphereCluster)
	for _, kind := range clusterKinds {
		apply(w, manifests[kind])
	}
}

func (w *wired) applyAgain(apply func(*wired, *unstructured.Unstructured), own bool) {
	w.Helper()
	manifests := w.byLabel(own)
	w.applyCluster(apply, manifests)
	controlPlane, template := manifests["KubeadmControlPlane"], manifests["KubeadmConfigTemplate"]
	w.wantByLabel(w.live(controlPlane), own)
	w.wantByLabel(w.live(template), own)
	w.provision()
	w.wantFiles("cloud-config")
	w.awaitUpToDate(true)

	before := w.generations(manifests)
	for range 5 {
		for _, kind := range clusterKinds[1:] {
			apply(w, manifests[kind])
		}
	}
	w.wantByLabel(w.live(controlPlane), own)
	w.wantByLabel(w.live(template), own)
	if diff := cmp.Diff(before, w.generations(manifests)); diff != "" {
		w.Errorf("generations (-before +after):\n%s", diff)
	}
	w.awaitUpToDate(true)
	sets := &clusterv1.MachineSetList{}
	w.must(w.client.List(w.Context(), sets, client.InNamespace(w.namespace)))
	if len(sets.Items) != 1 {
		w.Errorf("%d MachineSets", len(sets.Items))
	}

	w.must(unstructured.SetNestedStringSlice(controlPlane.Object, []string{"echo three"}, "spec", "kubeadmConfigSpec", "preKubeadmCommands"))
	apply(w, controlPlane)
	w.awaitUpToDate(false)
}

// awaitUpToDate awaits what the control plane says of its one machine.
func (w *wired) awaitUpToDate(want bool) {
	w.Helper()
	what := fmt.Sprintf("a machine that is up to date: %t", want)
	awaitObject(w.fleet, what, &controlplanev1.KubeadmControlPlane{}, "mycluster", func(current *controlplanev1.KubeadmControlPlane) (bool, error) {
		condition := meta.FindStatusCondition(current.Status.Conditions, controlplanev1.KubeadmControlPlaneMachinesUpToDateCondition)
		says := condition != nil && condition.ObservedGeneration == current.Generation && (condition.Status == "True") == want
		return controlplanetest.Holds(says, "generation %d: %+v", current.Generation, condition)
	})
}

func (w *wired) generations(manifests map[string]*unstructured.Unstructured) map[string]int64 {
	w.Helper()
	found := map[string]int64{}
	for kind, manifest := range manifests {
		found[kind] = w.live(manifest).GetGeneration()
	}
	return found
}
