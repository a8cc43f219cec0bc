package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ExistsError says that the object exists with another content, and was left as it is.
type ExistsError struct{ Object string }

func (e *ExistsError) Error() string { return e.Object + " exists" }

// WriteNew creates an object, and replaces none. An existing object is ours only if it
// has exactly the content to write, as after a crash behind its creation. Any other is
// an *ExistsError.
func WriteNew(ctx context.Context, c client.Client, object client.Object) (Answer, error) {
	err := c.Create(ctx, object.DeepCopyObject().(client.Object), client.FieldOwner(FieldManager))
	if apierrors.IsAlreadyExists(err) {
		var same bool
		if same, err = isSame(ctx, c, object); err == nil && !same {
			return Answer{}, &ExistsError{Title(object)}
		}
	}
	if err != nil {
		return Answer{}, classify(Title(object), err)
	}
	return Write(ctx, c, object) // the record is of what was applied
}

// CheckNew returns an *ExistsError where WriteNew would, and creates nothing.
func CheckNew(ctx context.Context, c client.Client, object client.Object) error {
	err := c.Create(ctx, object.DeepCopyObject().(client.Object), client.FieldOwner(FieldManager), client.DryRunAll)
	if !apierrors.IsAlreadyExists(err) {
		return nil // whatever else is wrong, WriteNew says it
	}
	same, err := isSame(ctx, c, object)
	if err != nil || same {
		return err
	}
	return &ExistsError{Title(object)}
}

// isSame asks the API server whether an object has exactly this data and our labels,
// with a patch that tests and changes nothing: the operator cannot read it.
func isSame(ctx context.Context, c client.Client, object client.Object) (bool, error) {
	ours, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return false, err
	}
	type operation struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	tests := []operation{{"test", "/data", ours["data"]}}
	for name, value := range object.GetLabels() {
		tests = append(tests, operation{"test", "/metadata/labels/" + pointer.Replace(name), value})
	}
	patch, err := json.Marshal(tests)
	if err != nil {
		return false, err
	}
	there := &unstructured.Unstructured{Object: map[string]any{}}
	there.SetGroupVersionKind(object.GetObjectKind().GroupVersionKind())
	there.SetNamespace(object.GetNamespace())
	there.SetName(object.GetName())
	err = c.Patch(ctx, there, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(FieldManager))
	switch {
	case err == nil:
		return true, nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err): // a test failed, or it is not ours at all
		return false, nil
	}
	return false, fmt.Errorf("comparing %s: %w", Title(object), err)
}

var pointer = strings.NewReplacer("~", "~0", "/", "~1") // RFC 6901
