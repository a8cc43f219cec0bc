package pods_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
	"github.com/fairlead-io/fairlead/internal/agents/pods"
)

// pick returns one of these; the more often one stands there, the more often.
func pick[T any](r *rand.Rand, from ...T) T { return from[r.IntN(len(from))] }

const selectionKey = "policies.kyverno.io/inject-proxy-env"

func randomLabels(r *rand.Rand) map[string]string {
	labels := map[string]string{}
	for range r.IntN(3) {
		label := pick(r, selectionKey+"=exclude", selectionKey+"=include", selectionKey+"=else", "app=web", "app=k0smotron", "cluster.x-k8s.io/provider=cluster-api",
			"cluster.x-k8s.io/provider=bootstrap-x", "cluster.x-k8s.io/provider=infrastructure-x", "kamaji.clastix.io/name=", "spectrocloud.com/connection=proxy")
		key, value, _ := strings.Cut(label, "=")
		labels[key] = value
	}
	return labels
}

func randomPod(r *rand.Rand) *corev1.Pod {
	p := pod(pick(r, "shop", "shop", "shop", "kube-system", "cilium"), noon.Add(time.Hour))
	p.Name = pick(r, "web", "web", "capi-controller-manager-7d8f-x7k2p", "dex-k8s-authenticator")
	if r.IntN(2) == 0 {
		p.GenerateName = pick(r, "web-", "dex-k8s-", "capi-controller-manager-")
		p.Name = p.GenerateName + "x7k2p"
	}
	p.Labels, p.Annotations = randomLabels(r), randomLabels(r)
	if r.IntN(3) == 0 {
		p.Annotations["fairlead.io/no-proxy"] = "kafka.internal"
	}
	p.Spec.HostNetwork = r.IntN(4) == 0
	p.Spec.Containers = nil
	for i := range 1 + r.IntN(2) {
		c := corev1.Container{Name: fmt.Sprintf("c%d", i)}
		for range r.IntN(3) * r.IntN(2) { // mostly none
			c.Env = append(c.Env, corev1.EnvVar{
				Name:  pick(r, "HTTP_PROXY", "https_proxy", "No_Proxy", "no_proxy", "all_proxy", "HTTPS_PROXY", "FAIRLEAD_NO_PROXY", "OTHER"),
				Value: pick(r, "", "x", "x,$(FAIRLEAD_NO_PROXY)"),
			})
		}
		for range r.IntN(3) * r.IntN(2) { // mostly none
			from := corev1.EnvFromSource{Prefix: pick(r, "", "", "", "HTTP_", "no_", "NO_PROXY", "OTHER_")}
			ref := corev1.LocalObjectReference{Name: pick(r, "proxy", "my-proxy-settings", "settings", "other")}
			if r.IntN(2) == 0 {
				from.ConfigMapRef = &corev1.ConfigMapEnvSource{LocalObjectReference: ref}
			} else {
				from.SecretRef = &corev1.SecretEnvSource{LocalObjectReference: ref}
			}
			c.EnvFrom = append(c.EnvFrom, from)
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	return p
}

// injected returns the containers that the policy changes, by name: what the API server would store.
func injected(t *testing.T, policy *mutation.Policy, pod *corev1.Pod, namespace *corev1.Namespace) map[string]bool {
	t.Helper()
	admitted := pod.DeepCopy()
	if admitted.GenerateName != "" {
		admitted.Name = ""
	}
	all := map[string]bool{}
	if !policy.Matches(admitted.Labels, namespace.Labels) {
		return all
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(admitted)
	if err != nil {
		t.Fatal(err)
	}
	operations, err := policy.Mutate(t.Context(), &unstructured.Unstructured{Object: content}, namespace)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range operations {
		for i, c := range pod.Spec.Containers {
			all[c.Name] = all[c.Name] || strings.HasPrefix(o.Path, fmt.Sprintf("/spec/containers/%d/", i))
		}
	}
	return all
}

// What the command says of a pod that lacks the variables is held against the policy, evaluated as an API server does:
// a container that the policy would change is lacking for reasons of time, and another one because somebody says so.
func TestThePolicyLeavesAloneWhatTheCommandSaysItLeavesAlone(t *testing.T) {
	left := map[pods.Reason]bool{pods.ReasonStatic: true, pods.ReasonKube: true, pods.ReasonExcluded: true, pods.ReasonOwn: true, pods.ReasonOwnSource: true}
	for _, settings := range []map[string]string{nil, {"optIn": "true"}, {"hostNetwork": "false"}, {"machines": "false"}, {"machines": "false", "hostNetwork": "false"}, {"excludedNames": `["^dex-k8s-.....$"]`}, {"sources": "[]", "excludedSources": `["proxy"]`}} {
		stored := object(t, func(content map[string]any) {
			for _, variable := range content["spec"].(map[string]any)["variables"].([]any) {
				if v := variable.(map[string]any); settings[v["name"].(string)] != "" {
					v["expression"] = settings[v["name"].(string)]
				}
			}
		})
		read, err := pods.ReadPolicy(stored)
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.Marshal(stored.Object)
		if err != nil {
			t.Fatal(err)
		}
		evaluated, err := mutation.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		for range 1000 {
			p := randomPod(r)
			namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: p.Namespace, Labels: randomLabels(r)}}
			namespace.Labels[corev1.LabelMetadataName] = p.Namespace
			changed := injected(t, evaluated, p, namespace)
			c := pods.Cluster{Policy: read, NamespaceLabels: map[string]map[string]string{p.Namespace: namespace.Labels}}
			for _, f := range c.Judge(p) {
				for _, name := range f.Containers {
					if f.Class == pods.Uninjected && left[f.Reason] == changed[name] {
						t.Fatalf("%v: the command says %s (%s), and the policy changes it: %v\n%+v\n%+v", settings, f.Reason, f.Message, changed[name], p, namespace.Labels)
					}
				}
			}
		}
	}
}
