package importing

import (
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// caren is the variable clusterConfig of a Cluster, of nutanix-cloud-native/cluster-api-runtime-extensions-nutanix
// api/v1alpha1 (HTTPProxy).
var caren = &Format{
	Name: "caren", Title: "CAREN's variable clusterConfig",
	detect: func(f *file) bool { return len(f.withVariable("clusterConfig", "proxy")) > 0 },
	read: func(f *file) ([]Settings, error) {
		return f.each(f.withVariable("clusterConfig", "proxy"), func(s *Settings, o object) error {
			s.Variables = bothCases // pkg/handlers/generic/mutation/httpproxy/templates
			if err := f.ownCluster(s, o); err != nil {
				return err
			}
			f.sayOverrides(s, o, "clusterConfig", "proxy")
			return f.mapping(s, variable(o, "clusterConfig", "proxy"), "clusterConfig.proxy.", []row{
				{"http", isHTTP, ""}, {"https", isHTTPS, ""}, {"additionalNo", isNoProxy, ""},
			})
		})
	},
	Adds: carenAdds,
}

// variable returns what stands below the value of a variable of the topology.
func variable(o object, name string, path ...string) *yaml.Node {
	return valueOf(get(o.node, "spec", "topology", "variables"), name, path...)
}

func valueOf(variables *yaml.Node, name string, path ...string) *yaml.Node {
	for _, v := range items(variables) {
		if text(v, "name") == name {
			return get(v, append([]string{"value"}, path...)...)
		}
	}
	return nil
}

// items are those of a list.
func items(n *yaml.Node) []*yaml.Node {
	if n == nil || n.Kind != yaml.SequenceNode {
		return nil
	}
	var all []*yaml.Node
	for _, item := range n.Content {
		all = append(all, target(item))
	}
	return all
}

// sayOverrides is about the settings of some machines of the Cluster alone.
func (f *file) sayOverrides(s *Settings, o object, name string, path ...string) {
	topology := get(o.node, "spec", "topology")
	parts := slices.Concat(items(get(topology, "workers", "machineDeployments")), items(get(topology, "workers", "machinePools")))
	for _, part := range append(parts, get(topology, "controlPlane")) {
		if value := valueOf(get(part, "variables", "overrides"), name, path...); value != nil {
			s.say(f.at(value.Line, strings.Join(append([]string{name}, path...), ".")), NotSupported, "an override for some machines: all machines of a cluster have one proxy")
		}
	}
}

func (f *file) withVariable(name string, path ...string) []object {
	return slices.DeleteFunc(f.ofKind(clusterv1.GroupVersion.Group, "Cluster"), func(o object) bool { return variable(o, name, path...) == nil })
}

// ownCluster finds the Cluster itself.
func (f *file) ownCluster(s *Settings, o object) error {
	documents, err := document.Parse(f.name, f.data)
	if err != nil {
		return err
	}
	clusters, err := document.Clusters(documents, io.Discard)
	if err != nil {
		return err
	}
	for _, c := range clusters {
		if c.Name == o.name() && (c.Namespace == o.namespace() || o.namespace() == "") {
			c.APIVersion, c.Kind = clusterv1.GroupVersion.String(), "Cluster"
			s.Cluster = c
		}
	}
	return nil
}

// carenAdds is read in pkg/handlers/generic/mutation/httpproxy/inject.go (generateNoProxy). CAREN also adds the networks as
// ranges a-b, which hardly any client reads, and which are left out here.
func carenAdds(_ Settings, c resolve.Cluster) (before, after []Entry) {
	domain := c.ServiceDomain
	if domain == "" {
		domain = defaultDomain
	}
	var provider []string
	switch c.Infrastructure.Kind {
	case "AWSCluster", "AWSManagedCluster":
		provider = []string{"169.254.169.254", ".elb.amazonaws.com"}
	case "AzureCluster", "AzureManagedControlPlane":
		provider = []string{"169.254.169.254"}
	case "GCPCluster":
		provider = []string{"169.254.169.254", "metadata", "metadata.google.internal"}
	}
	return added("CAREN", []string{"localhost", "127.0.0.1"}, c.PodCIDRs, c.ServiceCIDRs,
		[]string{"kubernetes", "kubernetes.default", ".svc", ".svc." + domain, ".svc." + domain + "."}, provider), nil
}
