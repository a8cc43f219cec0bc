package mutation

import (
	"fmt"
	"maps"
	"slices"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// Fill returns a text with its settings filled in, as the API server's own kind: Kyverno's has the same fields, where
// ours use them.
func Fill(text []byte, settings Settings) (*admissionregistrationv1.MutatingAdmissionPolicy, error) {
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{}
	if err := yaml.Unmarshal(text, policy); err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	policy.TypeMeta = metav1.TypeMeta{APIVersion: admissionregistrationv1.SchemeGroupVersion.String(), Kind: "MutatingAdmissionPolicy"}
	if settings.Name != "" {
		policy.Name = settings.Name
	}
	for i, v := range policy.Spec.Variables {
		if expression, given := settings.Variables[v.Name]; given {
			policy.Spec.Variables[i].Expression = expression
		}
	}
	constraints := policy.Spec.MatchConstraints
	if constraints == nil || constraints.NamespaceSelector == nil || constraints.ObjectSelector == nil {
		return nil, fmt.Errorf("policy %s: matchConstraints lacks a selector", policy.Name)
	}
	settings.fillNamespaces(constraints.NamespaceSelector)
	settings.fillLabels(constraints.ObjectSelector)
	settings.fillExcludedLabels(constraints.ObjectSelector)
	return policy, nil
}

func (s Settings) fillNamespaces(selector *metav1.LabelSelector) {
	if s.ExcludedNamespaces == nil {
		return
	}
	var expressions []metav1.LabelSelectorRequirement
	for _, e := range selector.MatchExpressions {
		if e.Key == corev1.LabelMetadataName {
			e.Values = s.ExcludedNamespaces
		}
		if len(e.Values) > 0 {
			expressions = append(expressions, e)
		}
	}
	selector.MatchExpressions = expressions
}

func (s Settings) fillExcludedLabels(selector *metav1.LabelSelector) {
	if s.ExcludedLabels == nil {
		return
	}
	own := slices.DeleteFunc(selector.MatchExpressions, func(e metav1.LabelSelectorRequirement) bool { return e.Key != selection.Key })
	selector.MatchExpressions = slices.Concat(own, s.ExcludedLabels)
}

func (s Settings) fillLabels(selector *metav1.LabelSelector) {
	if len(s.Labels) == 0 {
		return
	}
	var expressions []metav1.LabelSelectorRequirement
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		expressions = append(expressions, metav1.LabelSelectorRequirement{Key: key, Operator: metav1.LabelSelectorOpIn, Values: s.Labels[key]})
	}
	for _, e := range selector.MatchExpressions {
		if e.Operator != metav1.LabelSelectorOpIn {
			expressions = append(expressions, e)
		}
	}
	selector.MatchExpressions = expressions
}
