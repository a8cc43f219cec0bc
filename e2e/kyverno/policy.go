package kyverno

import (
	"context"
	"fmt"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// nonsense is a policy whose patch is no list of patches.
func nonsense() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policies.kyverno.io/v1",
		"kind":       "MutatingPolicy",
		"metadata":   map[string]any{"name": "nonsense"},
		"spec": map[string]any{
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"podtemplates"}, "operations": []any{"CREATE"},
			}}},
			"mutations": []any{map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": "[]"}}},
		},
	}}
}

// Await returns when the API server has been told to ask Kyverno about a MutatingPolicy. Kyverno looks for such
// news every ten seconds. That it then also follows the policy's present text, a test must await by what it does.
func (k *Kyverno) Await(ctx context.Context, policy string) error {
	err := wait.PollUntilContextTimeout(ctx, interval, startTimeout, true, func(ctx context.Context) (bool, error) {
		return k.asked(ctx, policy)
	})
	if err != nil {
		return fmt.Errorf("await the webhook of policy %s: %w", policy, err)
	}
	return nil
}

// asked tells whether a mutating webhook has the policy in its path, where Kyverno lists whom it is for.
func (k *Kyverno) asked(ctx context.Context, policy string) (bool, error) {
	var configurations admissionv1.MutatingWebhookConfigurationList
	if err := k.client.List(ctx, &configurations, client.MatchingLabels{"webhook.kyverno.io/managed-by": "kyverno"}); err != nil {
		return false, err
	}
	for _, configuration := range configurations.Items {
		for _, webhook := range configuration.Webhooks {
			if url := webhook.ClientConfig.URL; url != nil && strings.Contains(*url+"/", "/"+policy+"/") {
				return true, nil
			}
		}
	}
	return false, nil
}
