package policies_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

// Of the three pod security standards the strictest, as the API server checks it: also with the sysctl for port 443.
func TestARelayedAgentMeetsTheRestrictedPodSecurityStandard(t *testing.T) {
	const namespace = "restricted"
	rows, err := mutationtest.Rows(decisionsFolder, mutationtest.Relay, nil)
	controlplanetest.Require(t, err)
	agent := func(change func(*corev1.SecurityContext)) *corev1.Pod {
		pod := rows[5].Pod() // whose hub is at a port below 1024
		pod.Name, pod.GenerateName = "", "restricted-"
		security := &corev1.SecurityContext{
			RunAsNonRoot: new(true), AllowPrivilegeEscalation: new(false),
			Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
		}
		change(security)
		pod.Spec.Containers[0].SecurityContext = security
		return pod
	}
	for _, e := range must(t, theTunnels) {
		t.Run(e.name, func(t *testing.T) {
			controlplanetest.Require(t, e.createNamespace(t.Context(), namespace, map[string]string{
				tunnelLabel: mutationtest.Relayed.Name, "pod-security.kubernetes.io/enforce": "restricted",
			}))
			pod := agent(func(*corev1.SecurityContext) {})
			controlplanetest.Require(t, e.create(t.Context(), namespace, pod))
			if len(pod.Spec.InitContainers) != 1 || len(pod.Spec.SecurityContext.Sysctls) != 1 {
				t.Errorf("it has no relay and sysctl: %v, %v", pod.Spec.InitContainers, pod.Spec.SecurityContext)
			}
			_, err := e.clients.CoreV1().Pods(namespace).Create(t.Context(), agent(func(s *corev1.SecurityContext) { s.Capabilities = nil }), metav1.CreateOptions{})
			if err == nil || !strings.Contains(err.Error(), `violates PodSecurity "restricted`) || strings.Contains(err.Error(), "fairlead-relay") {
				t.Errorf("an agent that does not is refused with %v", err)
			}
		})
	}
}
