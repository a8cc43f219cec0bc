package operator_test

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestWhatATopologyKeepsIsNotRolled(t *testing.T) {
	f := newFixture(t)
	f.installRollout()
	f.awaitRolloutPolicy(true)
	f.exampleProxy(rolling)
	a, b := f.build("a"), f.build("b")
	keeper := client.FieldOwner("capi-topology")
	keep := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": f.namespace, "name": "a-cp"},
		"spec":     map[string]any{"rollout": map[string]any{"after": "2026-01-02T03:04:05Z"}},
	}}
	keep.SetGroupVersionKind(controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"))
	f.must(f.client.Apply(t.Context(), client.ApplyConfigurationFromUnstructured(keep), keeper))
	f.changeSource("b", otherPassword("changed"))
	f.awaitRollout("a", `not rolled by Fairlead: KubeadmControlPlane a-cp, whose spec.rollout.after is kept by "capi-topology"`)
	f.awaitRolled(b.owners[0], f.awaitNodes("b", 1, 1, 0, 0).Since)
	if got := f.after(a.owners[0]); got.Year() != 2026 || got.Month() != time.January {
		t.Errorf("it was overwritten: %v", got)
	}
}
