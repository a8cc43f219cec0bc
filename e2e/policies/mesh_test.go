package policies_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// meshed are the pods in testdata/mesh.
func meshed(t *testing.T) []*corev1.Pod {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "mesh", "pods.yaml"))
	controlplanetest.Require(t, err)
	var pods []*corev1.Pod
	for _, document := range strings.Split(string(text), "\n---\n")[1:] {
		pod := &corev1.Pod{}
		controlplanetest.Require(t, yaml.UnmarshalStrict([]byte(document), pod))
		pods = append(pods, pod)
	}
	if len(pods) == 0 {
		t.Fatal("no pods")
	}
	return pods
}

// What an injector has put first stays there, and who came first makes no difference to a container that is there for both.
func TestAMeshedPodKeepsItsOrderAndEveryContainerHasTheSettingsOnce(t *testing.T) {
	tier.Full(t)
	c := mustCorpus(t)
	for _, e := range c.engines {
		for _, pod := range meshed(t) {
			t.Run(e.name+"/"+pod.Name, func(t *testing.T) {
				dry := metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
				want, err := e.clients.CoreV1().Pods(untouched).Create(t.Context(), pod, dry)
				controlplanetest.Require(t, err)
				for _, list := range [][]corev1.Container{want.Spec.InitContainers, want.Spec.Containers} {
					for i := range list {
						if !slices.ContainsFunc(list[i].Env, func(v corev1.EnvVar) bool { return v.Name == "HTTP_PROXY" }) {
							list[i].Env = append(list[i].Env, secretRef.entries("", false)...)
						}
					}
				}
				got, err := e.clients.CoreV1().Pods(secretRef.namespace(plainNamespace)).Create(t.Context(), pod, dry)
				controlplanetest.Require(t, err)
				want, err = normalized(want)
				controlplanetest.Require(t, err)
				got, err = normalized(got)
				controlplanetest.Require(t, err)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Error(diff)
				}
			})
		}
	}
}
