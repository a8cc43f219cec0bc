package controlplane

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const servedTimeout = 2 * time.Minute

// awaitServed waits until every CRD is established and every version of it that is to be served is also
// announced: clients choose their paths by the announcement, which comes a moment later.
func (cp *ControlPlane) awaitServed(ctx context.Context, crds []*unstructured.Unstructured) error {
	for _, crd := range crds {
		err := wait.PollUntilContextTimeout(ctx, pollInterval, servedTimeout, true, func(ctx context.Context) (bool, error) {
			current := &unstructured.Unstructured{}
			current.SetGroupVersionKind(crd.GroupVersionKind())
			if err := cp.client.Get(ctx, client.ObjectKeyFromObject(crd), current); err != nil {
				return false, err
			}
			return served(current, cp.clients.Discovery())
		})
		if err != nil {
			return fmt.Errorf("await CRD %s: %w", crd.GetName(), err)
		}
	}
	return nil
}

func served(object *unstructured.Unstructured, announced discovery.DiscoveryInterface) (bool, error) {
	var crd apiextensionsv1.CustomResourceDefinition
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &crd); err != nil {
		return false, err
	}
	if !apihelpers.IsCRDConditionTrue(&crd, apiextensionsv1.Established) {
		return false, nil
	}
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		resource := schema.GroupVersionResource{Group: crd.Spec.Group, Version: version.Name, Resource: crd.Spec.Names.Plural}
		if ok, err := discovery.IsResourceEnabled(announced, resource); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}
