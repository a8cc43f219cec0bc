package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

var (
	configMaps = corev1.SchemeGroupVersion.WithResource("configmaps")
	proxies    = v1alpha1.GroupVersion.WithResource("corporateproxies")
	reports    = v1alpha1.GroupVersion.WithResource("proxyreports")
)

// CorporateProxies returns the CorporateProxy with this name, or all.
func (c *Cluster) CorporateProxies(ctx context.Context, name string) ([]unstructured.Unstructured, error) {
	all, err := c.list(ctx, proxies, "", name, "")
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("%s has no CorporateProxies: Fairlead is not installed there", c.Host)
	}
	return all, needs(err, "list", "corporateproxies.fairlead.io", "")
}

// Revisions lists the ConfigMaps of revisions, of all CorporateProxies.
func (c *Cluster) Revisions(ctx context.Context, namespace string) ([]corev1.ConfigMap, error) {
	all, err := c.configMaps(ctx, namespace, "", v1alpha1.RevisionLabel)
	return all, needs(err, "list", "configmaps", namespace)
}

// Control returns the ConfigMap in which people pause or reject a rollout; nil where there is none.
func (c *Cluster) Control(ctx context.Context, namespace, proxy string) (*corev1.ConfigMap, error) {
	all, err := c.configMaps(ctx, namespace, revision.ControlName(proxy), "")
	if err != nil || len(all) == 0 {
		return nil, needs(err, "list", "configmaps", namespace)
	}
	return &all[0], nil
}

func (c *Cluster) configMaps(ctx context.Context, namespace, name, label string) ([]corev1.ConfigMap, error) {
	objects, err := c.list(ctx, configMaps, namespace, name, label)
	if err != nil {
		return nil, err
	}
	all := make([]corev1.ConfigMap, len(objects))
	for i, object := range objects {
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &all[i]); err != nil {
			return nil, fmt.Errorf("ConfigMap %s: %w", object.GetName(), err)
		}
	}
	return all, nil
}

// Records lists the ProxyReports of all namespaces, without spec and status.
func (c *Cluster) Records(ctx context.Context) ([]metav1.PartialObjectMetadata, error) {
	all, err := c.Metadata(ctx, reports, "", "")
	return all, needs(err, "list", "proxyreports.fairlead.io", "")
}

// attempts is how often a write is tried again because somebody else was faster.
const attempts = 10

// Command has the control ConfigMap of a CorporateProxy say what change makes of it: keys to write, or to remove where they
// are nil; none: nothing is written. Beside Label, it is the only thing that the command line writes, and it writes it as its caller.
func (c *Cluster) Command(ctx context.Context, namespace, proxy string, dryRun bool, change func(*corev1.ConfigMap) (map[string]any, error)) error {
	name, resource := revision.ControlName(proxy), c.objects.Resource(configMaps).Namespace(namespace)
	for attempt := 1; ; attempt++ {
		was, err := c.Control(ctx, namespace, proxy)
		if err != nil {
			return err
		}
		data, err := change(was)
		if err != nil || len(data) == 0 {
			return err
		}
		verb, version := "create", ""
		if was != nil {
			verb, version = "patch", was.ResourceVersion
		}
		err = apply.People(ctx, resource, name, version, data, dryRun)
		gone := was != nil && apierrors.IsNotFound(err)
		if attempt < attempts && (gone || apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err)) {
			continue
		}
		if err != nil && !apierrors.IsForbidden(err) {
			err = fmt.Errorf("writing ConfigMap %s in the namespace %s: %w", name, namespace, err)
		}
		return needs(err, verb, "configmaps", namespace)
	}
}

// needs adds to an error of the API server which right is missing.
func needs(err error, verb, resource, namespace string) error {
	switch {
	case err == nil:
		return nil
	case apierrors.IsForbidden(err) && namespace == "":
		return fmt.Errorf("you need the right to %s %s in a ClusterRole: %w", verb, resource, err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("you need the right to %s %s in the namespace %s: %w", verb, resource, namespace, err)
	case verb == "list":
		return fmt.Errorf("listing %s: %w", resource, err)
	}
	return err
}
