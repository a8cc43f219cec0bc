// Package mutation renders the policies of charts/fairlead-policies with Helm's own engine. It evaluates them on pods
// with the library of the API server for MutatingAdmissionPolicies: its result for a pod is the pod that the cluster
// would store. It knows the part of a policy that ours use: selectors, variables and JSONPatch.
package mutation

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/traits"
	"google.golang.org/protobuf/types/known/structpb"
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/mutation"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/selection"
)

// Operation of a JSON patch, RFC 6902.
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

// Policy is a policy, to be evaluated.
type Policy struct {
	Name       string
	Text       []byte   // that it was read from
	Tunnels    []Tunnel // none if it is not for tunnels; all of one way, known by the same label keys
	spec       admissionregistrationv1.MutatingAdmissionPolicySpec
	object     labels.Selector
	namespace  labels.Selector
	compiler   *plugincel.CompositedCompiler // nil until it is compiled
	evaluators []plugincel.MutatingEvaluator
}

// Read reads a policy of either kind: Kyverno's has the same fields, where ours use them. Its expressions are compiled
// when they are needed: selectors are enough to know for whom it is.
func Read(text []byte) (*Policy, error) {
	policy := &admissionregistrationv1.MutatingAdmissionPolicy{}
	if err := yaml.Unmarshal(text, policy); err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	p := &Policy{Name: policy.Name, Text: text, spec: policy.Spec}
	if err := p.ReadSelectors(); err != nil {
		return nil, err
	}
	return p, nil
}

// ReadSelectors must come before Matches for a policy of a Rendering, which shows what values make even if no API server takes it.
func (p *Policy) ReadSelectors() (err error) {
	constraints := p.spec.MatchConstraints
	if constraints == nil || constraints.NamespaceSelector == nil || constraints.ObjectSelector == nil {
		return fmt.Errorf("policy %s: matchConstraints lacks a selector", p.Name)
	}
	if p.object, err = metav1.LabelSelectorAsSelector(constraints.ObjectSelector); err != nil {
		return fmt.Errorf("policy %s: objectSelector: %w", p.Name, err)
	}
	if p.namespace, err = metav1.LabelSelectorAsSelector(constraints.NamespaceSelector); err != nil {
		return fmt.Errorf("policy %s: namespaceSelector: %w", p.Name, err)
	}
	return nil
}

func (p *Policy) compile() error {
	compiler, err := plugincel.NewCompositedCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	if err != nil {
		return fmt.Errorf("policy %s: %w", p.Name, err)
	}
	for _, v := range p.spec.Variables {
		result := compiler.CompileAndStoreVariable(&validating.Variable{Name: v.Name, Expression: v.Expression},
			plugincel.OptionalVariableDeclarations{}, environment.StoredExpressions)
		if result.Error != nil {
			return fmt.Errorf("policy %s: variable %s: %w", p.Name, v.Name, result.Error)
		}
	}
	for _, m := range p.spec.Mutations {
		if m.JSONPatch == nil {
			return fmt.Errorf("policy %s: a mutation is no jsonPatch", p.Name)
		}
		evaluator := compiler.CompileMutatingEvaluator(&patch.JSONPatchCondition{Expression: m.JSONPatch.Expression},
			plugincel.OptionalVariableDeclarations{HasPatchTypes: true}, environment.StoredExpressions)
		if err := errors.Join(evaluator.CompilationErrors()...); err != nil {
			return fmt.Errorf("policy %s: %w", p.Name, err)
		}
		p.evaluators = append(p.evaluators, evaluator)
	}
	p.compiler = compiler
	return nil
}

// Matches tells whether the policy is for pods with these labels, in a namespace with those.
func (p *Policy) Matches(pod, namespace map[string]string) bool {
	return p.object.Matches(labels.Set(pod)) && p.namespace.Matches(labels.Set(namespace))
}

// Mutate returns what the policy does to a new pod, whether it matches or not, once the replicator serves its namespace.
func (p *Policy) Mutate(ctx context.Context, pod *unstructured.Unstructured, namespace *corev1.Namespace) ([]Operation, error) {
	if p.compiler == nil {
		if err := p.compile(); err != nil {
			return nil, err
		}
	}
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "Pod"}
	gvr := schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	attributes := admission.NewAttributesRecord(pod, nil, gvk, namespace.Name, pod.GetName(), gvr, "", admission.Create, &metav1.CreateOptions{}, false, nil)
	versioned := &admission.VersionedAttributes{Attributes: attributes, VersionedKind: gvk, VersionedObject: pod}
	request := &admissionv1.AdmissionRequest{
		Kind: metav1.GroupVersionKind(gvk), Resource: metav1.GroupVersionResource(gvr), Operation: admissionv1.Create,
		Name: pod.GetName(), Namespace: namespace.Name,
	}
	namespace = namespace.DeepCopy()
	metav1.SetMetaDataAnnotation(&namespace.ObjectMeta, selection.Served, "true")
	var operations []Operation
	for _, evaluator := range p.evaluators {
		result, _, err := evaluator.ForInput(p.compiler.CreateContext(ctx), versioned, request,
			plugincel.OptionalVariableBindings{}, plugincel.CreateNamespaceObject(namespace), celconfig.RuntimeCELCostBudget)
		if err = cmp.Or(err, result.Error); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Name, err)
		}
		if operations, err = appendOperations(operations, result.EvalResult); err != nil {
			return nil, fmt.Errorf("policy %s: %w", p.Name, err)
		}
	}
	return operations, nil
}

// appendOperations turns a list of CEL's JSONPatch values into operations.
func appendOperations(operations []Operation, list any) ([]Operation, error) {
	lister, ok := list.(traits.Lister)
	if !ok {
		return nil, fmt.Errorf("the patch is no list but %T", list)
	}
	for it := lister.Iterator(); it.HasNext() == types.True; {
		v, ok := it.Next().(*mutation.JSONPatchVal)
		if !ok {
			return nil, errors.New("the patch has something else than JSONPatch in it")
		}
		operation := Operation{Op: v.Op, Path: v.Path}
		if v.Val != nil {
			value, err := v.Val.ConvertToNative(reflect.TypeFor[*structpb.Value]())
			if err != nil {
				return nil, fmt.Errorf("the value at %s: %w", v.Path, err)
			}
			operation.Value = value.(*structpb.Value).AsInterface() //nolint:forcetypeassert // it has been made one
		}
		operations = append(operations, operation)
	}
	return operations, nil
}

// String is for people: the operations by their paths.
func (o Operation) String() string { return strings.TrimSpace(o.Op + " " + o.Path) }
