package importing

import (
	"go.yaml.in/yaml/v3"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// openShift is the object of openshift/api config/v1 types_proxy.go.
var openShift = &Format{
	Name: "openshift", Title: "OpenShift's Proxy/cluster",
	objects: func(f *file) []*yaml.Node { return f.ofKind("config.openshift.io", "Proxy") },
	take: func(f *file, s *Settings, n *yaml.Node) error {
		s.Variables = upperCase // openshift/machine-config-operator templates/common/_base/files/proxy-env.yaml
		if err := f.mapping(s, get(n, "spec"), "spec.", []row{
			{"httpProxy", isHTTP, ""},
			{"httpsProxy", isHTTPS, ""},
			{"noProxy", isNoProxy, ""},
			{"trustedCA", isCA, "ca-bundle.crt"},
			{"readinessEndpoints", isUnsupported, "Fairlead's operator asks no URL; write them into spec.probes of the CorporateProxy for clusters to ask"},
		}); err != nil || get(n, "status") == nil {
			return err
		}
		return f.mapping(s, get(n, "status"), "status.", []row{
			{"httpProxy", isHTTPInUse, ""},
			{"httpsProxy", isHTTPSInUse, ""},
			{"noProxy", isEffective, "the whole list, for the comparison"},
		})
	},
	adds: openShiftAdds,
}

// openShiftAdds is read in openshift/cluster-network-operator pkg/util/proxyconfig/no_proxy.go (MergeUserSystemNoProxy): a
// sorted set with the networks of services, pods and machines, the internal address of the API, and what the platform needs.
// Of these, a Cluster does not say the network of machines, and nothing here says the platform: status.noProxy has them. "*"
// stands alone.
func openShiftAdds(s Settings, c resolve.Cluster) (before, after []Entry) {
	if len(s.NoProxy) == 1 && s.NoProxy[0].Text == "*" {
		return nil, nil
	}
	return added("OpenShift", []string{"127.0.0.1", "localhost", ".svc", ".cluster.local"}, c.ServiceCIDRs, c.PodCIDRs, []string{c.EndpointHost}), nil
}
