package pods_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// environments are what containers may set by themselves.
func environments() map[string]corev1.Container {
	value := func(pairs ...string) corev1.Container {
		var c corev1.Container
		for i := 0; i < len(pairs); i += 2 {
			c.Env = append(c.Env, corev1.EnvVar{Name: pairs[i], Value: pairs[i+1]})
		}
		return c
	}
	from := func(prefix, configMap string) corev1.Container {
		return corev1.Container{EnvFrom: []corev1.EnvFromSource{{
			Prefix: prefix, ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: configMap}},
		}}}
	}
	url := "http://me:" + password + "@proxy.example:3128"
	some := value("HTTP_PROXY", url)
	some.EnvFrom = from("", "settings").EnvFrom
	return map[string]corev1.Container{
		"some":          some,
		"none":          {},
		"unrelated":     value("PATH", "/bin"),
		"http":          value("HTTP_PROXY", url),
		"https-lower":   value("https_proxy", url),
		"both":          value("http_proxy", url, "HTTPS_PROXY", url),
		"mixed-case":    value("Http_Proxy", url, "hTTPS_pROXY", url),
		"no-proxy":      value("no_proxy", "*"),
		"all-proxy":     value("ALL_PROXY", url),
		"empty":         value("HTTP_PROXY", "", "HTTPS_PROXY", ""),
		"from":          from("", "proxy-settings"),
		"from-prefix":   from("HTTP_", "proxy-settings"),
		"from-no":       from("NO_", "my-proxy"),
		"from-foreign":  from("APP_", "proxy-settings"),
		"from-whatever": from("", "settings"),
		"value-from": {Env: []corev1.EnvVar{{Name: "NO_PROXY", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.hostIP"},
		}}}},
	}
}

// places are where pods are, and what they say about themselves. What is wanted is the reason of a container that
// sets nothing itself; empty if it is injected.
func places() map[string]struct {
	namespace string
	change    func(*corev1.Pod)
	want      string
} {
	type place = struct {
		namespace string
		change    func(*corev1.Pod)
		want      string
	}
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

// certain are the reasons that pods can have here: all are younger than the policy, which is in force.
var certain = []string{"Static", "KubeSystem", "Excluded", "OwnValue", "OwnEnvFrom"}

// What the command says of why the policy did nothing must be what the policy did: for every container of a corpus
// that crosses environments with places, as ordinary container, init container and sidecar.
func TestEveryContainerThatThePolicyLeftAloneHasItsReasonAndNoOtherIsListed(t *testing.T) {
	f := newFixture(t)
	f.namespace("shop", nil)
	f.namespace("off", map[string]string{key: "exclude"})
	f.namespace("kyverno", nil)
	f.install()

	var stored []*corev1.Pod
	at := map[string]*corev1.Pod{}
	for placeName, place := range places() {
		always := corev1.ContainerRestartPolicyAlways
		pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: placeName}}
		for name, c := range environments() {
			c.Image = "image"
			c.Name = name
			pod.Spec.Containers = append(pod.Spec.Containers, c)
			c.Name = name + "-init"
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
			c.Name, c.RestartPolicy = name+"-side", &always
			pod.Spec.InitContainers = append(pod.Spec.InitContainers, c)
		}
		if place.change(&pod); placeName == "static" {
			withoutSources(&pod)
		}
		at[placeName] = f.create(place.namespace, pod)
		stored = append(stored, at[placeName])
	}
	stored = append(stored, f.debugged(f.create("shop", plain("debugged"))))

	said := f.report(f.cp.Admin(), "--all")
	if len(said.Notes) != 0 {
		t.Errorf("notes: %q", said.Notes)
	}
	left, got := 0, 0
	for _, pod := range stored {
		for _, c := range all(pod) {
			reasons := said.of(pod, c.Name)
			switch {
			case (injected(c.Env) || below(c)) && slices.ContainsFunc(reasons, func(r row) bool { return r.Finding == "Uninjected" }):
				t.Errorf("%s, container %s: is injected, and listed: %+v", pod.Name, c.Name, reasons)
			case injected(c.Env), below(c):
				got++
			case len(reasons) == 0 || !slices.Contains(certain, reasons[0].Reason):
				t.Errorf("%s, container %s: is not injected, and the reason is %+v", pod.Name, c.Name, reasons)
			default:
				left++
			}
		}
	}
	t.Logf("%d containers injected, %d left alone", got, left)
	if got < 100 || left < 300 {
		t.Errorf("the corpus is one-sided: %d injected, %d left alone", got, left)
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

// withoutSources takes away what a static pod may not refer to.
func withoutSources(pod *corev1.Pod) {
	for _, list := range [][]corev1.Container{pod.Spec.Containers, pod.Spec.InitContainers} {
		for i := range list {
			list[i].EnvFrom = nil
		}
	}
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
	list := slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers)
	for _, c := range pod.Spec.EphemeralContainers {
		list = append(list, corev1.Container(c.EphemeralContainerCommon))
	}
	return list
}

// of is what the report says of one container, what lacks first.
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
