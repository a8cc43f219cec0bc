package policies_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// The API server bounds what an expression may cost.
func TestAPodWithFiftyContainersOfAHundredVariablesIsInjected(t *testing.T) {
	c := mustCorpus(t)
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

func TestPodsThatAreWrittenOddly(t *testing.T) {
	c := mustCorpus(t)
	const image = `"image": "registry.example/web:1"`
	for name, spec := range map[string]string{
		"env-null":           `{"containers": [{"name": "web", ` + image + `, "env": null}]}`,
		"env-empty":          `{"containers": [{"name": "web", ` + image + `, "env": []}]}`,
		"env-from-null":      `{"containers": [{"name": "web", ` + image + `, "envFrom": null}], "initContainers": null}`,
		"init-empty":         `{"containers": [{"name": "web", ` + image + `}], "initContainers": [], "ephemeralContainers": null}`,
		"longest-name":       `{"containers": [{"name": "` + strings.Repeat("0", 63) + `", ` + image + `}]}`,
		"name-of-a-variable": `{"containers": [{"name": "containers", ` + image + `}, {"name": "http-proxy", ` + image + `}]}`,
		"odd-variables":      `{"containers": [{"name": "web", ` + image + `, "env": [{"name": "a b/~1\"'"}, {"name": "http_proxy "}]}]}`,
	} {
		for _, e := range c.engines {
			t.Run(name+"/"+e.name, func(t *testing.T) {
				pod := &corev1.Pod{}
				raw := fmt.Sprintf(`{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": %q, "labels": null, "annotations": null}, "spec": %s}`, name, spec)
				post := e.clients.CoreV1().RESTClient().Post().Namespace(secretRef.namespace(plainNamespace)).Resource("pods")
				controlplanetest.Require(t, post.Body([]byte(raw)).Do(t.Context()).Into(pod))
				for _, one := range pod.Spec.Containers {
					if n := len(one.Env); n < 6 || cmp.Diff(secretRef.entries("", false), one.Env[n-6:]) != "" {
						t.Errorf("%s has %v", one.Name, one.Env)
					}
				}
			})
		}
	}
}

// The policy sees a pod before anybody has checked it. What is wrong with it, the API server says.
func TestAPodThatIsNoneIsRefusedWithTheReasonTheAPIServerHas(t *testing.T) {
	c := mustCorpus(t)
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

// What its owner wrote stays as it is.
func TestADeploymentIsNotChangedButItsPodsAreInjected(t *testing.T) {
	c := mustCorpus(t)
	deployment := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}},
			},
		},
	}
	for _, e := range c.engines {
		t.Run(e.name, func(t *testing.T) {
			var specs []appsv1.DeploymentSpec
			for _, namespace := range []string{untouched, secretRef.namespace(plainNamespace)} {
				stored, err := e.clients.AppsV1().Deployments(namespace).Create(t.Context(), deployment, metav1.CreateOptions{})
				controlplanetest.Require(t, err)
				specs = append(specs, stored.Spec)
			}
			if diff := cmp.Diff(specs[0], specs[1]); diff != "" {
				t.Error(diff)
			}
			controlplanetest.Await(t, "an injected pod of the Deployment", func(ctx context.Context) (bool, error) {
				pods, err := e.clients.CoreV1().Pods(secretRef.namespace(plainNamespace)).List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
				if err != nil || len(pods.Items) == 0 {
					return false, err
				}
				return true, onlyOurs(&pods.Items[0])
			})
		})
	}
}

// With a policy as without.
func TestAnEphemeralContainerCannotBeTakenFromAnOldPod(t *testing.T) {
	c := mustCorpus(t)
	for _, e := range c.engines {
		t.Run(e.name, func(t *testing.T) {
			pods := e.clients.CoreV1().Pods(secretRef.namespace(plainNamespace))
			old, err := pods.Get(t.Context(), corner{selection: selections[0], places: []string{relabelled}}.old(), metav1.GetOptions{})
			controlplanetest.Require(t, err)
			old.Spec.EphemeralContainers = nil
			_, err = pods.UpdateEphemeralContainers(t.Context(), old.Name, old, metav1.UpdateOptions{})
			if err == nil || !strings.Contains(err.Error(), "existing ephemeral containers \"older\" may not be removed") {
				t.Error(err)
			}
		})
	}
}
