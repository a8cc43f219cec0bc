package importing

import (
	"cmp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

const tkgGroup = "run.tanzu.vmware.com"

// tkg is Tanzu Kubernetes Grid: the configuration file with TKG_HTTP_PROXY, the variable proxy of a Cluster, and the objects
// TanzuKubernetesCluster and TkgServiceConfiguration.
var tkg = &Format{
	Name: "tkg", Title: "Tanzu Kubernetes Grid",
	objects: func(f *file) []*yaml.Node { return append(f.where(isTKGConfiguration), f.tkgObjects()...) },
	take: func(f *file, s *Settings, n *yaml.Node) error {
		s.Variables = upperCase // vmware-tanzu/tanzu-framework providers, ytt/02_addons and the drop-in of containerd
		if isTKGConfiguration(n) {
			return f.readTKG(s, n)
		}
		return f.readTKGObject(s, n)
	},
	adds: tkgAdds,
}

var tkgRows = []row{
	{"TKG_HTTP_PROXY_ENABLED", isOff, ""},
	{"TKG_HTTP_PROXY", isHTTP, ""},
	{"TKG_HTTPS_PROXY", isHTTPS, ""},
	{"TKG_NO_PROXY", isNoProxy, ""},
	{"TKG_PROXY_CA_CERT", isPEM, ""},
	{"TKG_NODE_SYSTEM_WIDE_PROXY", isUnsupported, "add EtcEnvironment to spec.node.files of the CorporateProxy for /etc/environment"},
}

func isTKGConfiguration(d *yaml.Node) bool {
	return text(d, "TKG_HTTP_PROXY") != "" || text(d, "TKG_HTTPS_PROXY") != ""
}

func (f *file) readTKG(s *Settings, n *yaml.Node) error {
	about := &yaml.Node{Kind: yaml.MappingNode, Style: n.Style}
	for key, value := range pairs(n) {
		if strings.HasPrefix(key.Value, "TKG_") && strings.Contains(key.Value, "PROXY") {
			about.Content = append(about.Content, key, value)
		}
	}
	s.extra = map[string]string{}
	for _, key := range []string{"CLUSTER_CIDR", "SERVICE_CIDR", "PROVIDER_TYPE", "INFRASTRUCTURE_PROVIDER", "AWS_VPC_CIDR", "AZURE_VNET_CIDR", "TKG_IP_FAMILY"} {
		s.extra[key] = text(n, key)
	}
	if name := text(n, "CLUSTER_NAME"); name != "" {
		s.Cluster = clusterOf(cmp.Or(text(n, "NAMESPACE"), "default"), name, cidrs(s.extra["CLUSTER_CIDR"]), cidrs(s.extra["SERVICE_CIDR"]), "",
			text(n, "VSPHERE_CONTROL_PLANE_ENDPOINT"))
	}
	return f.mapping(s, about, "", tkgRows)
}

func cidrs(list string) []string { return textsOf(cut(list, Place{})) }

// tkgObjects returns the objects with a proxy.
func (f *file) tkgObjects() []*yaml.Node {
	all := slices.Concat(
		f.withVariable("proxy"),
		f.ofKind(tkgGroup, "TanzuKubernetesCluster", "spec", "settings", "network", "proxy"),
		f.ofKind(tkgGroup, "TkgServiceConfiguration", "spec", "proxy"),
	)
	slices.SortStableFunc(all, func(a, b *yaml.Node) int { return a.Line - b.Line })
	return all
}

func (f *file) readTKGObject(s *Settings, n *yaml.Node) error {
	rows := []row{
		{"httpProxy", isHTTP, ""},
		{"httpsProxy", isHTTPS, ""},
		{"noProxy", isNoProxy, ""},
		{"systemWide", isUnsupported, tkgRows[len(tkgRows)-1].says},
	}
	switch text(n, "kind") {
	case "TkgServiceConfiguration":
		return f.mapping(s, get(n, "spec", "proxy"), "spec.proxy.", rows)
	case "TanzuKubernetesCluster":
		network := get(n, "spec", "settings", "network")
		s.Cluster = clusterOf(namespaceOf(n), nameOf(n), texts(network, "pods", "cidrBlocks"), texts(network, "services", "cidrBlocks"), text(network, "serviceDomain"), "")
		return f.mapping(s, get(network, "proxy"), "spec.settings.network.proxy.", rows)
	}
	return f.variable(s, n, rows, "proxy")
}

// tkgAdds is read in vmware-tanzu/tanzu-framework (get_no_proxy in lib/helpers.star of the providers).
func tkgAdds(s Settings, c resolve.Cluster) (before, after []Entry) {
	var provider, loopback []string
	switch s.extra["PROVIDER_TYPE"] + s.extra["INFRASTRUCTURE_PROVIDER"] {
	case "aws":
		provider = []string{s.extra["AWS_VPC_CIDR"], "169.254.0.0/16"}
	case "azure":
		provider = []string{s.extra["AZURE_VNET_CIDR"], "169.254.0.0/16", "168.63.129.16"}
	}
	if strings.Contains(s.extra["TKG_IP_FAMILY"], "ipv6") {
		loopback = []string{"::1"}
	}
	return nil, added("TKG", provider, c.ServiceCIDRs, c.PodCIDRs, []string{"localhost", "127.0.0.1"}, loopback, []string{".svc", ".svc.cluster.local"})
}
