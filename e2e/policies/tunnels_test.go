package policies_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

func TestAgentsAreFoundInAllPlacesAndTheirNeighboursLeftAlone(t *testing.T) {
	agent := func(name string) corev1.Container {
		return corev1.Container{Name: name, Image: "registry.example/agent:1", Args: []string{"--proxy-server-host=hub.example"}}
	}
	sidecar := agent("addon-agent")
	sidecar.RestartPolicy = new(corev1.ContainerRestartPolicyAlways)
	for _, e := range must(t, theTunnels) {
		for family, reached := range map[string][]string{
			mutationtest.ClusterProxy: {"proxy-agent", "service-proxy", "addon-agent"},
			mutationtest.ByLabel:      {"proxy-agent", "service-proxy", "addon-agent", "neighbour", "first"}, // without names, all
		} {
			t.Run(e.name+"/"+family, func(t *testing.T) {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Name: "places-" + family, Labels: mutationtest.Labels[family]},
					Spec: corev1.PodSpec{
						InitContainers: []corev1.Container{sidecar, agent("first")},
						Containers:     []corev1.Container{agent("proxy-agent"), agent("neighbour"), agent("service-proxy")},
					},
				}
				controlplanetest.Require(t, e.create(t.Context(), mutationtest.Led.Name, pod))
				for _, one := range everyContainer(&pod.Spec) {
					var want []corev1.EnvVar
					if slices.Contains(reached, one.Name) {
						want = mutationtest.Entries(nil, mutationtest.Led.Name, false)
					}
					if diff := gocmp.Diff(want, one.Env); diff != "" {
						t.Errorf("%s: %s", one.Name, diff)
					}
					if extended := len(one.Args) == 2; extended != (family == mutationtest.ClusterProxy && len(want) > 0) {
						t.Errorf("%s has %v", one.Name, one.Args)
					}
				}
			})
		}
	}
}

// What the selectors and the policy leave out, and kube-system, which Kyverno does not see.
func TestAgentsThatAreExcludedAreLeftAlone(t *testing.T) {
	for _, e := range must(t, theTunnels) {
		for name, test := range map[string]struct {
			namespace string
			change    func(*corev1.Pod)
			changed   bool
		}{
			"plain":               {mutationtest.Led.Name, func(*corev1.Pod) {}, true},
			"include":             {mutationtest.Led.Name, func(p *corev1.Pod) { p.Labels[said] = "include" }, true},
			"annotation":          {mutationtest.Led.Name, annotated("exclude"), false},
			"label":               {mutationtest.Led.Name, func(p *corev1.Pod) { p.Labels[said] = "exclude" }, false},
			"namespace":           {"led-excluded", func(*corev1.Pod) {}, false},
			"mirror":              {mutationtest.Led.Name, mirror, false},
			"another label":       {mutationtest.Led.Name, func(p *corev1.Pod) { p.Labels = map[string]string{"k8s-app": "konnectivity-server"} }, false},
			"relayed, annotation": {mutationtest.Relayed.Name, annotated("exclude"), false},
			"relayed, label":      {mutationtest.Relayed.Name, func(p *corev1.Pod) { p.Labels[said] = "exclude" }, false},
			"hosted":              {mutationtest.Led.Name, func(p *corev1.Pod) { p.Labels["hypershift.openshift.io/hosted-control-plane"] = "a" }, false},
			"relayed, hosted":     {mutationtest.Relayed.Name, func(p *corev1.Pod) { p.Labels["hypershift.openshift.io/control-plane-component"] = "a" }, false},
			"relayed, mirror":     {mutationtest.Relayed.Name, mirror, false},
			"kube-system":         {"kube-system", func(*corev1.Pod) {}, e.name == native},
		} {
			t.Run(e.name+"/"+name, func(t *testing.T) {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{GenerateName: "excluded-", Labels: map[string]string{"k8s-app": "konnectivity-agent"}},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{
						Name: "konnectivity-agent", Image: "agent", Args: []string{"--proxy-server-host=hub.example"},
					}}},
				}
				test.change(pod)
				controlplanetest.Require(t, e.create(t.Context(), test.namespace, pod))
				one := pod.Spec.Containers[0]
				if changed := len(one.Env) > 0 && len(one.Args) > 1; changed != test.changed || !changed && len(one.Env)+len(one.Args)+len(pod.Spec.InitContainers) != 1 {
					t.Errorf("it has %v, %v", one.Env, one.Args)
				}
			})
		}
	}
}

// A pod that asks for a relay, and is of a family that goes by the variables, has the relay alone. The order of the
// policies does not matter: tunnel-relay comes after the other one for k8s-app, and before it for app, which the
// variant calls last. With a sidecar of its family's way, the selectors leave the pod to the other policy.
func TestWhoAsksForTargetsHasTheRelayAlone(t *testing.T) {
	settled := []corev1.EnvVar{{Name: "NO_PROXY", Value: "*"}, {Name: "no_proxy", Value: "*"}}
	for _, e := range must(t, theTunnels) {
		for _, test := range []struct {
			variant tunnelVariant
			family  string
			args    []string
		}{
			{twoWays, mutationtest.Konnectivity, nil},
			{twoWays, "teleport", nil},
			{twoRelays, mutationtest.Konnectivity, []string{"client", "https://hub.example"}},
			{twoRelays, "chisel", []string{"client", "https://hub.example"}},
		} {
			t.Run(e.name+"/"+test.variant.Name+"/"+test.family, func(t *testing.T) {
				pod := &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{
						GenerateName: "both-", Labels: map[string]string{"fairlead.io/tunnel": "relay"},
						Annotations: map[string]string{"fairlead.io/relay-targets": "hub.example:8132"},
					},
					Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: test.family, Image: "agent", Args: test.args}}},
				}
				maps.Copy(pod.Labels, mutationtest.Labels[test.family])
				controlplanetest.Require(t, e.create(t.Context(), test.variant.Name, pod))
				if relays := pod.Spec.InitContainers; len(relays) != 1 || !slices.Contains(relays[0].Args, "--target=hub.example:8132") {
					t.Errorf("its relays are %+v", relays)
				}
				agent := pod.Spec.Containers[0]
				if diff := gocmp.Diff(settled, agent.Env) + gocmp.Diff(test.args, agent.Args); diff != "" {
					t.Errorf("variables and arguments -want +got:\n%s", diff)
				}
			})
		}
	}
}

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
