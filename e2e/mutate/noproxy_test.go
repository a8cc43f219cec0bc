package mutate_test

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kubelet"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// HOME stands for what the kubelet could expand in an entry.
const ownEntries = `
apiVersion: v1
kind: Pod
metadata: {name: web, namespace: shop, annotations: {fairlead.io/no-proxy: "kafka.internal, $(HOME)"}}
spec:
  containers:
  - {name: annotation, image: web, env: [{name: HOME, value: /root}]}
  - {name: below, image: web, env: [{name: HOME, value: /root}], envFrom: [{secretRef: {name: settings}}]}
  - {name: asks, image: web, env: [{name: NO_PROXY, value: "kafka.internal,$$(HOME),$(FAIRLEAD_NO_PROXY)"}, {name: HOME, value: /root}]}
  - {name: asks-below, image: web, env: [{name: no_proxy, value: "kafka.internal,$$(HOME),$(FAIRLEAD_NO_PROXY)"}], envFrom: [{secretRef: {name: settings}}]}
`

func TestTheKubeletMakesOneListOfTheWorkloadsEntriesAndOurs(t *testing.T) {
	list := ".svc,a$(HOME)$$b"
	for _, carry := range []string{"SecretRef", "Literal", "Relay"} {
		values, err := yaml.Marshal(map[string]any{"carry": carry, "proxy": map[string]any{"https": "http://proxy.example:3128", "noProxy": list}})
		controlplanetest.Require(t, err)
		pod := &corev1.Pod{}
		mutated := mutate(t, []byte(ownEntries), "--policy-values", write(t, "values.yaml", string(values)), "--policy", policies.InjectProxyEnv)
		controlplanetest.Require(t, yaml.UnmarshalStrict(mutated, pod))
		for _, c := range pod.Spec.Containers {
			t.Run(carry+"/"+c.Name, func(t *testing.T) {
				got := environment(t, c, list)
				for _, name := range []string{"NO_PROXY", "no_proxy"} {
					if want := "kafka.internal,$(HOME)," + list; got[name] != want {
						t.Errorf("%s is %q, want %q", name, got[name], want)
					}
				}
			})
		}
	}
}

// environment returns the container's variables as the kubelet sets them. Our Secret has the list, and the
// container's own source another.
func environment(t *testing.T, c corev1.Container, list string) map[string]string {
	t.Helper()
	var variables []kubelet.Variable
	for _, from := range c.EnvFrom {
		value := list
		if from.SecretRef.Name != policies.Secret {
			value = "another"
		}
		variables = append(variables, kubelet.Variable{Name: "NO_PROXY", Value: value, From: true}, kubelet.Variable{Name: "no_proxy", Value: value, From: true})
	}
	for _, e := range c.Env {
		v := kubelet.Variable{Name: e.Name, Value: e.Value}
		if e.ValueFrom != nil {
			v.From = true
			if strings.EqualFold(e.ValueFrom.SecretKeyRef.Key, "NO_PROXY") {
				v.Value = list
			}
		}
		variables = append(variables, v)
	}
	texts, err := kubelet.Expand(t.Context(), variables)
	controlplanetest.Require(t, err)
	found := map[string]string{}
	for i, v := range variables {
		found[v.Name] = texts[i]
	}
	return found
}
