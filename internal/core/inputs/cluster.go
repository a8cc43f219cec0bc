// Package inputs turns Kubernetes objects into the plain values that package
// resolve decides on. The operator reads them from its caches, the command line
// from files; both go through here, so that they cannot disagree.
package inputs

import (
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Cluster returns what a Cluster API Cluster says about its network.
func Cluster(c *clusterv1.Cluster) resolve.Cluster {
	return resolve.Cluster{
		Namespace:         c.Namespace,
		Name:              c.Name,
		ServiceDomain:     c.Spec.ClusterNetwork.ServiceDomain,
		ServiceCIDRs:      c.Spec.ClusterNetwork.Services.CIDRBlocks,
		PodCIDRs:          c.Spec.ClusterNetwork.Pods.CIDRBlocks,
		EndpointHost:      c.Spec.ControlPlaneEndpoint.Host,
		EndpointPort:      c.Spec.ControlPlaneEndpoint.Port,
		Labels:            c.Labels,
		Infrastructure:    resolve.Kind{Group: c.Spec.InfrastructureRef.APIGroup, Kind: c.Spec.InfrastructureRef.Kind},
		ControlPlaneGroup: c.Spec.ControlPlaneRef.APIGroup,
		ControlPlaneKind:  c.Spec.ControlPlaneRef.Kind,
	}
}

// Override returns the wishes of a ProxyOverride as it is in effect; none if it is nil.
func Override(o *v1alpha1.ProxyOverride) resolve.Override {
	if o == nil {
		return resolve.Override{}
	}
	return resolve.Override{
		Direct: o.Spec.Mode == v1alpha1.ModeDirect, Exclude: o.Spec.Exclude,
		NoProxy: elements(o.Spec.NoProxy, noproxy.Source{Layer: noproxy.LayerCluster}),
	}
}

// elements returns the elements of spec.noProxy. What has ended is left out, and its position counts nevertheless.
func elements(entries []v1alpha1.NoProxyEntry, source noproxy.Source) (all []noproxy.Element) {
	for i, entry := range entries {
		if !hasEnded(entry) {
			source.Field = fmt.Sprintf("spec.noProxy[%d].value", i)
			all = append(all, noproxy.Element{Text: entry.Value, Source: source})
		}
	}
	return all
}

// Has returns what a cluster has, as its report says, and wants, by its ProxyOverride as it is in effect. Either may be nil.
func Has(report *v1alpha1.ProxyReport, override *v1alpha1.ProxyOverride) resolve.Has {
	has := resolve.Has{Direct: Override(override).Direct}
	if report != nil {
		has.Proxy = report.Status.ProxyName
	}
	return has
}

// Choose returns the installation of the CorporateProxy that a new cluster gets. The error is a *resolve.Problem, or
// comes from get.
func Choose(proxies []v1alpha1.CorporateProxy, cluster *clusterv1.Cluster, namespace map[string]string, get DataGetter) (resolve.Installation, error) {
	proxy, err := ChooseProxy(proxies, cluster, namespace, resolve.Has{})
	if err != nil {
		return resolve.Installation{}, err
	}
	return Installation(proxy, get)
}

// ChooseProxy returns the CorporateProxy of a cluster: the one which selects it, allows the labels of its namespace and
// has the highest priority; see resolve.Choose. The error is a *resolve.Problem.
func ChooseProxy(proxies []v1alpha1.CorporateProxy, cluster *clusterv1.Cluster, namespace map[string]string, has resolve.Has) (*v1alpha1.CorporateProxy, error) {
	name, err := resolve.Choose(Cluster(cluster), has, candidates(proxies, cluster.Labels, namespace))
	if err != nil {
		return nil, err
	}
	chosen := slices.IndexFunc(proxies, func(p v1alpha1.CorporateProxy) bool { return p.Name == name })
	return &proxies[chosen], nil
}

// Selects reports whether the clusterSelector of a CorporateProxy matches the labels of a Cluster. One that cannot be
// evaluated does, since it decides about every cluster that has no other.
func Selects(proxy *v1alpha1.CorporateProxy, cluster map[string]string) bool {
	selected, _, err := selectors(proxy)
	return err != nil || selected.Matches(labels.Set(cluster))
}

func candidates(proxies []v1alpha1.CorporateProxy, cluster, namespace map[string]string) []resolve.Candidate {
	all := make([]resolve.Candidate, len(proxies))
	for i := range proxies {
		selected, allowed, err := selectors(&proxies[i])
		all[i] = resolve.Candidate{Name: proxies[i].Name, Priority: proxies[i].Spec.Priority, Replaces: proxies[i].Spec.Replaces, Broken: err}
		if err == nil {
			all[i].Selected, all[i].Allowed = selected.Matches(labels.Set(cluster)), allowed.Matches(labels.Set(namespace))
			all[i].All = selected.Empty()
		}
	}
	return all
}

// selectors compiles both selectors of a proxy. The error is a *resolve.Problem.
func selectors(proxy *v1alpha1.CorporateProxy) (clusters, namespaces labels.Selector, err error) {
	if clusters, err = selector(proxy, "spec.clusterSelector", proxy.Spec.ClusterSelector); err != nil {
		return nil, nil, err
	}
	namespaces, err = selector(proxy, "spec.allowedNamespaces", proxy.Spec.AllowedNamespaces)
	return clusters, namespaces, err
}

// selector compiles a label selector. Without one it selects everything, which is the default in the CRD.
func selector(proxy *v1alpha1.CorporateProxy, field string, written *metav1.LabelSelector) (labels.Selector, error) {
	if written == nil {
		return labels.Everything(), nil
	}
	compiled, err := metav1.LabelSelectorAsSelector(written)
	if err != nil {
		return nil, invalid(object(proxy), field, "%v", err)
	}
	return compiled, nil
}
