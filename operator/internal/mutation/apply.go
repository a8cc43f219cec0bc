package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	jsonpatch "gopkg.in/evanphx/json-patch.v4" // the API server's own
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Pod returns a pod as the API server would read it from metadata and spec of a manifest: a field of the wrong type is
// an error, null is no value. The name is what it will begin with, where the manifest is a template.
func Pod(template map[string]any, generateName, namespace string) (*unstructured.Unstructured, error) {
	encoded, err := json.Marshal(template)
	if err != nil {
		return nil, err
	}
	var pod corev1.Pod
	if err := json.Unmarshal(encoded, &pod); err != nil {
		return nil, typeError(err)
	}
	pod.APIVersion, pod.Kind, pod.Namespace = "v1", "Pod", namespace
	if generateName != "" {
		pod.GenerateName = generateName
	}
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&pod)
	if err != nil {
		return nil, err
	}
	delete(object, "status")
	return &unstructured.Unstructured{Object: object}, nil
}

// typeError says which field is of which type, and no value.
func typeError(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) {
		return errors.New("a field is of the wrong type") // the library's words may quote it
	}
	expected := "a " + wrong.Type.String()
	switch wrong.Type.String() {
	case "[]string":
		expected = "a list of texts"
	case "string":
		expected = "a text: put it in quotes"
	}
	return fmt.Errorf("%s is a %s, expected %s", wrong.Field, kindOf(wrong.Value), expected)
}

// kindOf is the JSON type in an UnmarshalTypeError, which adds the value of a number.
func kindOf(value string) string {
	if len(value) > 6 && value[:6] == "number" {
		return "number"
	}
	return value
}

// Apply returns an object with a patch applied, at a JSON pointer within it.
func Apply(object any, pointer string, operations []Operation) (any, error) {
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	moved := make([]Operation, len(operations))
	for i, operation := range operations {
		operation.Path = pointer + operation.Path
		moved[i] = operation
	}
	text, err := json.Marshal(moved)
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.DecodePatch(text)
	if err != nil {
		return nil, err
	}
	if encoded, err = patch.Apply(encoded); err != nil {
		return nil, err
	}
	var result any
	err = utiljson.Unmarshal(encoded, &result)
	return result, err
}

// Run applies policies to a pod, one after the other, as admission does; each sees what the one before has made.
func Run(ctx context.Context, policies []*Policy, pod *unstructured.Unstructured, namespace *corev1.Namespace) (map[string][]Operation, []Operation, error) {
	by := map[string][]Operation{}
	var all []Operation
	for _, p := range policies {
		if !p.Matches(pod.GetLabels(), namespace.Labels) {
			continue
		}
		operations, err := p.Mutate(ctx, pod, namespace)
		if err != nil {
			return nil, nil, err
		}
		by[p.Name] = operations
		all = append(all, operations...)
		changed, err := Apply(pod.Object, "", operations)
		if err != nil {
			return nil, nil, fmt.Errorf("policy %s: %w", p.Name, err)
		}
		pod = &unstructured.Unstructured{Object: changed.(map[string]any)} //nolint:forcetypeassert // a pod it was
	}
	return by, all, nil
}
