package resolve

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/noproxy"
)

// clusterNetwork derives the entries that the Cluster itself implies.
func clusterNetwork(c Cluster) (noproxy.List, error) {
	var list noproxy.List
	add := func(entry noproxy.Entry, layer noproxy.Layer, field string) {
		list = append(list, noproxy.Item{Entry: entry, Sources: []noproxy.Source{{Layer: layer, Object: c.Object(), Field: field}}})
	}
	domain, err := serviceDomain(c)
	if err != nil {
		return nil, err
	}
	add(domain, noproxy.LayerServiceDomain, "spec.clusterNetwork.serviceDomain")

	services := c.ServiceCIDRs
	if len(services) == 0 && c.ControlPlaneKind == kubeadmControlPlane {
		services = []string{defaultServiceCIDR}
	}
	for _, blocks := range []struct {
		layer noproxy.Layer
		name  string
		cidrs []string
	}{
		{noproxy.LayerServiceCIDR, "services", services},
		{noproxy.LayerPodCIDR, "pods", c.PodCIDRs},
	} {
		for i, text := range blocks.cidrs {
			field := fmt.Sprintf("spec.clusterNetwork.%s.cidrBlocks[%d]", blocks.name, i)
			entry, err := noproxy.Parse(text)
			if err == nil && (entry.Kind != noproxy.CIDR && entry.Kind != noproxy.Addr || entry.Port != 0) {
				err = errors.New("a network such as 10.96.0.0/12 is expected here")
			}
			if err != nil {
				return nil, NewProblem(ReasonInvalidCluster, c.Object(), field, "%v", err)
			}
			add(entry, blocks.layer, field)
		}
	}

	const field = "spec.controlPlaneEndpoint.host"
	endpoint, err := noproxy.HostEntry(c.EndpointHost)
	if err != nil {
		return nil, NewProblem(ReasonInvalidCluster, c.Object(), field, "%v", err)
	}
	add(endpoint, noproxy.LayerEndpoint, field)
	return list, nil
}

// narrowNetwork refuses what opens more than a tenant can be trusted with: who may write a Cluster may not open more with it
// than with a ProxyOverride. What the installation lists, too, opens nothing.
func narrowNetwork(in Input, network noproxy.List) error {
	if in.Installation.Delegation.NoProxy == GrantAny {
		return nil
	}
	for _, item := range network {
		why := noproxy.TooBroad(item.Entry)
		if why == "" || len(in.Installation.NoProxy.Without(item.Entry)) < len(in.Installation.NoProxy) {
			continue
		}
		source := item.Sources[0]
		return NewProblem(ReasonInvalidCluster, source.Object, source.Field, "%s %s: only %s may list it, or delegate it with delegation.noProxy: Any",
			item.Entry, why, in.Installation.Object)
	}
	return nil
}

// serviceDomain accepts the domain with or without its final dot; it is never
// rooted in the list, since lookups inside the cluster are not.
func serviceDomain(c Cluster) (noproxy.Entry, error) {
	entry, err := noproxy.Parse(cmp.Or(c.ServiceDomain, defaultServiceDomain))
	if err == nil && (entry.Kind != noproxy.Domain || entry.Port != 0) {
		err = errors.New("a domain such as cluster.local is expected here")
	}
	if err != nil {
		return entry, NewProblem(ReasonInvalidCluster, c.Object(), "spec.clusterNetwork.serviceDomain", "%v", err)
	}
	entry.Rooted = false
	return entry, nil
}
