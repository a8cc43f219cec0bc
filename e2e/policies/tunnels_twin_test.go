package policies_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Manifests that no webhook will see become the same pods: what the command makes of each row, stored where no policy
// applies, is what each engine stores.
func TestFairleadMutateMakesThePodsThatTheEnginesStore(t *testing.T) {
	tier.Full(t) // in make test, e2e/mutate does with a manifest of each kind
	fairlead, err := tools.Program(t.Context(), "fairlead")
	controlplanetest.Require(t, err)
	engines := tunnelEngines(t)
	for _, v := range tunnelVariants() {
		t.Run(v.name, func(t *testing.T) {
			rows := slices.DeleteFunc(mustTunnelRows(t, v.text), func(r tunnelRow) bool { return !slices.Contains(v.families, r.family) })
			mutated := mustMutate(t, fairlead, v, rows)
			each(t, len(rows), func(ctx context.Context, i int) error {
				for _, e := range engines {
					if diff, err := e.twinDifference(ctx, v, rows[i].pod(), mutated[i]); err != nil || diff != "" {
						t.Errorf("row %s, which is the engine's and +which is the command's, %s: %v%s", rows[i].number, e.name, err, diff)
					}
				}
				return nil
			})
		})
	}
}

// twinDifference is between what an engine stores of a pod and of what the command has made of it.
func (e *engine) twinDifference(ctx context.Context, v tunnelVariant, pod, mutated *corev1.Pod) (string, error) {
	pod.Name += "-twin"
	if err := e.create(ctx, v.name, pod); err != nil {
		return "", err
	}
	mutated = mutated.DeepCopy()
	mutated.Name = v.name + "-" + pod.Name
	if err := e.create(ctx, untouched, mutated); err != nil {
		return "", err
	}
	return gocmp.Diff(tunnelNormalized(pod, v), tunnelNormalized(mutated, v)), nil
}

// mustMutate has the command change the pods of all rows at once.
func mustMutate(t *testing.T, fairlead string, v tunnelVariant, rows []tunnelRow) []*corev1.Pod {
	t.Helper()
	var stream bytes.Buffer
	for _, r := range rows {
		pod := r.pod()
		pod.APIVersion, pod.Kind = "v1", "Pod"
		text, err := yaml.Marshal(pod)
		controlplanetest.Require(t, err)
		fmt.Fprintf(&stream, "---\n%s", text)
	}
	args := []string{"mutate", "--namespace", v.name}
	for i, values := range []any{policies.Values(), v.values} {
		text, err := json.Marshal(values)
		controlplanetest.Require(t, err)
		file := filepath.Join(t.TempDir(), fmt.Sprint(i))
		controlplanetest.Require(t, os.WriteFile(file, text, 0o600))
		args = append(args, "--policy-values", file)
	}
	for _, family := range v.families {
		args = append(args, "--policy", "tunnel-"+family)
	}
	if v.inject != "" {
		args = append(args, "--policy", policies.InjectProxyEnv)
	}
	cmd := exec.CommandContext(t.Context(), fairlead, args...)
	var said bytes.Buffer
	cmd.Stdin, cmd.Stderr = &stream, &said
	output, err := cmd.Output()
	if err != nil {
		t.Fatalf("%v: %s", err, said.Bytes())
	}
	objects, err := controlplane.Parse(output)
	controlplanetest.Require(t, err)
	if len(objects) != len(rows) {
		t.Fatalf("%d pods became %d", len(rows), len(objects))
	}
	var pods []*corev1.Pod
	for _, object := range objects {
		pod := &corev1.Pod{}
		controlplanetest.Require(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, pod))
		pods = append(pods, pod)
	}
	return pods
}
