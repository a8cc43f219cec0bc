package cli_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// mergedPod does what kubeadm does with a patch (cmd/kubeadm/app/util/patches):
// it reads JSON as YAML and merges it with the function of apimachinery.
func mergedPod(t *testing.T, mode string, env []corev1.EnvVar) []corev1.EnvVar {
	t.Helper()
	t.Chdir("testdata/common")
	var out, warnings bytes.Buffer
	arguments := []string{
		"render", "--values", "values.yaml", "--cluster", "cluster.yaml", "--form", "Exact",
		"--file", "StaticPods", "--static-pods", mode, "--key", "kubeAPIServerPatch",
	}
	if status := cli.Run(arguments, strings.NewReader(""), &out, &warnings); status != 0 {
		t.Fatalf("status %d: %s", status, &warnings)
	}
	patch, err := yaml.YAMLToJSON(out.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	pod := corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "kube-apiserver", Image: "kept", Env: env}}}}
	before, err := json.Marshal(pod)
	if err != nil {
		t.Fatal(err)
	}
	after, err := strategicpatch.StrategicMergePatch(before, patch, corev1.Pod{})
	if err != nil {
		t.Fatal(err)
	}
	var merged corev1.Pod
	if err := json.Unmarshal(after, &merged); err != nil || len(merged.Spec.Containers) != 1 || merged.Spec.Containers[0].Image != "kept" {
		t.Fatalf("%v: %s", err, after)
	}
	return merged.Spec.Containers[0].Env
}

func TestKubeadmsMergeStripsExtendsAndSets(t *testing.T) {
	own := corev1.EnvVar{Name: "GODEBUG", Value: "kept"}
	copied := []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: "foreign"}, {Name: "NO_PROXY", Value: "foreign"}, {Name: "all_proxy", Value: "foreign"}, own}
	for name, test := range map[string]struct {
		mode   string
		before []corev1.EnvVar
		want   map[string]bool // whether the value is foreign
	}{
		"Strip":                {"Strip", copied, map[string]bool{}},
		"Strip where none is":  {"Strip", nil, map[string]bool{}},
		"Strip where one is":   {"Strip", []corev1.EnvVar{own}, map[string]bool{}},
		"Extend":               {"Extend", copied, map[string]bool{"HTTPS_PROXY": true, "all_proxy": true, "NO_PROXY": false, "no_proxy": false}},
		"Set":                  {"Set", copied, map[string]bool{"HTTP_PROXY": false, "http_proxy": false, "HTTPS_PROXY": false, "https_proxy": false, "NO_PROXY": false, "no_proxy": false}},
		"Set where nothing is": {"Set", nil, map[string]bool{"HTTP_PROXY": false, "http_proxy": false, "HTTPS_PROXY": false, "https_proxy": false, "NO_PROXY": false, "no_proxy": false}},
	} {
		t.Run(name, func(t *testing.T) {
			got := map[string]bool{}
			for _, env := range mergedPod(t, test.mode, test.before) {
				if env.Value == "" {
					t.Errorf("%s is empty", env.Name)
				}
				if env != own {
					got[env.Name] = env.Value == "foreign"
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
