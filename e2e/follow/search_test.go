package follow_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// createPod makes a pod as a user does, once the API server has the policy.
func (c *cluster) createPod(t *testing.T) *corev1.Pod {
	t.Helper()
	var made *corev1.Pod
	controlplanetest.Await(t, "a pod with the variables", func(ctx context.Context) (bool, error) {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{GenerateName: "web-"},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}},
		}
		var err error
		made, err = c.clients.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{})
		return err == nil && len(made.Spec.Containers[0].Env) == 6, err
	})
	return made
}

func ask(relay string) int {
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", User: url.User("default"), Host: relay})}}
	response, err := client.Get("http://example.com/") //nolint:noctx // it ends with the test
	if err != nil {
		return 0
	}
	_ = response.Body.Close()
	return response.StatusCode
}

// search lists every kind that the API server has, and returns the objects that hold the password, plain or in base64.
func (c *cluster) search(t *testing.T) []string {
	t.Helper()
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(c.cp.Admin()).ServerPreferredResources()
	controlplanetest.Require(t, err)
	client := dynamic.NewForConfigOrDie(c.cp.Admin())
	var found []string
	kinds := 0
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		controlplanetest.Require(t, err)
		for _, resource := range list.APIResources {
			if !strings.Contains(fmt.Sprint(resource.Verbs), "list") {
				continue
			}
			objects, err := client.Resource(version.WithResource(resource.Name)).List(t.Context(), metav1.ListOptions{})
			controlplanetest.Require(t, err)
			kinds++
			for _, object := range objects.Items {
				text, err := json.Marshal(decoded(object.Object))
				controlplanetest.Require(t, err)
				if strings.Contains(string(text), password) {
					found = append(found, object.GetNamespace()+"/"+object.GetKind()+"/"+object.GetName())
				}
			}
		}
	}
	if kinds < 30 {
		t.Errorf("the search knows %d kinds", kinds)
	}
	return found
}

// decoded adds to an object what its data are in plain text.
func decoded(object map[string]any) []any {
	all := []any{object}
	data, _ := object["data"].(map[string]any)
	for _, value := range data {
		if text, is := value.(string); is {
			if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
				all = append(all, string(plain))
			}
		}
	}
	return all
}
