package policies_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// The API server bounds what an expression may cost.
func TestAPodWithFiftyContainersOfAHundredVariablesIsInjected(t *testing.T) {
	c := must(t, theCorpus)
	var rows []row
	for i := range 50 {
		r := row{number: fmt.Sprint(i), gets: groups}
		for j := range 100 {
			r.has.Env = append(r.has.Env, corev1.EnvVar{Name: fmt.Sprintf("VARIABLE_WITH_A_LONG_NAME_%d", j), Value: "value"})
		}
		if i == 49 { // the last one is seen, too
			r.has.Env, r.gets = append(r.has.Env, corev1.EnvVar{Name: "no_proxy", Value: "own"}), nil
		}
		rows = append(rows, r)
	}
	for _, e := range c.engines {
		t.Run(e.name, func(t *testing.T) {
			where := corner{variant: secretRef, selection: selection{name: "large", injected: true}, rows: rows, places: []string{container}}
			diff, err := c.difference(t.Context(), e, where)
			controlplanetest.Require(t, err)
			if diff != "" {
				t.Error(diff)
			}
		})
	}
}

// The policy sees a pod before anybody has checked it. What is wrong with it, the API server says.
func TestAPodThatIsNoneIsRefusedWithTheReasonTheAPIServerHas(t *testing.T) {
	c := must(t, theCorpus)
	for name, bad := range map[string]struct{ spec, reason string }{
		"no-containers":      {`{}`, "spec.containers: Required value"},
		"null-containers":    {`{"containers": null}`, "spec.containers: Required value"},
		"empty-containers":   {`{"containers": []}`, "spec.containers: Required value"},
		"nameless-container": {`{"containers": [{"image": "a"}]}`, "spec.containers[0].name: Required value"},
		"odd-container":      {`{"containers": [{"name": "A/b~1", "image": "a"}]}`, `spec.containers[0].name: Invalid value: "A/b~1"`},
		"twice-container":    {`{"containers": [{"name": "a", "image": "a"}, {"name": "a", "image": "a"}]}`, `spec.containers[1].name: Duplicate value: "a"`},
		"nameless-variable":  {`{"containers": [{"name": "a", "image": "a", "env": [{"value": "a"}]}]}`, "spec.containers[0].env[0].name: Required value"},
		"odd-variable":       {`{"containers": [{"name": "a", "image": "a", "env": [{"name": "Ünal"}]}]}`, `spec.containers[0].env[0].name: Invalid value: "Ünal"`},
		"nameless-source":    {`{"containers": [{"name": "a", "image": "a", "envFrom": [{"prefix": "A"}]}]}`, "spec.containers[0].envFrom: Invalid value"},
		"both-values": {
			`{"containers": [{"name": "a", "image": "a", "env": [{"name": "HTTP_PROXY", "value": "a", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}}]}]}`,
			"spec.containers[0].env[0].valueFrom: Invalid value",
		},
	} {
		for _, e := range c.engines {
			t.Run(name+"/"+e.name, func(t *testing.T) {
				raw := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q}, "spec": %s}`, name, bad.spec)
				post := e.clients.CoreV1().RESTClient().Post().Namespace(secretRef.namespace(plainNamespace)).Resource("pods")
				err := post.Body([]byte(raw)).Do(t.Context()).Error()
				if err == nil || !strings.Contains(err.Error(), bad.reason) {
					t.Errorf("got %v, want %s", err, bad.reason)
				}
			})
		}
	}
}
