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
	objects: func(f *file) []*yaml.Node { return f.withVariable("clusterConfig", "proxy") },
	take: func(f *file, s *Settings, n *yaml.Node) error {
		s.Variables = bothCases // pkg/handlers/generic/mutation/httpproxy/templates
		return f.variable(s, n, []row{{"http", isHTTP, ""}, {"https", isHTTPS, ""}, {"additionalNo", isNoProxy, ""}}, "clusterConfig", "proxy")
	},
	adds: carenAdds,
}

// variable reads what stands below the value of a variable of a Cluster's topology, and says which other values it has.
func (f *file) variable(s *Settings, cluster *yaml.Node, rows []row, name string, path ...string) error {
	if err := f.ownCluster(s, cluster); err != nil {
		return err
	}
	field := strings.Join(append([]string{name}, path...), ".")
	all := variables(cluster, name, path...)
	for _, value := range all[1:] {
		s.say(f.at(value.Line, field), NotRecognised, "another variable of this name, which was not read")
	}
	for _, value := range overrides(cluster, name, path...) {
		s.say(f.at(value.Line, field), NotSupported, "an override for some machines: all machines of a cluster have one proxy")
	}
	return f.mapping(s, all[0], field+".", rows)
}

// variables returns the values of a variable of a Cluster's topology.
func variables(cluster *yaml.Node, name string, path ...string) []*yaml.Node {
	return values(get(cluster, "spec", "topology", "variables"), name, path...)
}

// values returns the values of all variables with a name: a file may have one twice.
func values(variables *yaml.Node, name string, path ...string) []*yaml.Node {
	var all []*yaml.Node
	for _, v := range items(variables) {
		if value := get(v, append([]string{"value"}, path...)...); value != nil && text(v, "name") == name {
			all = append(all, value)
		}
	}
	return all
}

// overrides returns the values for some machines of the Cluster alone.
func overrides(cluster *yaml.Node, name string, path ...string) []*yaml.Node {
	topology := get(cluster, "spec", "topology")
	parts := slices.Concat(items(get(topology, "workers", "machineDeployments")), items(get(topology, "workers", "machinePools")))
	var all []*yaml.Node
	for _, part := range append(parts, get(topology, "controlPlane")) {
		all = append(all, values(get(part, "variables", "overrides"), name, path...)...)
	}
	return all
}

// hasOtherProxy reports whether a Cluster has a proxy for any format, or for some machines.
func hasOtherProxy(n *yaml.Node) bool {
	has := func(name string, path ...string) bool {
		return len(variables(n, name, path...))+len(overrides(n, name, path...)) > 0
	}
	return isOf(n, clusterv1.GroupVersion.Group, "Cluster") && (has("clusterConfig", "proxy") || has("proxy"))
}

func (f *file) withVariable(name string, path ...string) []*yaml.Node {
	return slices.DeleteFunc(f.ofKind(clusterv1.GroupVersion.Group, "Cluster"), func(n *yaml.Node) bool { return len(variables(n, name, path...)) == 0 })
}

// ownCluster finds the Cluster itself.
func (f *file) ownCluster(s *Settings, n *yaml.Node) error {
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
		if c.Name == nameOf(n) && (c.Namespace == namespaceOf(n) || namespaceOf(n) == "") {
			c.APIVersion, c.Kind = clusterv1.GroupVersion.String(), "Cluster"
			s.Cluster = c
		}
	}
	return nil
}

// carenAdds is read in pkg/handlers/generic/mutation/httpproxy/inject.go (generateNoProxy). CAREN also adds the networks as
// ranges a-b, which hardly any client reads, and which are left out here.
func carenAdds(_ Settings, c resolve.Cluster) (before, after []Entry) {
	domain := domainOf(c)
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
