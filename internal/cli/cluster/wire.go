package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/write/apply"
)

// Labelled are the kinds that Label writes, in the version that inject-node-files acts on.
var Labelled = map[string]schema.GroupVersionResource{
	clusterv1.ClusterKind:   clusterv1.GroupVersion.WithResource("clusters"),
	"KubeadmControlPlane":   {Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmcontrolplanes"},
	"KubeadmConfigTemplate": {Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta2", Resource: "kubeadmconfigtemplates"},
}

// One returns the object of a name whose kind is in Labelled; nil where there is none.
func (c *Cluster) One(ctx context.Context, kind, name string) (*unstructured.Unstructured, error) {
	resource := Labelled[kind]
	object, err := c.one(ctx, resource, c.Namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s has no %s: Cluster API is not installed there, or is older than %s", c.Host, resource.GroupResource(), resource.Version)
	}
	return object, needs(err, "list", resource.GroupResource().String(), c.Namespace)
}

// Workers lists what makes workers in the namespace: machinedeployments or machinepools. Of a kind that is not there, there are none.
func (c *Cluster) Workers(ctx context.Context, resource string) ([]unstructured.Unstructured, error) {
	all, err := c.Objects(ctx, clusterv1.GroupVersion.WithResource(resource), c.Namespace)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return all, needs(err, "list", resource+"."+clusterv1.GroupVersion.Group, c.Namespace)
}

// ClustersWith returns the names of the Clusters of the namespace that have a label with this value.
func (c *Cluster) ClustersWith(ctx context.Context, label, value string) ([]string, error) {
	found, err := c.clusterAPI(ctx, "clusters", c.Namespace, "", labels.Set{label: value}.String())
	names := make([]string, len(found))
	for i, object := range found {
		names[i] = object.Name
	}
	return names, err
}

// Runs reports whether there is a Deployment of this name.
func (c *Cluster) Runs(ctx context.Context, namespace, name string) (bool, error) {
	found, err := c.Metadata(ctx, appsv1.SchemeGroupVersion.WithResource("deployments"), namespace, name)
	return len(found) > 0, needs(err, "list", "deployments.apps", namespace)
}

// Label has package apply label an object that was read. Refused is why the API server does not take the labels, which
// another try does not change.
func (c *Cluster) Label(ctx context.Context, object *unstructured.Unstructured, labels map[string]string, dryRun bool) (after *unstructured.Unstructured, refused string, err error) {
	resource := Labelled[object.GetKind()]
	after, err = apply.Labels(ctx, c.objects.Resource(resource).Namespace(object.GetNamespace()), object, labels, dryRun)
	switch {
	case err == nil:
		return after, "", nil
	case apierrors.IsInvalid(err), apierrors.IsForbidden(err) && strings.Contains(err.Error(), "denied"), conflicts(err):
		return nil, refusal(err), nil
	case apierrors.IsForbidden(err):
		return nil, "", needs(err, "patch", resource.GroupResource().String(), object.GetNamespace())
	}
	return nil, "", fmt.Errorf("labelling %s %s in the namespace %s: %w", object.GetKind(), object.GetName(), object.GetNamespace(), err)
}

// conflicts reports whether a label is somebody else's. That the object has changed since is a conflict, too, but of another cause.
func conflicts(err error) bool {
	return apierrors.IsConflict(err) && apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// refusal has no value of the object, which may be a password: an error about a field quotes what stands there.
func refusal(err error) string {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return err.Error()
	}
	var fields []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Field != "" && cause.Type != metav1.CauseTypeFieldManagerConflict {
			fields = append(fields, fmt.Sprintf("%s (%s)", cause.Field, cause.Type))
		}
	}
	if len(fields) == 0 {
		return err.Error()
	}
	return "invalid: " + strings.Join(fields, ", ")
}
