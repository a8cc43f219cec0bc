package importing

import (
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

const (
	eksaGroup         = "anywhere.eks.amazonaws.com"
	eksaWithoutScheme = "http:// is put in front: EKS Anywhere takes it without"
)

// eksAnywhere is spec.proxyConfiguration of aws/eks-anywhere pkg/api/v1alpha1 cluster_types.go. Its Clusters become Clusters
// of Cluster API with the same name in the namespace eksa-system (pkg/constants).
var eksAnywhere = &Format{
	Name: "eks-anywhere", Title: "EKS Anywhere's Cluster",
	objects: func(f *file) []*yaml.Node { return f.ofKind(eksaGroup, "Cluster", "spec", "proxyConfiguration") },
	take: func(f *file, s *Settings, n *yaml.Node) error {
		s.Variables = upperCase // pkg/clusterapi/config/http-proxy.conf
		s.extra = map[string]string{"provider": strings.Join(f.providerEndpoints(), ",")}
		network := get(n, "spec", "clusterNetwork")
		s.Cluster = clusterOf("eksa-system", nameOf(n), texts(network, "pods", "cidrBlocks"), texts(network, "services", "cidrBlocks"), "",
			text(n, "spec", "controlPlaneConfiguration", "endpoint", "host"))
		return f.mapping(s, get(n, "spec", "proxyConfiguration"), "spec.proxyConfiguration.", []row{
			{"httpProxy", isHTTP, eksaWithoutScheme}, {"httpsProxy", isHTTPS, eksaWithoutScheme}, {"noProxy", isNoProxy, ""},
		})
	},
	adds: eksAnywhereAdds,
}

// providerEndpoints returns the hosts that the provider's configuration names: of vCenter, Prism Central, CloudStack, Tinkerbell.
func (f *file) providerEndpoints() []string {
	var hosts []string
	for kind, path := range map[string][]string{
		"VSphereDatacenterConfig": {"spec", "server"}, "NutanixDatacenterConfig": {"spec", "endpoint"}, "TinkerbellDatacenterConfig": {"spec", "tinkerbellIP"},
	} {
		for _, n := range f.ofKind(eksaGroup, kind) {
			f.read[n] = true
			hosts = append(hosts, text(n, path...))
		}
	}
	for _, n := range f.ofKind(eksaGroup, "CloudStackDatacenterConfig") {
		f.read[n] = true
		for _, zone := range items(get(n, "spec", "availabilityZones")) {
			if u, err := url.Parse(text(zone, "managementApiEndpoint")); err == nil {
				hosts = append(hosts, u.Hostname())
			}
		}
	}
	slices.Sort(hosts)
	return slices.DeleteFunc(hosts, func(h string) bool { return h == "" })
}

// eksAnywhereAdds is read in aws/eks-anywhere pkg/clusterapi/proxy.go (noProxyList, NoProxyDefaults), and in template.go of
// pkg/providers/vsphere, nutanix, cloudstack and tinkerbell, which add the host of the provider.
func eksAnywhereAdds(s Settings, c resolve.Cluster) (before, after []Entry) {
	return added("EKS Anywhere", c.PodCIDRs, c.ServiceCIDRs),
		added("EKS Anywhere", []string{"localhost", "127.0.0.1", ".svc"}, strings.Split(s.extra["provider"], ","), []string{c.EndpointHost})
}
