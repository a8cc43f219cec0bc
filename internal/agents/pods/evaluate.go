package pods

import (
	"errors"
	"fmt"
	"reflect"
	"sync"

	"github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"google.golang.org/protobuf/types/known/structpb"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/cel/environment"

	"github.com/fairlead-io/fairlead/internal/core/selection"
)

type variable struct{ Name, Expression string }

// programs are a policy's variables by name. Most are never asked for, and are compiled when they are.
type programs map[string]func() (cel.Program, error)

func programsOf(all []variable) (programs, error) {
	expressions := map[string]string{}
	for _, v := range all {
		expressions[v.Name] = v.Expression
	}
	options := []cel.EnvOption{cel.Variable("object", cel.DynType), cel.Variable("namespaceObject", cel.DynType)}
	for name := range expressions {
		options = append(options, cel.Variable("variables."+name, cel.DynType))
	}
	known, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).StoredExpressionsEnv().Extend(options...)
	if err != nil {
		return nil, errors.New("a variable has a name that CEL does not take")
	}
	compiled := programs{}
	for name, expression := range expressions {
		compiled[name] = sync.OnceValues(func() (cel.Program, error) {
			ast, issues := known.Compile(expression)
			if issues.Err() != nil {
				return nil, issues.Err()
			}
			return known.Program(ast)
		})
	}
	return compiled, nil
}

// value evaluates a variable for a pod. The error names the variable, since CEL's own would quote the expression.
func (p programs) value(asked string, pod *corev1.Pod, namespace map[string]string) (value ref.Val, err error) {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(pod)
	if err != nil {
		return nil, err
	}
	known := map[string]any{"object": object, "namespaceObject": map[string]any{"metadata": map[string]any{
		"name": pod.Namespace, "labels": namespace, "annotations": map[string]string{selection.Served: "true"},
	}}}
	evaluate := func(name string) ref.Val {
		program, failed := p[name]()
		if failed == nil {
			known["variables."+name] = types.NewErr("refers to itself")
			value, _, failed = program.Eval(known)
		}
		if failed != nil {
			if err == nil { // the innermost variable is named, not those that refer to it
				err = fmt.Errorf("variable %s: cannot be evaluated", name)
			}
			return types.WrapErr(failed)
		}
		known["variables."+name] = value
		return value
	}
	for name := range p {
		known["variables."+name] = func() ref.Val { return evaluate(name) }
	}
	value = evaluate(asked)
	return value, err
}

// read is value, as Go has it, with the labels of a namespace that has none. What the policy does not have stays as it is.
func (p programs) read(asked string, pod *corev1.Pod, into any) error {
	if p[asked] == nil {
		return nil
	}
	value, err := p.value(asked, pod, nil)
	if err != nil {
		return err
	}
	plain, err := value.ConvertToNative(reflect.TypeFor[*structpb.Value]())
	if err != nil || decode(plain, into) != nil {
		return fmt.Errorf("variable %s: of another type than expected", asked)
	}
	return nil
}

// excluded returns why the policy leaves out a pod, as it was admitted, beside what selectors say; empty if it does not. The policy of
// an older chart has no such variable, and says by another one whether.
func (p programs) excluded(pod *corev1.Pod, namespace map[string]string) (string, error) {
	asked := "excluded"
	if p[asked] == nil {
		asked = "selected"
	}
	if p[asked] == nil {
		return "", nil
	}
	value, err := p.value(asked, pod, namespace)
	if err != nil {
		return "", err
	}
	switch value {
	case types.True:
		return "", nil
	case types.False:
		return "by the policy, which is of an older chart and does not say why", nil
	}
	if text, ok := value.(types.String); ok {
		return string(text), nil
	}
	return "", fmt.Errorf("variable %s: neither a text nor a truth", asked)
}
