package relay_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// mutate is the pod as fairlead mutate prints it, with values of the chart. No API server has seen it.
func mutate(t *testing.T, pod *corev1.Pod, values map[string]any) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	pod.APIVersion, pod.Kind = "v1", "Pod"
	manifest, err := yaml.Marshal(pod)
	controlplanetest.Require(t, err)
	out, err := policies.Mutate(t.Context(), manifest, values)
	controlplanetest.Require(t, err)
	var mutated corev1.Pod
	controlplanetest.Require(t, yaml.UnmarshalStrict(out, &mutated))
	if !relayed(&mutated) {
		t.Fatalf("fairlead mutate adds no relay:\n%s", out)
	}
	return &mutated
}

// settled is what the policy says of a pod's programs.
type settled struct {
	Relay      string // its image
	RelayArgs  []string
	Command    []string
	Args       []string
	ProxyNames map[string]string // variables of the agent
	Aliases    []corev1.HostAlias
}

func settledOf(pod *corev1.Pod) settled {
	relay, agent := pod.Spec.InitContainers[0], pod.Spec.Containers[0]
	s := settled{
		Relay: relay.Image, RelayArgs: relay.Args, Command: agent.Command, Args: agent.Args,
		ProxyNames: map[string]string{}, Aliases: pod.Spec.HostAliases,
	}
	for _, e := range agent.Env {
		if strings.HasSuffix(strings.ToUpper(e.Name), "_PROXY") {
			s.ProxyNames[e.Name] = e.Value
		}
	}
	return s
}

// checkTwin: the pod of fairlead mutate has the same programs as Kyverno's, and they get through.
func (s *site) checkTwin(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	stored := s.create(t, s.namespace, pod, relayed)
	mutated := mutate(t, pod, s.values())
	mutated.Namespace = s.namespace
	if diff := cmp.Diff(settledOf(stored), settledOf(mutated)); diff != "" {
		t.Errorf("the pod as Kyverno (-) and as fairlead mutate makes it (+):\n%s", diff)
	}
	s.start(t, mutated)
	s.awaitTunnel(t)
	s.checkSecrecy(t, mutated)
	s.stop(t)
}
