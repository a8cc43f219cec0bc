package importing

import (
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// openShift is the object of openshift/api config/v1 types_proxy.go.
var openShift = &Format{
	Name: "openshift", Title: "OpenShift's Proxy/cluster",
	detect: func(f *file) bool { return len(f.ofKind("config.openshift.io", "Proxy")) > 0 },
	read: func(f *file) ([]Settings, error) {
		return f.each(f.ofKind("config.openshift.io", "Proxy"), func(s *Settings, d object) error {
			s.Variables = upperCase // openshift/machine-config-operator templates/common/_base/files/proxy-env.yaml
			if err := f.mapping(s, get(d.node, "spec"), "spec.", []row{
				{"httpProxy", isHTTP, ""},
				{"httpsProxy", isHTTPS, ""},
				{"noProxy", isNoProxy, ""},
				{"trustedCA", isCA, "ca-bundle.crt"},
				{"readinessEndpoints", isUnsupported, "Fairlead's operator asks no URL; write them into spec.probes of the CorporateProxy for clusters to ask"},
			}); err != nil || get(d.node, "status") == nil {
				return err
			}
			return f.mapping(s, get(d.node, "status"), "status.", []row{
				{"httpProxy", isHTTPInUse, ""},
				{"httpsProxy", isHTTPSInUse, ""},
				{"noProxy", isEffective, "the whole list, for the comparison"},
			})
		})
	},
	Adds: openShiftAdds,
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
