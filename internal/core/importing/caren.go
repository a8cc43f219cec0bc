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
			f.sayOthers(s, o, "clusterConfig", "proxy")
			return f.mapping(s, variable(o, "clusterConfig", "proxy"), "clusterConfig.proxy.", []row{
				{"http", isHTTP, ""}, {"https", isHTTPS, ""}, {"additionalNo", isNoProxy, ""},
			})
		})
	},
	Adds: carenAdds,
}

// variable returns what stands below the value of a variable of the topology.
func variable(o object, name string, path ...string) *yaml.Node {
	if all := values(get(o.node, "spec", "topology", "variables"), name, path...); len(all) > 0 {
		return all[0]
	}
	return nil
}

// values are those of all variables with a name: a file may have one twice.
func values(variables *yaml.Node, name string, path ...string) []*yaml.Node {
	var all []*yaml.Node
	for _, v := range items(variables) {
		if value := get(v, append([]string{"value"}, path...)...); value != nil && text(v, "name") == name {
			all = append(all, value)
		}
	}
	return all
}

// overrides are the values for some machines of the Cluster alone.
func overrides(o object, name string, path ...string) []*yaml.Node {
	topology := get(o.node, "spec", "topology")
	parts := slices.Concat(items(get(topology, "workers", "machineDeployments")), items(get(topology, "workers", "machinePools")))
	var all []*yaml.Node
	for _, part := range append(parts, get(topology, "controlPlane")) {
		all = append(all, values(get(part, "variables", "overrides"), name, path...)...)
	}
	return all
}

// hasOtherProxy reports whether a Cluster has a proxy for any format, or for some machines.
func (o object) hasOtherProxy() bool {
	has := func(name string, path ...string) bool {
		return variable(o, name, path...) != nil || len(overrides(o, name, path...)) > 0
	}
	return o.isOf(clusterv1.GroupVersion.Group, "Cluster") && (has("clusterConfig", "proxy") || has("proxy"))
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

// sayOthers is about the values of a variable that are not read.
func (f *file) sayOthers(s *Settings, o object, name string, path ...string) {
	field := strings.Join(append([]string{name}, path...), ".")
	for _, value := range values(get(o.node, "spec", "topology", "variables"), name, path...)[1:] {
		s.say(f.at(value.Line, field), NotRecognised, "another variable of this name, which was not read")
	}
	for _, value := range overrides(o, name, path...) {
		s.say(f.at(value.Line, field), NotSupported, "an override for some machines: all machines of a cluster have one proxy")
	}
}

func (f *file) withVariable(name string, path ...string) []object {
	return slices.DeleteFunc(f.ofKind(clusterv1.GroupVersion.Group, "Cluster"), func(o object) bool { return variable(o, name, path...) == nil })
}

// ownCluster finds the Cluster itself.
func (f *file) ownCluster(s *Settings, o object) error {
	if f.clusters == nil {
		documents, err := document.Parse(f.name, f.data)
		if err != nil {
			return err
		}
		if f.clusters, err = document.Clusters(documents, io.Discard); err != nil {
			return err
		}
	}
	for _, c := range f.clusters {
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
