package mutation_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

const (
	decisions = "../../../e2e/policies/testdata/decisions"
	inject    = "inject-proxy-env"
	secret    = "fairlead-proxy"
)

// What becomes of the pod of each row, and that a pod made of it does not change again. That the engines make the same is
// proven by e2e/policies.
func TestEveryRowOfTheTablesOfTunnelsHolds(t *testing.T) {
	for _, v := range mutationtest.Variants() {
		t.Run(v.Name, func(t *testing.T) {
			policies := policiesOf(t, v)
			for _, r := range rowsOf(t, v) {
				t.Run(r.Number, func(t *testing.T) {
					if diff := rowDifference(t, policies, v, r, false); diff != "" {
						t.Errorf("(-want +got):\n%s", diff)
					}
				})
			}
		})
	}
}

// Policies are evaluated in the order of their names: inject-proxy-env may come before the tunnel's policy, or after
// it.
func TestEveryRowOfAKonnectivityAgentHoldsBesideInjectProxyEnv(t *testing.T) {
	for _, v := range mutationtest.Variants() {
		if v.Values["carry"] != nil {
			continue
		}
		v.Families = []string{mutationtest.Konnectivity}
		tunnels := policiesOf(t, v)
		ours := policiesOf(t, v, inject)
		for order, policies := range map[string][]*mutation.Policy{"before": slices.Concat(ours, tunnels), "after": slices.Concat(tunnels, ours)} {
			t.Run(v.Name+"/"+order, func(t *testing.T) {
				for _, r := range rowsOf(t, v) {
					if diff := rowDifference(t, policies, v, r, true); diff != "" {
						t.Errorf("row %s (-want +got):\n%s", r.Number, diff)
					}
				}
			})
		}
	}
}

// With carry Relay, the variables name a Service, which an agent on the network of its node does not reach.
func TestAnAgentOnTheNetworkOfItsNodeIsLedByTheRelayOfMachinesAlone(t *testing.T) {
	for _, v := range []mutationtest.Variant{mutationtest.LedByRelay, mutationtest.LedByRelayOfPods} {
		for _, r := range []mutationtest.Row{rowsOf(t, v)[0], rowsOf(t, v)[0].OnNode()} {
			if diff := rowDifference(t, policiesOf(t, v), v, r, false); diff != "" {
				t.Errorf("%s (-want +got):\n%s", v.Name, diff)
			}
		}
	}
}

// chosenOf are by values and names, since rendering takes longer than a row.
var chosenOf = map[string][]*mutation.Policy{}

// policiesOf returns the policies with these names, or those for the families of the variant.
func policiesOf(t *testing.T, v mutationtest.Variant, names ...string) []*mutation.Policy {
	t.Helper()
	if names == nil {
		for _, family := range v.Families {
			names = append(names, "tunnel-"+family)
		}
	}
	base, err := yaml.Marshal(mutationtest.Values())
	must(t, err)
	over, err := yaml.Marshal(v.Values)
	must(t, err)
	key := fmt.Sprint(string(over), names)
	if chosenOf[key] != nil {
		return chosenOf[key]
	}
	values, err := mutation.ReadValues(base, over)
	must(t, err)
	rendering, err := values.Render()
	must(t, err)
	policies, err := rendering.Choose(names)
	must(t, err)
	for _, policy := range policies {
		must(t, policy.ReadSelectors())
	}
	chosenOf[key] = policies
	return policies
}

func rowsOf(t *testing.T, v mutationtest.Variant) []mutationtest.Row {
	t.Helper()
	rows, err := mutationtest.Rows(decisions, v.Text, v.Families)
	must(t, err)
	return rows
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// rowDifference is between what the table says of a row and what the policies make of its pod, beside inject-proxy-env or not.
func rowDifference(t *testing.T, policies []*mutation.Policy, v mutationtest.Variant, r mutationtest.Row, isBeside bool) string {
	t.Helper()
	want := expected(r, mutationtest.Entries(v.Values["carry"], v.Name, r.Pod().Spec.HostNetwork))
	if v.PodsAlone && want.Spec.HostNetwork {
		want = r.Pod()
	}
	if isBeside && !want.Spec.HostNetwork { // else inject-proxy-env leaves it out
		for _, list := range [][]corev1.Container{want.Spec.Containers, want.Spec.InitContainers} {
			for i := range list {
				injectedToo(&list[i], mutationtest.Entries(v.Values["carry"], v.Name, false))
			}
		}
	}
	got := run(t, policies, v.Name, r.Pod())
	for _, pod := range []*corev1.Pod{got, run(t, policies, v.Name, got)} {
		if diff := gocmp.Diff(compared(want, isBeside), compared(pod, isBeside), cmpopts.EquateEmpty()); diff != "" {
			return diff
		}
	}
	return ""
}

// run returns the pod as the policies change it.
func run(t *testing.T, policies []*mutation.Policy, namespace string, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	before := given(t, pod, namespace)
	_, operations, err := mutation.Run(t.Context(), policies, before, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	must(t, err)
	changed, err := mutation.Apply(before.Object, "", operations)
	must(t, err)
	made := &corev1.Pod{}
	must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(changed, made))
	return made
}

// given is the pod as policies see it.
func given(t *testing.T, pod *corev1.Pod, namespace string) *unstructured.Unstructured {
	t.Helper()
	text, err := json.Marshal(pod)
	must(t, err)
	var template map[string]any
	must(t, json.Unmarshal(text, &template))
	seen, err := mutation.Pod(template, "", namespace)
	must(t, err)
	return seen
}

// compared returns the spec in a form to compare: the order of volumes does not count, nor, with two policies, that of
// variables.
func compared(pod *corev1.Pod, isBeside bool) *corev1.PodSpec {
	spec := pod.Spec.DeepCopy()
	slices.SortFunc(spec.Volumes, func(a, b corev1.Volume) int { return cmp.Compare(a.Name, b.Name) })
	if !isBeside {
		return spec
	}
	for _, list := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i, one := range list {
			slices.SortStableFunc(one.Env, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
			list[i] = withoutSource(one)
		}
	}
	return spec
}

// withoutSource is the container without the Secret as a whole and what hides its certificates, which an agent has below
// variables of the same values if inject-proxy-env came first.
func withoutSource(one corev1.Container) corev1.Container {
	one.EnvFrom = slices.DeleteFunc(one.EnvFrom, isOurs)
	one.Env = slices.DeleteFunc(one.Env, func(e corev1.EnvVar) bool { return e == corev1.EnvVar{Name: "ca.crt"} })
	return one
}

func isOurs(from corev1.EnvFromSource) bool {
	return from.SecretRef != nil && from.SecretRef.Name == secret
}
