package policies_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

// result is one line of a report.
type result struct{ result, message string }

// readReports returns what reports say, by the UID of their pod and by policy.
func readReports(ctx context.Context, c client.Client) (map[string]map[string]result, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "wgpolicyk8s.io", Version: "v1alpha2", Kind: "PolicyReportList"})
	if err := c.List(ctx, list); err != nil {
		return nil, err
	}
	found := map[string]map[string]result{}
	for _, report := range list.Items {
		uid, _, _ := unstructured.NestedString(report.Object, "scope", "uid")
		results, _, _ := unstructured.NestedSlice(report.Object, "results")
		found[uid] = map[string]result{}
		for _, r := range results {
			fields, _ := r.(map[string]any)
			found[uid][fmt.Sprint(fields["policy"])] = result{fmt.Sprint(fields["result"]), fmt.Sprint(fields["message"])}
		}
		if strings.Contains(fmt.Sprint(report.Object), "S3CRET") {
			return nil, fmt.Errorf("the report %s shows a password", report.GetName())
		}
	}
	return found, nil
}

func asksAboutPods(webhook admissionv1.ValidatingWebhook) bool {
	return slices.ContainsFunc(webhook.Rules, func(rule admissionv1.RuleWithOperations) bool {
		return slices.ContainsFunc(rule.Resources, func(resource string) bool { return resource == "*" || strings.HasPrefix(resource, "pods") })
	})
}

// createPod creates it once its namespace has its service account.
func createPod(t *testing.T, clients kubernetes.Interface, pod corev1.Pod) (created *corev1.Pod) {
	t.Helper()
	controlplanetest.Await(t, "the pod "+pod.Name, func(ctx context.Context) (done bool, err error) {
		created, err = clients.CoreV1().Pods(pod.Namespace).Create(ctx, &pod, metav1.CreateOptions{})
		return err == nil, err
	})
	return created
}

// injected returns the variables that inject-proxy-env adds.
func injected() []corev1.EnvVar { return mutationtest.Entries(nil, "", false) }
