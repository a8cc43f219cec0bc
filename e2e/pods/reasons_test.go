package pods_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// environments are the variables that containers set by themselves.
const environments = `
- {name: none, image: image}
- {name: http, image: image, env: [{name: HTTP_PROXY, value: &url "http://me:mySuperSecretPassword@proxy.example:3128"}]}
- {name: both, image: image, env: [{name: http_proxy, value: *url}, {name: HTTPS_PROXY, value: *url}]}
- {name: from, image: image, envFrom: [{configMapRef: {name: proxy-settings}}]}
- {name: from-whatever, image: image, envFrom: [{configMapRef: {name: settings}}]}
- {name: some, image: image, env: [{name: HTTP_PROXY, value: *url}], envFrom: [{configMapRef: {name: settings}}]}
`

// place is where a pod is, and what it says about itself. What is wanted is the reason of a container that sets
// nothing itself; empty if it is injected.
type place struct {
	namespace string
	change    func(*corev1.Pod)
	want      string
}

func places() map[string]place {
	annotated := func(value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Annotations = map[string]string{key: value} }
	}
	labelled := func(key, value string) func(*corev1.Pod) {
		return func(pod *corev1.Pod) { pod.Labels = map[string]string{key: value} }
	}
	none := func(*corev1.Pod) {}
	hostNetwork := func(pod *corev1.Pod) { pod.Spec.HostNetwork = true }
	return map[string]place{
		"plain":            {"shop", none, ""},
		"included":         {"shop", annotated("include"), ""},
		"host-network":     {"shop", hostNetwork, "Excluded is on the network of its node, and does not ask for it"},
		"host-network-in":  {"shop", func(pod *corev1.Pod) { hostNetwork(pod); annotated("include")(pod) }, ""},
		"annotated-out":    {"shop", annotated("exclude"), "Excluded annotation " + key + "=exclude"},
		"labelled-out":     {"shop", labelled(key, "exclude"), "Excluded label " + key + "=exclude"},
		"provider":         {"shop", labelled("cluster.x-k8s.io/provider", "control-plane-kubeadm"), "Excluded label cluster.x-k8s.io/provider=control-plane-kubeadm"},
		"infrastructure":   {"shop", labelled("cluster.x-k8s.io/provider", "infrastructure-vsphere"), ""},
		"capi-by-name":     {"shop", func(pod *corev1.Pod) { pod.Name = "capi-controller-manager-" + pod.Name }, "Excluded its name matches ^capi-controller-manager-.*$"},
		"generated-name":   {"shop", func(pod *corev1.Pod) { pod.GenerateName, pod.Name = "dex-k8s-"+pod.Name+"-", "" }, "Excluded its name matches ^dex-k8s-.*$"},
		"generated-in":     {"shop", func(pod *corev1.Pod) { pod.GenerateName, pod.Name = "web-"+pod.Name+"-", "" }, ""},
		"namespace-out":    {"off", none, "Excluded label " + key + "=exclude of its namespace"},
		"namespace-listed": {"kyverno", none, "Excluded namespace kyverno"},
		"kube-system":      {metav1.NamespaceSystem, none, "KubeSystem in kube-system, which the policy leaves out"},
		// Only a kubelet may create one. The API server takes it from an administrator.
		"static": {"shop", func(pod *corev1.Pod) {
			pod.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
			pod.Spec.NodeName = "cp-0"
		}, "Static a static pod, which no policy reaches"},
	}
}

