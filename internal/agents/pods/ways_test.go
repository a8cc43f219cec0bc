package pods_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
	"github.com/fairlead-io/fairlead/internal/agents/pods"
)

// relaying returns the policy as the chart makes it with carry Relay.
func relaying(t *testing.T, values string) *pods.Policy {
	t.Helper()
	given, err := mutation.ReadValues([]byte("proxy: {https: 'http://me:S3CRET@proxy.example:1', http: 'http://proxy.example:1', noProxy: a}"), []byte(values))
	if err != nil {
		t.Fatal(err)
	}
	chart, err := given.Render()
	if err != nil {
		t.Fatal(err)
	}
	made, err := chart.Choose([]string{pods.PolicyName})
	if err != nil {
		t.Fatal(err)
	}
	return policy(t, func(content map[string]any) {
		var rendered map[string]any
		if err := yaml.Unmarshal(made[0].Text, &rendered); err != nil {
			t.Fatal(err)
		}
		content["spec"].(map[string]any)["variables"] = rendered["spec"].(map[string]any)["variables"]
	})
}

func toRelay(namespace, host string) []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		env = append(env, corev1.EnvVar{Name: name, Value: "http://" + namespace + "@" + host + ":3128"})
	}
	return append(env, corev1.EnvVar{Name: "NO_PROXY", Value: "a"}, corev1.EnvVar{Name: "no_proxy", Value: "a"})
}

func references() []corev1.EnvVar {
	var env []corev1.EnvVar
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"} {
		env = append(env, corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: "fairlead-proxy"}, Key: name,
		}}})
	}
	return env
}

const service = "fairlead-relay.fairlead-system.svc"

func TestAPodThatGoesThroughTheRelayIsFineAsLongAsThePolicySaysSo(t *testing.T) {
	relay, byAddress, onMachines := relaying(t, "carry: Relay"), relaying(t, "{carry: Relay, relay: {clusterIP: 'fd00::a'}}"), relaying(t, "{carry: Relay, relay: {onMachines: true}}")
	for name, test := range map[string]struct {
		policy *pods.Policy
		env    []corev1.EnvVar
		host   bool
		want   string
	}{
		"relay":                        {relay, toRelay("shop", service), false, "Fine "},
		"by address":                   {byAddress, toRelay("shop", "[fd00::a]"), false, "Fine "},
		"another namespace's":          {relay, toRelay("stock", service)[:4], false, "Uninjected sets"},
		"before it had an address":     {byAddress, toRelay("shop", service), false, "Outdated goes through a relay as"},
		"relay, and now references":    {policy(t, nil), toRelay("shop", service), false, "Outdated goes through a relay as"},
		"references, and now a relay":  {relay, references(), false, "Outdated refers to the Secret fairlead-proxy"},
		"references on such a machine": {relay, references(), true, "Outdated refers to the Secret fairlead-proxy, which is no longer renewed: its node has no relay"},
		"references":                   {policy(t, nil), references(), false, "Fine "},
		"on a machine with a relay":    {onMachines, toRelay("shop", "127.0.0.1"), true, "Fine "},
		"on a machine without a relay": {relay, nil, true, "Uninjected is on the network of its node, which has no relay"},
		"a proxy that is like a relay": {relay, toRelay("shop", "squid.example")[:4], false, "Uninjected sets"},
	} {
		p := pod("shop", noon.Add(time.Hour), test.env...)
		p.Spec.HostNetwork = test.host
		p.Annotations = map[string]string{selectionKey: "include"}
		found := pods.Cluster{Policy: test.policy}.Judge(p)
		if len(found) != 1 || !strings.HasPrefix(string(found[0].Class)+" "+found[0].Message, test.want) {
			t.Errorf("%s: %+v, want %s", name, found, test.want)
		}
	}
	if relay.ShowsPassword() || !relay.Relays() || policy(t, nil).Relays() {
		t.Error("the policy is not what it is")
	}
}

func TestPodsAreCountedByWhatTheyNeed(t *testing.T) {
	over := pod("shop", noon, references()...)
	over.Status.Phase = corev1.PodSucceeded
	ending := pod("shop", noon, references()...)
	ending.DeletionTimestamp = &metav1.Time{Time: noon}
	mounted := pod("stock", noon)
	mounted.Spec.Volumes = []corev1.Volume{{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
		Sources: []corev1.VolumeProjection{{Secret: &corev1.SecretProjection{LocalObjectReference: corev1.LocalObjectReference{Name: "fairlead-proxy"}}}},
	}}}}
	source := pod("shop", noon)
	source.Spec.InitContainers = []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "fairlead-proxy"}}}}}}
	both := pod("shop", noon, append(toRelay("shop", service), references()...)...)
	all := []*corev1.Pod{over, ending, mounted, source, both, pod("shop", noon, references()...), pod("web", noon, toRelay("web", "10.96.0.7")...), pod("web", noon)}
	c := pods.Cluster{}
	for _, p := range all {
		c.Pods = append(c.Pods, *p)
	}
	want := pods.Ways{Relay: pods.Count{Pods: 2, Namespaces: []string{"shop", "web"}}, Secret: pods.Count{Pods: 4, Namespaces: []string{"shop", "stock"}}}
	if diff := cmp.Diff(want, c.Ways()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Where the replicator is refused, references are optional, and a container starts without a missing Secret.
func TestAContainerThatDidNotWaitForTheSecretMayHaveStartedWithout(t *testing.T) {
	hesitating := func(waited bool) *corev1.Pod {
		env := references()
		for i := range env {
			env[i].ValueFrom.SecretKeyRef.Optional = ptr.To(!waited)
		}
		pod := pod("shop", noon, env...)
		pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "web", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(noon)}}}}
		return pod
	}
	since := func(t time.Time) map[string]time.Time { return map[string]time.Time{"shop": t} }
	for name, test := range map[string]struct {
		served map[string]time.Time
		waited bool
		want   pods.Class
	}{
		"not served":    {since(pods.Never), false, pods.Outdated},
		"served since":  {since(noon.Add(time.Second)), false, pods.Outdated},
		"served before": {since(noon), false, pods.Fine},
		"it waited":     {since(pods.Never), true, pods.Fine},
		"never refused": {nil, false, pods.Fine},
	} {
		cluster := pods.Cluster{Policy: policy(t, nil), ServedSince: test.served}
		found := cluster.Judge(hesitating(test.waited))
		if len(found) != 1 || found[0].Class != test.want || (found[0].Reason == pods.ReasonNotServed) != (test.want == pods.Outdated) {
			t.Errorf("%s: %+v, want %s", name, found, test.want)
		}
	}
}
