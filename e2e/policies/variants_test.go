package policies_test

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/internal/agents/mutation/mutationtest"
)

// variantLabel is the label of the namespaces of a variant.
const variantLabel = "e2e.fairlead.io/variant"

// variant is the policy with other settings. All variants are installed at once, each for the
// namespaces that are labelled for it: so one control plane has them all.
type variant struct {
	name   string
	values map[string]any // of the chart
	optIn  bool
	change [2]string // of the policy's text: what stands there, and what instead
}

var (
	secretRef = variant{name: "secretref"}
	literal   = variant{name: "literal", values: map[string]any{"carry": "Literal"}}
	optIn     = variant{name: "optin", values: map[string]any{"optIn": true}, optIn: true}
	byRelay   = variant{name: "relay", values: map[string]any{"carry": "Relay"}}
	healthy   = []variant{secretRef, literal, byRelay, optIn}

	// The policy that lets pods run without, and one that also fails, though only at containers called falter.
	lenient   = variant{name: "lenient", values: map[string]any{"failurePolicy": "Ignore"}}
	faltering = variant{name: "faltering", values: lenient.values, change: [2]string{
		"dyn('/spec/' +", "dyn((c.name == 'falter' ? '/nowhere/' : '/spec/') +",
	}}
)

// variants are all there are.
func variants() []variant { return append(slices.Clone(healthy), lenient, faltering) }

func (v variant) namespace(kind string) string { return v.name + "-" + kind }

// entries returns the variables of a container without a wish of its own, in a pod of some place.
func (v variant) entries(namespace string, onItsNode bool) []corev1.EnvVar {
	return mutationtest.Entries(v.values["carry"], namespace, onItsNode)
}

// manifests returns the chart's objects for an engine, narrowed to the variants' namespaces.
func manifests(ctx context.Context, engine string, all []variant) ([]*unstructured.Unstructured, error) {
	var named []string
	for _, v := range all {
		named = append(named, v.namespace(namedNamespace))
	}
	rendered := map[string][]byte{} // by settings: Helm is asked once for each
	var objects []*unstructured.Unstructured
	for _, v := range all {
		settings := fmt.Sprint(v.values)
		if rendered[settings] == nil {
			common := map[string]any{"engine": engine, "exclude": map[string]any{"namespaces": named}}
			manifest, err := policies.Render(ctx, policies.Values(), common, v.values)
			if err != nil {
				return nil, err
			}
			rendered[settings] = manifest
		}
		policy, err := policyOf(rendered[settings])
		if err != nil {
			return nil, err
		}
		for _, object := range policy {
			if err := v.rewrite(object); err != nil {
				return nil, err
			}
			narrow(object, v.name, variantLabel, v.name)
		}
		objects = append(objects, policy...)
	}
	return objects, nil
}

// policyOf are the policy inject-proxy-env and its binding, if it has one.
func policyOf(manifest []byte) ([]*unstructured.Unstructured, error) {
	objects, err := controlplane.Parse(manifest)
	return slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool {
		return o.GetName() != policies.InjectProxyEnv || !strings.Contains(o.GetKind(), "Polic")
	}), err
}

// narrow makes a policy or its binding one of that name, for the namespaces with a label.
func narrow(object *unstructured.Unstructured, name, key, value string) {
	object.SetName(name)
	spec := object.Object["spec"].(map[string]any)
	if spec["policyName"] != nil {
		spec["policyName"] = name
		return
	}
	selector := spec["matchConstraints"].(map[string]any)["namespaceSelector"].(map[string]any)
	selector["matchLabels"] = map[string]any{key: value}
}

// rewrite makes the variant's change, if it has one, to a policy.
func (v variant) rewrite(policy *unstructured.Unstructured) error {
	text, err := policy.MarshalJSON()
	if err != nil || v.change[0] == "" || strings.HasSuffix(policy.GetKind(), "Binding") {
		return err
	}
	if !strings.Contains(string(text), v.change[0]) {
		return fmt.Errorf("variant %s: nothing in the policy says %q", v.name, v.change[0])
	}
	return policy.UnmarshalJSON([]byte(strings.ReplaceAll(string(text), v.change[0], v.change[1])))
}
