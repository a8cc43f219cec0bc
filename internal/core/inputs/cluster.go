// Package inputs turns Kubernetes objects into the plain values that package
// resolve decides on. The operator reads them from its caches, the command line
// from files; both go through here, so that they cannot disagree.
package inputs

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
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
		Infrastructure:    resolve.Kind{Group: c.Spec.InfrastructureRef.APIGroup, Kind: c.Spec.InfrastructureRef.Kind},
		ControlPlaneGroup: c.Spec.ControlPlaneRef.APIGroup,
		ControlPlaneKind:  c.Spec.ControlPlaneRef.Kind,
	}
}

// Override returns the wishes of a ProxyOverride; none if it is nil.
func Override(o *v1alpha1.ProxyOverride) resolve.Override {
	if o == nil {
		return resolve.Override{}
	}
	return resolve.Override{Direct: o.Spec.Mode == v1alpha1.ModeDirect, NoProxy: valuesOf(o.Spec.NoProxy), Exclude: o.Spec.Exclude}
}

func valuesOf(entries []v1alpha1.NoProxyEntry) []string {
	var values []string
	for _, entry := range entries {
		values = append(values, entry.Value)
	}
	return values
}
