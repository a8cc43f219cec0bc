package importing

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// object is a Kubernetes object of a file.
type object struct{ node *yaml.Node }

func (o object) name() string      { return text(o.node, "metadata", "name") }
func (o object) namespace() string { return text(o.node, "metadata", "namespace") }

// ofKind returns the objects of a kind, in any version of its group.
func (f *file) ofKind(group, kind string) []object {
	documents, _ := f.documents()
	var found []object
	for _, d := range documents {
		if of, _, _ := strings.Cut(text(d, "apiVersion"), "/"); of == group && text(d, "kind") == kind {
			found = append(found, object{d})
		}
	}
	return found
}

// each reads objects.
func (f *file) each(objects []object, read func(*Settings, object) error) ([]Settings, error) {
	if _, err := f.documents(); err != nil {
		return nil, err
	}
	var all []Settings
	for _, o := range objects {
		f.read = append(f.read, o.node)
		s := Settings{Place: f.at(o.node.Line, "")}
		if err := read(&s, o); err != nil {
			return nil, err
		}
		all = append(all, s)
	}
	return all, nil
}

// sayUnread says which documents nothing was read from: they may have settings, too.
func (f *file) sayUnread(s *Settings) {
	if len(f.read) == 0 { // no YAML
		return
	}
	kind := func(n *yaml.Node) string { return text(n, "apiVersion") + text(n, "kind") }
	documents, _ := f.documents()
	for _, d := range documents {
		if slices.ContainsFunc(f.read, func(n *yaml.Node) bool { return has(d, n) }) {
			continue
		}
		at := f.at(d.Line, strings.TrimSpace(text(d, "kind")+" "+object{d}.name()))
		if slices.ContainsFunc(f.read, func(n *yaml.Node) bool { return kind(n) != "" && kind(n) == kind(d) }) {
			s.say(at, NotSupported, "has no proxy there: set spec.clusterSelector of the CorporateProxy, or mode: Direct in a ProxyOverride")
			continue
		}
		s.say(at, NotRecognised, "another document, which was not read")
	}
}

// has reports whether a node is another one, or stands in it.
func has(in, n *yaml.Node) bool {
	return in == n || slices.ContainsFunc(in.Content, func(part *yaml.Node) bool { return has(part, n) })
}

// clusterOf is a Cluster with what another kind says of its networks.
func clusterOf(namespace, name string, pods, services []string, domain, endpoint string) *clusterv1.Cluster {
	c := &clusterv1.Cluster{}
	c.APIVersion, c.Kind = clusterv1.GroupVersion.String(), "Cluster"
	c.Namespace, c.Name = namespace, name
	c.Spec.ClusterNetwork.Pods.CIDRBlocks, c.Spec.ClusterNetwork.Services.CIDRBlocks = pods, services
	c.Spec.ClusterNetwork.ServiceDomain = domain
	c.Spec.ControlPlaneEndpoint.Host, c.Spec.ControlPlaneEndpoint.Port = endpoint, 6443
	return c
}

// added are entries that a system adds by itself.
func added(system string, lists ...[]string) []Entry {
	var all []Entry
	for _, e := range slices.Concat(lists...) {
		if e != "" {
			all = append(all, Entry{Text: e, Reason: system + " adds it"})
		}
	}
	return all
}
