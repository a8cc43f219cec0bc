package importing

import (
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
	detect: func(f *file) bool { return len(f.tkgDocuments())+len(f.tkgObjects()) > 0 },
	read: func(f *file) ([]Settings, error) {
		all, err := f.each(f.tkgDocuments(), f.readTKG)
		if err != nil {
			return nil, err
		}
		more, err := f.each(f.tkgObjects(), f.readTKGObject)
		return append(all, more...), err
	},
	Adds: tkgAdds,
}

var tkgRows = []row{
	{"TKG_HTTP_PROXY_ENABLED", isOff, ""},
	{"TKG_HTTP_PROXY", isHTTP, ""},
	{"TKG_HTTPS_PROXY", isHTTPS, ""},
	{"TKG_NO_PROXY", isNoProxy, ""},
	{"TKG_PROXY_CA_CERT", isPEM, ""},
	{"TKG_NODE_SYSTEM_WIDE_PROXY", isUnsupported, "add EtcEnvironment to spec.node.files of the CorporateProxy for /etc/environment"},
}

// tkgDocuments are configuration files.
func (f *file) tkgDocuments() []object {
	documents, _ := f.documents()
	var found []object
	for _, d := range documents {
		if text(d, "TKG_HTTP_PROXY") != "" || text(d, "TKG_HTTPS_PROXY") != "" {
			found = append(found, object{d})
		}
	}
	return found
}

func (f *file) readTKG(s *Settings, o object) error {
	s.Variables = upperCase // vmware-tanzu/tanzu-framework providers, ytt/02_addons and the drop-in of containerd
	about := &yaml.Node{Kind: yaml.MappingNode, Style: o.node.Style}
	for i := 0; i+1 < len(o.node.Content); i += 2 {
		if key := o.node.Content[i].Value; strings.HasPrefix(key, "TKG_") && strings.Contains(key, "PROXY") {
			about.Content = append(about.Content, o.node.Content[i:i+2]...)
		}
	}
	s.extra = map[string]string{}
	for _, key := range []string{"CLUSTER_CIDR", "SERVICE_CIDR", "PROVIDER_TYPE", "INFRASTRUCTURE_PROVIDER", "AWS_VPC_CIDR", "AZURE_VNET_CIDR", "TKG_IP_FAMILY"} {
		s.extra[key] = text(o.node, key)
	}
	if name := text(o.node, "CLUSTER_NAME"); name != "" {
		namespace := text(o.node, "NAMESPACE")
		if namespace == "" {
			namespace = "default"
		}
		s.Cluster = clusterOf(namespace, name, cidrs(s.extra["CLUSTER_CIDR"]), cidrs(s.extra["SERVICE_CIDR"]), "", text(o.node, "VSPHERE_CONTROL_PLANE_ENDPOINT"))
	}
	return f.mapping(s, about, "", tkgRows)
}

func cidrs(list string) []string { return textsOf(cut(list, Place{})) }

// tkgObjects are the objects with a proxy.
func (f *file) tkgObjects() []object {
	all := f.withVariable("proxy")
	for kind, path := range map[string][]string{"TanzuKubernetesCluster": {"spec", "settings", "network", "proxy"}, "TkgServiceConfiguration": {"spec", "proxy"}} {
		all = append(all, slices.DeleteFunc(f.ofKind(tkgGroup, kind), func(o object) bool { return get(o.node, path...) == nil })...)
	}
	slices.SortStableFunc(all, func(a, b object) int { return a.node.Line - b.node.Line })
	return all
}

func (f *file) readTKGObject(s *Settings, o object) error {
	s.Variables = upperCase
	rows := []row{
		{"httpProxy", isHTTP, ""},
		{"httpsProxy", isHTTPS, ""},
		{"noProxy", isNoProxy, ""},
		{"systemWide", isUnsupported, tkgRows[len(tkgRows)-1].says},
	}
	switch text(o.node, "kind") {
	case "TkgServiceConfiguration":
		return f.mapping(s, get(o.node, "spec", "proxy"), "spec.proxy.", rows)
	case "TanzuKubernetesCluster":
		network := get(o.node, "spec", "settings", "network")
		s.Cluster = clusterOf(o.namespace(), o.name(), texts(network, "pods", "cidrBlocks"), texts(network, "services", "cidrBlocks"), text(network, "serviceDomain"), "")
		return f.mapping(s, get(network, "proxy"), "spec.settings.network.proxy.", rows)
	}
	if err := f.ownCluster(s, o); err != nil {
		return err
	}
	f.sayOthers(s, o, "proxy")
	return f.mapping(s, variable(o, "proxy"), "proxy.", rows)
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
