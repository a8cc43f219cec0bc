// Package cluster is the only way from the command line to a cluster. It lists,
// and has package apply write what people say of a rollout, and labels. It does nothing else.
package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/pager"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/version"
)

// Options say which cluster.
type Options struct {
	Kubeconfig    string // empty: as kubectl does, by KUBECONFIG or from the home directory
	Context       string // empty: the current one
	Namespace     string // empty: the context's
	AllNamespaces bool   // whatever Namespace is
	Timeout       string // of each request, as clientcmd reads it; empty: none
}

// Cluster lists objects of a cluster.
type Cluster struct {
	Host      string
	Namespace string // empty: all
	objects   dynamic.Interface
	metadata  metadata.Interface
}

// Connect finds the cluster, and asks it nothing yet.
func Connect(opts Options) (*Cluster, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = opts.Kubeconfig
	overrides := &clientcmd.ConfigOverrides{CurrentContext: opts.Context, Timeout: opts.Timeout}
	overrides.Context.Namespace = opts.Namespace
	loaded := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, overrides)
	config, err := loaded.ClientConfig()
	if err != nil {
		return nil, noWay(opts, rules, err)
	}
	c := &Cluster{Host: config.Host}
	if !opts.AllNamespaces {
		if c.Namespace, _, err = loaded.Namespace(); err != nil {
			return nil, err
		}
	}
	config.UserAgent = "fairlead/" + version.Version
	config.QPS, config.Burst = 50, 300 // as kubectl's: the pages of a large fleet do not wait for each other
	if c.objects, err = dynamic.NewForConfig(config); err != nil {
		return nil, err
	}
	c.metadata, err = metadata.NewForConfig(config)
	return c, err
}

// noWay says where a kubeconfig was looked for: clientcmd says of none only that it is empty.
func noWay(opts Options, rules *clientcmd.ClientConfigLoadingRules, err error) error {
	if !clientcmd.IsEmptyConfig(err) {
		return fmt.Errorf("no way to reach a cluster: %w", err)
	}
	looked := strings.Join(rules.GetLoadingPrecedence(), ", ")
	if os.Getenv(clientcmd.RecommendedConfigPathEnvVar) == "" && opts.Kubeconfig == "" {
		looked = "there is no " + looked + ", KUBECONFIG is not set, and this is no pod"
	} else {
		looked = "no cluster is in " + looked
	}
	return fmt.Errorf("no way to reach a cluster: %s; give --kubeconfig, or set KUBECONFIG", looked)
}

// Check returns an error if an option is wrong, before any request is sent.
func (o Options) Check() error {
	if _, err := clientcmd.ParseTimeout(o.Timeout); err != nil {
		return errors.New("--request-timeout is a time such as 1s, 2m or 3h, or 0")
	}
	return nil
}

// Contexts returns the contexts of the kubeconfig file, sorted; none if it cannot be read. Empty: as kubectl finds it.
func Contexts(kubeconfig string) []string {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := rules.Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// Objects lists whole objects, in one namespace or all. Those of Secrets cannot be had.
func (c *Cluster) Objects(ctx context.Context, resource schema.GroupVersionResource, namespace string) ([]unstructured.Unstructured, error) {
	if resource.Resource == "secrets" {
		return nil, fmt.Errorf("not the content of %s", resource.Resource)
	}
	return c.list(ctx, resource, namespace, "", "")
}

// list lists whole objects, of one name or all, with labels or any.
func (c *Cluster) list(ctx context.Context, resource schema.GroupVersionResource, namespace, name, labels string) ([]unstructured.Unstructured, error) {
	return pages[unstructured.Unstructured](ctx, name, labels, c.objects.Resource(resource).Namespace(namespace).List)
}

// Metadata lists the metadata of objects, in one namespace or all, and with one name or all. The API server sends no
// more.
func (c *Cluster) Metadata(ctx context.Context, resource schema.GroupVersionResource, namespace, name string) ([]metav1.PartialObjectMetadata, error) {
	return c.listMetadata(ctx, resource, namespace, name, "")
}

func (c *Cluster) listMetadata(ctx context.Context, resource schema.GroupVersionResource, namespace, name, labels string) ([]metav1.PartialObjectMetadata, error) {
	return pages[metav1.PartialObjectMetadata](ctx, name, labels, c.metadata.Resource(resource).Namespace(namespace).List)
}

// pages lists page after page, of one name or all, with labels or any. Where the list is older than the API server
// remembers, it begins again without pages.
func pages[T any, L runtime.Object](ctx context.Context, name, labels string, list func(context.Context, metav1.ListOptions) (L, error)) (all []T, err error) {
	options := metav1.ListOptions{LabelSelector: labels}
	if name != "" {
		options.FieldSelector = fields.OneTermEqualSelector("metadata.name", name).String()
	}
	found, _, err := pager.New(func(ctx context.Context, page metav1.ListOptions) (runtime.Object, error) {
		return list(ctx, page)
	}).List(ctx, options)
	if err != nil {
		return nil, err
	}
	err = meta.EachListItem(found, func(object runtime.Object) error {
		if one, ok := any(object).(*T); ok {
			all = append(all, *one)
		}
		return nil
	})
	return all, err
}

// ProxyReports lists the reports of a cluster as they are.
func (c *Cluster) ProxyReports(ctx context.Context) ([]unstructured.Unstructured, error) {
	all, err := c.Objects(ctx, v1alpha1.GroupVersion.WithResource("proxyreports"), c.Namespace)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("%s has no ProxyReports: Fairlead is not installed there", c.Host)
	case err != nil:
		return nil, fmt.Errorf("listing ProxyReports: %w", err)
	}
	return all, nil
}
