package apply

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"

	jsonpatch "gopkg.in/evanphx/json-patch.v4" // the API server's own
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// Status writes the difference between two states of an object's status. It returns the metadata after it, nil where
// nothing differs. It is a merge patch: of a large custom resource it costs the API server less than a server-side apply.
// A conflict says that the object has changed, or that another object has its name now: the API server looks at no UID
// where a status is written.
func Status(ctx context.Context, c client.Client, before, after client.Object, manager client.FieldOwner) (*metav1.PartialObjectMetadata, error) {
	status, err := difference(before, after)
	if err != nil || len(status) == 0 { // a status that has nothing any more is never taken away whole
		return nil, err
	}
	return StatusOf(ctx, c, before, status, manager)
}

// difference returns the merge patch between the statuses of two objects of a kind. Fields that are the same are not put into
// JSON: some are lists of thousands.
func difference(before, after client.Object) (change map[string]any, err error) {
	previous, current := statusOf(before), statusOf(after)
	same := true
	for i := range previous.NumField() {
		if equality.Semantic.DeepEqual(previous.Field(i).Interface(), current.Field(i).Interface()) {
			previous.Field(i).SetZero()
			current.Field(i).SetZero()
			continue
		}
		same = false
	}
	if same {
		return nil, nil
	}
	from, err := json.Marshal(previous.Interface())
	if err != nil {
		return nil, err
	}
	to, err := json.Marshal(current.Interface())
	if err != nil {
		return nil, err
	}
	patch, err := jsonpatch.CreateMergePatch(from, to)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(patch, &change)
	return change, err
}

// statusOf returns a copy of an object's status whose fields can be set. What they point to is the object's.
func statusOf(object client.Object) reflect.Value {
	status := reflect.ValueOf(object).Elem().FieldByName("Status")
	own := reflect.New(status.Type()).Elem()
	own.Set(status)
	return own
}

// StatusOf writes these fields of the status of an object that is still of the version that was read, and removes those
// that are nil. It returns the metadata after it.
func StatusOf(ctx context.Context, c client.Client, object client.Object, status map[string]any, manager client.FieldOwner) (*metav1.PartialObjectMetadata, error) {
	answer, err := patchStatus(ctx, c, object, status, map[string]any{"resourceVersion": object.GetResourceVersion()}, manager)
	return answer, failed(object, err)
}

// StatusFields writes these fields of an object's status, and removes those that are nil, whatever the others are.
func StatusFields(ctx context.Context, c client.Client, object client.Object, status map[string]any, manager client.FieldOwner) error {
	_, err := patchStatus(ctx, c, object, status, map[string]any{}, manager)
	return failed(object, err)
}

// TryStatus is StatusFields as a dry run. The error is the API server's.
func TryStatus(ctx context.Context, c client.Client, object client.Object, status map[string]any) error {
	_, err := patchStatus(ctx, c, object, status, map[string]any{}, client.DryRunAll)
	return err
}

func patchStatus(ctx context.Context, c client.Client, object client.Object, status, metadata map[string]any, option client.SubResourcePatchOption) (*metav1.PartialObjectMetadata, error) {
	answer, patch, err := changeOf(c, object, map[string]any{"status": status, "metadata": metadata})
	if err != nil {
		return answer, err
	}
	return answer, c.Status().Patch(ctx, answer, patch, option)
}

// Condition applies one condition of an object's status, server-side: the others are other people's, who may write them at the
// same time.
func Condition(ctx context.Context, c client.Client, object client.Object, condition metav1.Condition, manager client.FieldOwner) error {
	change := map[string]any{"metadata": map[string]any{}, "status": map[string]any{"conditions": []metav1.Condition{condition}}}
	answer, _, err := changeOf(c, object, change)
	if err != nil {
		return failed(object, err)
	}
	apiVersion, kind := answer.GroupVersionKind().ToAPIVersionAndKind()
	metadata := map[string]any{"namespace": object.GetNamespace(), "name": object.GetName(), "uid": object.GetUID()}
	change["apiVersion"], change["kind"], change["metadata"] = apiVersion, kind, metadata
	data, err := json.Marshal(change)
	if err != nil {
		return failed(object, err)
	}
	return failed(object, c.Status().Patch(ctx, answer, client.RawPatch(types.ApplyPatchType, data), manager, client.ForceOwnership))
}

// Metadata merges annotations into those of an object, and adds a finalizer to those it has unless it is empty. The
// object has no managed fields after it: the API server keeps none from then on, which takes a quarter off the cost of
// each write of a large status that nobody else has a part in. It returns the metadata after it.
func Metadata(ctx context.Context, c client.Client, object client.Object, annotations map[string]string, finalizer string) (*metav1.PartialObjectMetadata, error) {
	metadata := map[string]any{"managedFields": []any{map[string]any{}}} // Kubernetes documentation, Server-Side Apply, "Clearing managedFields"
	if len(annotations) > 0 {
		metadata["annotations"] = annotations
	}
	if finalizer != "" { // a list is replaced whole, so nobody may have changed it meanwhile
		metadata["finalizers"] = append(slices.Clone(object.GetFinalizers()), finalizer)
		metadata["resourceVersion"] = object.GetResourceVersion()
	}
	answer, patch, err := changeOf(c, object, map[string]any{"metadata": metadata})
	if err != nil {
		return answer, failed(object, err)
	}
	return answer, failed(object, c.Patch(ctx, answer, patch, client.FieldOwner(FieldManager)))
}

// changeOf returns a patch of the object that has this name and UID, and where the answer goes: metadata alone, since the
// caller knows the rest.
func changeOf(c client.Client, object client.Object, change map[string]any) (*metav1.PartialObjectMetadata, client.Patch, error) {
	answer := &metav1.PartialObjectMetadata{}
	kind, err := apiutil.GVKForObject(object, c.Scheme())
	if err != nil {
		return answer, nil, err
	}
	answer.SetGroupVersionKind(kind)
	answer.SetNamespace(object.GetNamespace())
	answer.SetName(object.GetName())
	change["metadata"].(map[string]any)["uid"] = object.GetUID()
	data, err := json.Marshal(change)
	return answer, client.RawPatch(types.MergePatchType, data), err
}

func failed(object client.Object, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("writing %T %s: %w", object, client.ObjectKeyFromObject(object), err)
}
