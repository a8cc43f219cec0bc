package apply

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// Unless they say otherwise, the errors of these are the API server's, as they are.

// Create creates an object, which gets the API server's answer.
func Create(ctx context.Context, c client.Client, object client.Object, opts ...client.CreateOption) error {
	return c.Create(ctx, object, opts...)
}

// Update replaces an object that is still of the version that was read.
func Update(ctx context.Context, c client.Client, object client.Object) error {
	return c.Update(ctx, object)
}

// Merge sends a merge patch of an object. The object stays as it is here.
func Merge(ctx context.Context, c client.Client, object client.Object, patch any, opts ...client.PatchOption) error {
	data, err := json.Marshal(patch)
	if err != nil {
		return err
	}
	return c.Patch(ctx, object.DeepCopyObject().(client.Object), client.RawPatch(types.MergePatchType, data), opts...)
}

// Keep applies an object server-side, whoever else has changed our fields of it, and returns its UID. The errors are those of Write.
func Keep(ctx context.Context, c client.Client, object client.Object, manager client.FieldOwner) (types.UID, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return "", err
	}
	delete(content, "status")
	answer := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	if err := c.Apply(ctx, client.ApplyConfigurationFromUnstructured(answer), manager, client.ForceOwnership); err != nil {
		return "", classify(Title(object), err)
	}
	return answer.GetUID(), nil
}

// Delete deletes an object that is still of the version that was read.
func Delete(ctx context.Context, c client.Client, object client.Object) error {
	uid, version := object.GetUID(), object.GetResourceVersion()
	return c.Delete(ctx, object, client.Preconditions{UID: &uid, ResourceVersion: &version})
}

// Release takes our finalizer off an object that is still of the version that was read, and deletes it. An object that is
// gone is no error.
func Release(ctx context.Context, c client.Client, object client.Object, finalizer string) error {
	without := object.DeepCopyObject().(client.Object)
	if controllerutil.RemoveFinalizer(without, finalizer) {
		patch := client.MergeFromWithOptions(object, client.MergeFromWithOptimisticLock{})
		if err := c.Patch(ctx, without, patch); err != nil {
			return client.IgnoreNotFound(err)
		}
	}
	uid := without.GetUID()
	return client.IgnoreNotFound(c.Delete(ctx, without, client.Preconditions{UID: &uid}))
}

// DeleteNamed deletes the object of this name, whatever it is. One that is gone is no error.
func DeleteNamed(ctx context.Context, c client.Client, object client.Object) error {
	return client.IgnoreNotFound(c.Delete(ctx, object))
}