// What the command says of why the policy did nothing must be what the policy did, for every container.
func TestEveryContainerThatThePolicyLeftAloneHasItsReasonAndNoOtherIsListed(t *testing.T) {
	f := newFixture(t)
	f.namespace("shop", nil)
	f.namespace("off", map[string]string{key: "exclude"})
	f.namespace("kyverno", nil)
	f.install()

	var stored []*corev1.Pod
	at := map[string]*corev1.Pod{}
	for placeName, place := range places() {
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: placeName}}
		controlplanetest.Require(t, yaml.UnmarshalStrict([]byte(environments), &pod.Spec.Containers))
		if place.change(&pod); placeName == "static" { // which may not refer to sources
			for i := range pod.Spec.Containers {
				pod.Spec.Containers[i].EnvFrom = nil
			}
		}
		at[placeName] = f.create(place.namespace, pod)
		stored = append(stored, at[placeName])
	}
	stored = append(stored, f.debugged(f.create("shop", plain("debugged"))))

	said := f.report(f.cp.Admin(), "--all")
	if len(said.Notes) != 0 {
		t.Errorf("notes: %q", said.Notes)
	}
	for _, pod := range stored {
		for _, c := range all(pod) {
			reasons := said.of(pod, c.Name)
			left := slices.ContainsFunc(reasons, func(r row) bool { return r.Finding == "Uninjected" })
			if got := injected(c.Env) || below(c); got == left {
				t.Errorf("%s, container %s: it is injected: %t, and the command says %+v", pod.Name, c.Name, got, reasons)
			}
		}
	}
	for placeName, place := range places() {
		var reason string
		for _, r := range said.of(at[placeName], "none") {
			if r.Finding == "Uninjected" {
				reason = r.Reason + " " + r.Message
			}
		}
		if reason != place.want {
			t.Errorf("%s: the reason is %q, want %q", placeName, reason, place.want)
		}
	}
	for name, want := range map[string]string{
		"both":          "Uninjected OwnValue: sets http_proxy, HTTPS_PROXY itself",
		"from":          "Fine : has ours below proxy-settings: a variable that is there wins, one in the other case of letters stays ours",
		"http":          "Password : in HTTP_PROXY, for all to read who may read pods",
		"none":          "Fine : ",
		"some":          "Uninjected OwnEnvFrom: names HTTP_PROXY, and may have the rest from settings",
		"from-whatever": "Fine : has ours below settings: a variable that is there wins, one in the other case of letters stays ours",
	} {
		if r := said.of(at["plain"], name); r[0].String() != want {
			t.Errorf("container %s of a plain pod: %v, want %q", name, r, want)
		}
	}
}

// below says whether a container has ours below its own sources.
func below(c corev1.Container) bool {
	return len(c.EnvFrom) > 0 && c.EnvFrom[0].SecretRef != nil && c.EnvFrom[0].SecretRef.Name == policies.Secret
}

// debugged adds ephemeral containers: one that is injected, one with a NO_PROXY of its own.
func (f *fixture) debugged(pod *corev1.Pod) *corev1.Pod {
	f.Helper()
	for _, c := range []corev1.EphemeralContainerCommon{
		{Name: "debug", Image: "debug"},
		{Name: "debug-own", Image: "debug", Env: []corev1.EnvVar{{Name: "no_proxy", Value: "*"}}},
	} {
		pod.Spec.EphemeralContainers = append(pod.Spec.EphemeralContainers, corev1.EphemeralContainer{EphemeralContainerCommon: c})
	}
	pod, err := f.clients.CoreV1().Pods(pod.Namespace).UpdateEphemeralContainers(f.Context(), pod.Name, pod, metav1.UpdateOptions{})
	controlplanetest.Require(f, err)
	if got := []bool{injected(pod.Spec.EphemeralContainers[0].Env), injected(pod.Spec.EphemeralContainers[1].Env)}; !slices.Equal(got, []bool{true, false}) {
		f.Errorf("ephemeral containers injected: %v", got)
	}
	return pod
}

func all(pod *corev1.Pod) []corev1.Container {
	list := slices.Clone(pod.Spec.Containers)
	for _, c := range pod.Spec.EphemeralContainers {
		list = append(list, corev1.Container(c.EphemeralContainerCommon))
	}
	return list
}

// of returns the report's rows about one container, in descending order of the findings.
func (r report) of(pod *corev1.Pod, container string) []row {
	var found []row
	for _, o := range r.Owners {
		if o.Namespace == pod.Namespace && slices.Contains(o.Pods, pod.Name) && slices.Contains(o.Containers, container) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b row) int { return -strings.Compare(a.Finding, b.Finding) })
	return found
}

func (r row) String() string { return fmt.Sprintf("%s %s: %s", r.Finding, r.Reason, r.Message) }
