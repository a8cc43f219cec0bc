package pods

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/fairlead-io/fairlead/internal/core/document"
)

// Files lists what kubectl get has printed.
type Files []document.Document

// notInFiles is about a resource that is not in the files: was there none in the cluster, or did nobody ask?
type notInFiles struct{ resource string }

func (n notInFiles) Error() string {
	text := "no " + n.resource + " in the files"
	if n.resource == "pods" {
		text += "; fairlead lint -f reads what makes pods, such as a Deployment"
	}
	return text
}

// Objects returns the objects of a namespace, and those that name none.
func (l Files) Objects(_ context.Context, resource schema.GroupVersionResource, namespace string) ([]unstructured.Unstructured, error) {
	var found []unstructured.Unstructured
	seen := false
	for _, d := range l {
		if plural, _ := meta.UnsafeGuessKindToResource(d.Object.GroupVersionKind()); plural.GroupResource() != resource.GroupResource() {
			continue
		}
		seen = true
		if namespace == "" || d.Object.GetNamespace() == namespace || d.Object.GetNamespace() == "" {
			found = append(found, d.Object)
		}
	}
	switch {
	case seen, resource.Group == "apps", resource.Group == "batch": // whoever owns a pod is named by it
		return found, nil
	case resource == nativePolicies: // the other engine's may be there
		return nil, apierrors.NewNotFound(resource.GroupResource(), "")
	}
	return nil, notInFiles{resource.Resource}
}

// Metadata returns the metadata of the same objects.
func (l Files) Metadata(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) ([]metav1.PartialObjectMetadata, error) {
	objects, err := l.Objects(ctx, resource, namespace)
	if err != nil {
		return nil, err
	}
	var found []metav1.PartialObjectMetadata
	for _, object := range objects {
		if name != "" && object.GetName() != name {
			continue
		}
		var one metav1.PartialObjectMetadata
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(map[string]any{"metadata": object.Object["metadata"]}, &one); err != nil {
			return nil, fmt.Errorf("%s %s/%s: its metadata cannot be read", object.GetKind(), object.GetNamespace(), object.GetName())
		}
		found = append(found, one)
	}
	return found, nil
}
