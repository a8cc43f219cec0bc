package policies_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

// twin is pods that an engine and fairlead mutate both change.
type twin struct {
	namespace string
	values    map[string]any
	policies  []string
	pods      []*corev1.Pod
	isBeside  bool // inject-proxy-env, too
}

// The command makes the same pods of manifests that no webhook will see. Its output for each row, stored where no
// policy applies, equals the pod that each engine stores. internal/agents/mutation tests that this is the table's
// result.
func TestEveryRowOfTheTablesOfTunnelsHoldsUnderBothEngines(t *testing.T) {
	engines := must(t, theTunnels)
	for _, v := range tunnelVariants() {
		t.Run(v.Name, func(t *testing.T) {
			rows, err := mutationtest.Rows(decisionsFolder, v.Text, v.Families)
			controlplanetest.Require(t, err)
			twin := twin{namespace: v.Name, values: v.Values, isBeside: v.inject != ""}
			for _, r := range rows {
				twin.pods = append(twin.pods, r.Pod())
			}
			for _, family := range v.Families {
				twin.policies = append(twin.policies, "tunnel-"+family)
			}
			if twin.isBeside {
				twin.policies = append(twin.policies, policies.InjectProxyEnv)
			}
			twin.check(t, engines)
		})
	}
}

func TestFairleadMutateMakesThePodsThatTheEnginesStore(t *testing.T) {
	twin := twin{namespace: secretRef.namespace(plainNamespace), policies: []string{policies.InjectProxyEnv}}
	for _, r := range must(t, decisions) {
		where := corner{selection: selection{name: "twin"}, rows: []row{r}, places: []string{container, initContainer, sidecar}}
		twin.pods = append(twin.pods, where.pod())
	}
	twin.check(t, must(t, theCorpus).engines)
}

func (w twin) check(t *testing.T, engines []*engine) {
	t.Helper()
	mutated := w.mutated(t)
	each(t, len(w.pods), func(ctx context.Context, i int) error {
		for _, e := range engines {
			if diff, err := e.twinDifference(ctx, w, w.pods[i], mutated[i]); err != nil || diff != "" {
				t.Errorf("%s, -the command's and +the engine's, %s: %v%s", w.pods[i].Name, e.name, err, diff)
			}
		}
		return nil
	})
}

// twinDifference is between what the command has made of a pod and what an engine stores of it. Who is created a second time,
// as stored, must not change again.
func (e *engine) twinDifference(ctx context.Context, w twin, pod, mutated *corev1.Pod) (string, error) {
	want := mutated.DeepCopy()
	want.Name = w.namespace + "-" + pod.Name
	if err := e.create(ctx, untouched, want); err != nil {
		return "", err
	}
	got := pod.DeepCopy()
	for range 2 {
		if err := e.create(ctx, w.namespace, got); err != nil {
			return "", err
		}
		if diff := gocmp.Diff(tunnelNormalized(want, w.isBeside), tunnelNormalized(got, w.isBeside)); diff != "" {
			return diff, nil
		}
		got = &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: got.Name + "-again", Labels: got.Labels, Annotations: got.Annotations}, Spec: got.Spec}
	}
	return "", nil
}

// mutated returns the pods after the command, which gets all of them at once.
func (w twin) mutated(t *testing.T) []*corev1.Pod {
	t.Helper()
	var stream bytes.Buffer
	for _, pod := range w.pods {
		pod := pod.DeepCopy()
		pod.APIVersion, pod.Kind = "v1", "Pod"
		text, err := yaml.Marshal(pod)
		controlplanetest.Require(t, err)
		fmt.Fprintf(&stream, "---\n%s", text)
	}
	flags := []string{"--namespace", w.namespace}
	for _, policy := range w.policies {
		flags = append(flags, "--policy", policy)
	}
	output, err := policies.Mutate(t.Context(), stream.Bytes(), []any{policies.Values(), w.values}, flags...)
	controlplanetest.Require(t, err)
	objects, err := controlplane.Parse(output)
	controlplanetest.Require(t, err)
	if len(objects) != len(w.pods) {
		t.Fatalf("%d pods became %d", len(w.pods), len(objects))
	}
	var pods []*corev1.Pod
	for _, object := range objects {
		pod := &corev1.Pod{}
		controlplanetest.Require(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod))
		pods = append(pods, pod)
	}
	return pods
}

// tunnelNormalized returns the spec in a form to compare: the order of volumes does not count, nor, with two policies,
// that of variables.
func tunnelNormalized(pod *corev1.Pod, isBeside bool) *corev1.PodSpec {
	same, err := normalized(pod)
	if err != nil {
		panic(err)
	}
	spec := &same.Spec
	slices.SortFunc(spec.Volumes, func(a, b corev1.Volume) int { return cmp.Compare(a.Name, b.Name) })
	if isBeside {
		for _, one := range everyContainer(spec) {
			slices.SortStableFunc(one.Env, func(a, b corev1.EnvVar) int { return cmp.Compare(a.Name, b.Name) })
			withoutSource(one)
		}
	}
	return spec
}

// ofOurSecret is true of what gives a container the Secret as a whole.
func ofOurSecret(from corev1.EnvFromSource) bool {
	return from.SecretRef != nil && from.SecretRef.Name == policies.Secret
}

// withoutSource takes away the Secret as a whole and what hides its certificates, which an agent has below variables of
// the same values if inject-proxy-env came first.
func withoutSource(one *corev1.Container) {
	one.EnvFrom = slices.DeleteFunc(one.EnvFrom, ofOurSecret)
	if len(one.EnvFrom) == 0 {
		one.EnvFrom = nil
	}
	one.Env = slices.DeleteFunc(one.Env, func(e corev1.EnvVar) bool { return e == corev1.EnvVar{Name: policies.TrustedCAKey} })
	if len(one.Env) == 0 {
		one.Env = nil
	}
}
