// Package kube is the only way from the command line to a cluster. It lists
// ProxyReports and does nothing else.
package kube

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/internal/version"
)

// Options say which cluster.
type Options struct {
	Kubeconfig string // empty: as kubectl does, by KUBECONFIG or from the home directory
	Context    string // empty: the current one
	Namespace  string // empty: all
}

const pageSize = 500

// ProxyReports lists the reports of a cluster as they are.
func ProxyReports(ctx context.Context, opts Options) ([]unstructured.Unstructured, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = opts.Kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, &clientcmd.ConfigOverrides{CurrentContext: opts.Context}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("no way to reach a cluster: %w", err)
	}
	config.UserAgent = "fairlead/" + version.Version
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	reports := client.Resource(v1alpha1.GroupVersion.WithResource("proxyreports")).Namespace(opts.Namespace)
	var all []unstructured.Unstructured
	for page := (metav1.ListOptions{Limit: pageSize}); ; {
		list, err := reports.List(ctx, page)
		switch {
		case apierrors.IsNotFound(err):
			return nil, fmt.Errorf("%s has no ProxyReports: Fairlead is not installed there", config.Host)
		case err != nil:
			return nil, fmt.Errorf("listing ProxyReports: %w", err)
		}
		all = append(all, list.Items...)
		if page.Continue = list.GetContinue(); page.Continue == "" {
			return all, nil
		}
	}
}
