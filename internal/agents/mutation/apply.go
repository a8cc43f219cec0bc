package mutation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"

	jsonpatch "gopkg.in/evanphx/json-patch.v4" // the API server's own
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

// Pod returns a pod as the API server would read it from metadata and spec of a manifest: a field of the wrong type is
// an error, null is no value. generateName is the beginning of its name, where the manifest is a template.
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
	expected := "another type"
	switch wrong.Type.Kind() { //nolint:exhaustive // nothing is to be said of the others
	case reflect.Slice:
		expected = "a list"
		if wrong.Type.Elem().Kind() == reflect.String {
			expected = "a list of texts"
		}
	case reflect.String:
		expected = "a text: put it in quotes"
	case reflect.Struct, reflect.Map:
		expected = "an object"
	case reflect.Bool:
		expected = "true or false"
	case reflect.Int32, reflect.Int64:
		expected = "a whole number"
	}
	kind, _, _ := strings.Cut(wrong.Value, " ") // it adds the value of a number
	return fmt.Errorf("%s is %s, expected %s", embedded.ReplaceAllString(wrong.Field, ""), typeName(kind), expected)
}

// embedded are the names of Go's embedded structs, which an UnmarshalTypeError has among those of fields.
var embedded = regexp.MustCompile(`\b[A-Z]\w*\.`)

// Apply returns an object with a patch applied, at a JSON pointer within it.
func Apply(object map[string]any, pointer string, operations []Operation) (map[string]any, error) {
	encoded, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	moved := slices.Clone(operations)
	for i := range moved {
		moved[i].Path = pointer + moved[i].Path
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
	var result map[string]any
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
		pod = &unstructured.Unstructured{Object: changed}
	}
	return by, all, nil
}
