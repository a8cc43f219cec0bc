package mutation_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
)

// chosen are policies, of values with a family for each way and two that overlap.
func chosen(t *testing.T, names ...string) []*mutation.Policy {
	t.Helper()
	values, err := mutation.ReadValues([]byte(`
proxy: {https: "http://proxy.example:3128", noProxy: a}
tunnels:
  families:
    chisel: {through: Sidecar}
    frpc: {through: Relay, targets: ["hub.example:7000"]}
    a: {labels: {app: [both]}, containers: [one], through: Environment, reads: [http_proxy]}
    b: {labels: {app: [both]}, containers: [one, two], through: Environment, reads: [HTTPS_PROXY]}
    c: {labels: {app: [c], tier: [edge]}, containers: [], through: Environment, reads: [HTTPS_PROXY]}
    d: {labels: {app: [d], tier: [core]}, containers: [], through: Environment, reads: [HTTPS_PROXY]}`))
	if err != nil {
		t.Fatal(err)
	}
	chart, err := values.Render()
	if err != nil {
		t.Fatal(err)
	}
	policies, err := chart.Choose(names)
	if err != nil {
		t.Fatal(err)
	}
	for _, policy := range policies {
		if err := policy.ReadSelectors(); err != nil {
			t.Fatal(err)
		}
	}
	return policies
}

func mutated(t *testing.T, policies []*mutation.Policy, labels map[string]any, containers ...any) (*unstructured.Unstructured, []mutation.Operation) {
	t.Helper()
	template := map[string]any{"metadata": map[string]any{"labels": labels}, "spec": map[string]any{"containers": containers}}
	pod, err := mutation.Pod(template, "", "n")
	if err != nil {
		t.Fatal(err)
	}
	_, operations, err := mutation.Run(t.Context(), policies, pod, &corev1.Namespace{})
	if err != nil {
		t.Fatal(err)
	}
	changed, err := mutation.Apply(pod.Object, "", operations)
	if err != nil {
		t.Fatal(err)
	}
	return &unstructured.Unstructured{Object: changed}, operations
}

// In an upgrade, Helm creates a policy for several families before it removes one for a family alone, and the reverse when somebody goes back.
func TestWhatAPolicyHasChangedAnotherWithTheSameFamilyLeavesAlone(t *testing.T) {
	for family, container := range map[string]map[string]any{
		"rancher": {"name": "cluster-register"}, "frpc": {"name": "frpc"}, "chisel": {"name": "chisel", "args": []any{"client", "https://hub.example"}},
		"konnectivity-agent-app": {"name": "konnectivity-agent", "args": []any{"--proxy-server-host=hub.example"}},
	} {
		label := map[string]string{"rancher": "cattle-cluster-agent", "konnectivity-agent-app": "konnectivity-agent"}[family]
		if label == "" {
			label = family
		}
		alone, shared := chosen(t, "tunnel-"+family), chosen(t)
		for _, order := range [][2][]*mutation.Policy{{alone, shared}, {shared, alone}} {
			pod, operations := mutated(t, order[0], map[string]any{"app": label}, container)
			if len(operations) == 0 {
				t.Errorf("%s: nothing is changed", family)
			}
			containers, _, _ := unstructured.NestedMap(pod.Object, "spec")
			again, err := mutation.Pod(map[string]any{"metadata": map[string]any{"labels": map[string]any{"app": label}}, "spec": containers}, "", "n")
			if err != nil {
				t.Fatal(err)
			}
			if _, more, err := mutation.Run(t.Context(), order[1], again, &corev1.Namespace{}); err != nil || len(more) != 0 {
				t.Errorf("%s: the second does %v, %v", family, more, err)
			}
		}
	}
}

func TestTheFirstFamilyThatNamesAContainerCountsForIt(t *testing.T) {
	own := []any{map[string]any{"name": "http_proxy", "value": "http://own.example:1"}}
	_, operations := mutated(t, chosen(t), map[string]any{"app": "both"}, map[string]any{"name": "one", "env": own}, map[string]any{"name": "two", "env": own})
	for _, operation := range operations {
		if operation.Path != "/spec/containers/1/env/-" {
			t.Errorf("a has decided, and it is of a first: %s", operation)
		}
	}
	if len(operations) != 4 { // not HTTP_PROXY, which it has in lower case
		t.Errorf("b's container gets %v", operations)
	}
}

// The selector of two keys takes more pairs than the rows have.
func TestAPodOfNoRowIsLeftAlone(t *testing.T) {
	for tier, want := range map[string]int{"edge": 7, "core": 0} {
		if _, operations := mutated(t, chosen(t), map[string]any{"app": "c", "tier": tier}, map[string]any{"name": "x"}); len(operations) != want {
			t.Errorf("tier %s: %v", tier, operations)
		}
	}
}
