package importing

import (
	"go.yaml.in/yaml/v3"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// clusterAppsOperator is the installation's values of giantswarm/cluster-apps-operator.
var clusterAppsOperator = &Format{
	Name: "cluster-apps-operator", Title: "cluster-apps-operator's values",
	detect: func(f *file) bool {
		return len(f.values(func(d *yaml.Node) bool { return isProxy(get(d, "proxy")) && get(d, "proxy", "enabled") == nil })) > 0
	},
	objects: func(f *file) []*yaml.Node {
		return f.values(func(d *yaml.Node) bool { return isProxy(get(d, "proxy")) })
	},
	take: func(f *file, s *Settings, n *yaml.Node) error {
		s.Variables = bothCases // service/controller/resource/clustersecret
		return f.mapping(s, get(n, "proxy"), "proxy.", valuesRows)
	},
	adds: clusterAppsOperatorAdds, bare: true,
}

var valuesRows = []row{{"http", isHTTP, ""}, {"https", isHTTPS, ""}, {"noProxy", isNoProxy, ""}}

// values are documents of Helm values.
func (f *file) values(are func(*yaml.Node) bool) []*yaml.Node {
	return f.where(func(d *yaml.Node) bool { return text(d, "kind") == "" && are(d) })
}

func isProxy(n *yaml.Node) bool { return text(n, "http") != "" || text(n, "https") != "" }

// clusterAppsOperatorAdds is read in service/controller/resource/clustersecret/desired.go (noProxy). Its drop-in of machines
// lacks all of this.
func clusterAppsOperatorAdds(_ Settings, c resolve.Cluster) (before, after []Entry) {
	return added("cluster-apps-operator", []string{c.ServiceDomain}, c.ServiceCIDRs, c.PodCIDRs, []string{c.EndpointHost}),
		added("cluster-apps-operator", []string{"svc", "127.0.0.1", "localhost"})
}

// kyvernoPolicies reads the values of giantswarm/kyverno-policies-connectivity. Settings below proxy win over those
// below cluster.proxy.
var kyvernoPolicies = &Format{
	Name: "kyverno-policies-connectivity", Title: "kyverno-policies-connectivity's values",
	detect: func(f *file) bool { return len(f.values(isKyverno)) > 0 },
	objects: func(f *file) []*yaml.Node {
		return f.values(func(d *yaml.Node) bool { return isProxy(get(d, "proxy")) || isProxy(get(d, "cluster", "proxy")) })
	},
	take: func(f *file, s *Settings, n *yaml.Node) error {
		s.Variables = bothCases // helm/kyverno-policies-connectivity/templates/inject-proxy-env.yaml
		own := get(n, "proxy")
		if own != nil {
			if err := f.mapping(s, own, "proxy.", append([]row{
				{"enabled", isOff, ""},
				{"namespaces", isUnsupported, "Fairlead injects into all namespaces but those of exclude.namespaces of fairlead-policies"},
			}, valuesRows...)); err != nil {
				return err
			}
		}
		if base := get(n, "cluster", "proxy"); base != nil {
			if err := f.mapping(s, f.without(s, base, own), "cluster.proxy.", valuesRows); err != nil {
				return err
			}
		}
		if names := get(n, "exclude", "names"); names != nil {
			s.say(f.at(names.Line, "exclude.names"), NotSupported, "Fairlead excludes pods by label, annotation and namespace: exclude of fairlead-policies")
		}
		return nil
	},
	adds: kyvernoPoliciesAdds,
}

func isKyverno(d *yaml.Node) bool {
	return isProxy(get(d, "cluster", "proxy")) || isProxy(get(d, "proxy")) && get(d, "proxy", "enabled") != nil
}

// without is cluster.proxy less the keys that proxy has.
func (f *file) without(s *Settings, n, other *yaml.Node) *yaml.Node {
	left := &yaml.Node{Kind: n.Kind, Style: n.Style, Line: n.Line}
	for key, value := range pairs(n) {
		if get(other, key.Value) != nil {
			s.say(f.at(key.Line, "cluster.proxy."+key.Value), Understood, "proxy."+key.Value+" goes before it: left out")
			continue
		}
		left.Content = append(left.Content, key, value)
	}
	return left
}

// kyvernoPoliciesAdds is read in the same template: fullNoProxy, whose networks are those of kubeadm-config. Without entries of
// the user there is no list at all.
func kyvernoPoliciesAdds(s Settings, c resolve.Cluster) (before, after []Entry) {
	if len(s.NoProxy) == 0 {
		return nil, nil
	}
	domain := domainOf(c)
	return nil, added("kyverno-policies-connectivity", []string{"svc", "127.0.0.1", "localhost", c.EndpointHost, domain, domain + "."}, c.PodCIDRs, c.ServiceCIDRs)
}
