package cluster

import (
	"context"
	"fmt"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

var (
	leases  = coordinationv1.SchemeGroupVersion.WithResource("leases")
	secrets = corev1.SchemeGroupVersion.WithResource("secrets")
)

// Lease reads the Lease of this name; nil if there is none.
func (c *Cluster) Lease(ctx context.Context, namespace, name string) (*coordinationv1.Lease, error) {
	object, err := c.one(ctx, leases, namespace, name)
	if err != nil || object == nil {
		return nil, needs(err, "list", "leases.coordination.k8s.io", namespace)
	}
	lease := &coordinationv1.Lease{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, lease); err != nil {
		return nil, fmt.Errorf("Lease %s: %w", name, err)
	}
	return lease, nil
}

// ProxyReport reads the ProxyReport of this name; nil if there is none.
func (c *Cluster) ProxyReport(ctx context.Context, namespace, name string) (*unstructured.Unstructured, error) {
	object, err := c.one(ctx, reports, namespace, name)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s has no ProxyReports: Fairlead is not installed there", c.Host)
	}
	return object, needs(err, "list", "proxyreports.fairlead.io", namespace)
}

// one returns the object of a name; nil where there is none.
func (c *Cluster) one(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	found, err := c.list(ctx, resource, namespace, name, "")
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return &found[0], nil
}

// Secrets returns the metadata of the Secrets with these names, as far as they exist. Their data is not
// asked for.
func (c *Cluster) Secrets(ctx context.Context, namespace string, names ...string) (all []metav1.ObjectMeta, err error) {
	for _, name := range names {
		found, err := c.Metadata(ctx, secrets, namespace, name)
		if err != nil {
			return nil, needs(err, "list", "secrets", namespace)
		}
		for _, s := range found {
			all = append(all, s.ObjectMeta)
		}
	}
	return all, nil
}

// Clusters returns the metadata of the Clusters of a name, or all; in one namespace or all.
func (c *Cluster) Clusters(ctx context.Context, namespace, name string) ([]metav1.ObjectMeta, error) {
	return c.clusterAPI(ctx, "clusters", namespace, name, "")
}

// Machines returns the metadata of a Cluster's Machines.
func (c *Cluster) Machines(ctx context.Context, namespace, cluster string) ([]metav1.ObjectMeta, error) {
	return c.clusterAPI(ctx, "machines", namespace, "", labels.Set{clusterv1.ClusterNameLabel: cluster}.String())
}

// clusterAPI lists the metadata of objects of Cluster API, in the version that is there.
func (c *Cluster) clusterAPI(ctx context.Context, resource, namespace, name, selector string) ([]metav1.ObjectMeta, error) {
	var found []metav1.PartialObjectMetadata
	var err error
	for _, version := range []string{"v1beta2", "v1beta1"} {
		found, err = c.listMetadata(ctx, schema.GroupVersionResource{Group: clusterv1.GroupVersion.Group, Version: version, Resource: resource}, namespace, name, selector)
		if !apierrors.IsNotFound(err) {
			break
		}
	}
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s has no %s: Cluster API is not installed there", c.Host, strings.ToUpper(resource[:1])+resource[1:])
	}
	var all []metav1.ObjectMeta
	for _, object := range found {
		all = append(all, object.ObjectMeta)
	}
	return all, needs(err, "list", resource+"."+clusterv1.GroupVersion.Group, namespace)
}

// MissingRight returns the missing right, if an error of this package is about one.
func MissingRight(err error) (string, bool) {
	if !apierrors.IsForbidden(err) {
		return "", false
	}
	right, _, _ := strings.Cut(err.Error(), ": ")
	return right, true
}
