package mutation

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/internal/agents/manifest"
)

func TestWhatValuesNoLongerExcludeIsInjectedByEitherEngine(t *testing.T) {
	values, err := ReadValues([]byte("exclude: {hostNetwork: false, defaults: {namespaces: [kyverno]}}"))
	if err != nil {
		t.Fatal(err)
	}
	for _, engine := range []string{"Native", "Kyverno"} {
		policy := injectFor(t, values, engine)
		left := policy.spec.MatchConstraints.NamespaceSelector.MatchExpressions[0]
		want := metav1.LabelSelectorRequirement{Key: corev1.LabelMetadataName, Operator: metav1.LabelSelectorOpNotIn, Values: []string{"kyverno"}}
		if diff := gocmp.Diff(want, left); diff != "" {
			t.Errorf("%s (-want +got):\n%s", engine, diff)
		}
		pod, err := Pod(map[string]any{"spec": map[string]any{"hostNetwork": true, "containers": []any{map[string]any{"name": "web"}}}}, "", "kube-system")
		if err != nil {
			t.Fatal(err)
		}
		operations, err := policy.Mutate(t.Context(), pod, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}})
		if err != nil || len(operations) == 0 {
			t.Errorf("%s: a pod on the network of its node gets nothing: %v", engine, err)
		}
	}
}

// injectFor is inject-proxy-env as the chart makes it for an engine.
func injectFor(t *testing.T, values Values, engine string) *Policy {
	t.Helper()
	all, err := values.render.Table("Values")
	if err != nil {
		t.Fatal(err)
	}
	all["engine"] = engine
	rendered, err := run(values.render, question, true)
	if err != nil {
		t.Fatal(err)
	}
	policy, err := Read(manifest.Split([]byte(rendered["fairlead-policies/templates/inject-proxy-env.yaml"]))[0])
	if err != nil {
		t.Fatal(err)
	}
	return policy
}
