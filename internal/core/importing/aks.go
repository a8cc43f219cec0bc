package importing

import (
	"go.yaml.in/yaml/v3"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// aks is httpProxyConfig of Azure's containerservice ManagedClusters: the file for az aks create --http-proxy-config, the
// output of az aks show, and a resource of ARM.
var aks = &Format{
	Name: "aks", Title: "AKS's httpProxyConfig",
	objects: (*file).aksConfigs,
	take: func(f *file, s *Settings, n *yaml.Node) error {
		s.Variables = bothCases // the variables of a pod on a node: Azure/AKS issue 3174
		return f.mapping(s, n, "httpProxyConfig.", []row{
			{"httpProxy", isHTTP, ""},
			{"httpsProxy", isHTTPS, ""},
			{"noProxy", isNoProxy, ""},
			{"trustedCa", isPEM, ""},
			{"effectiveNoProxy", isEffective, "the whole list, for the comparison"},
			{"enabled", isOff, ""},
		})
	},
	adds: aksAdds,
}

func (f *file) aksConfigs() []*yaml.Node {
	documents, _ := f.documents()
	var found []*yaml.Node
	for _, d := range documents {
		for _, path := range [][]string{{"httpProxyConfig"}, {"properties", "httpProxyConfig"}, {}} {
			n := get(d, path...)
			if n != nil && n.Kind == yaml.MappingNode && text(d, "kind") == "" && (text(n, "httpProxy") != "" || text(n, "httpsProxy") != "") {
				found = append(found, n)
				break
			}
		}
	}
	return found
}

// aksAdds returns what a node has beside the entries of the user (learn.microsoft.com azure/aks/http-proxy says only that there
// are such). The address of the API and the network of nodes are missing where nobody knows them; effectiveNoProxy of az aks
// show has all.
func aksAdds(_ Settings, c resolve.Cluster) (before, after []Entry) {
	return nil, added("AKS", []string{"127.0.0.1", "localhost", "169.254.169.254", "168.63.129.16", "konnectivity"}, c.ServiceCIDRs, c.PodCIDRs, []string{c.EndpointHost})
}
