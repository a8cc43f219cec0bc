package importing

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// object is a Kubernetes object of a file.
type object struct{ node *yaml.Node }

func (o object) name() string      { return text(o.node, "metadata", "name") }
func (o object) namespace() string { return text(o.node, "metadata", "namespace") }

var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// title is kind and name; "" where they cannot be such: they may be a piece of a password.
func (o object) title() string {
	kind, name := text(o.node, "kind"), o.name()
	if !kindName.MatchString(kind) || name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return ""
	}
	return strings.TrimSpace(kind + " " + name)
}

func (o object) isOf(group, kind string) bool {
	of, _, _ := strings.Cut(text(o.node, "apiVersion"), "/")
	return of == group && text(o.node, "kind") == kind
}

// ofKind returns the objects of a kind, in any version of its group.
func (f *file) ofKind(group, kind string) []object {
	documents, _ := f.documents()
	var found []object
	for _, d := range documents {
		if (object{d}).isOf(group, kind) {
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
		f.read[o.node] = true
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
	kinds := map[string]bool{}
	for n := range f.read {
		kinds[kind(n)] = true
	}
	documents, _ := f.documents()
	for _, d := range documents {
		at := f.at(d.Line, object{d}.title())
		switch {
		case f.hasRead(d):
		case object{d}.hasOtherProxy():
			s.say(at, NotRecognised, "has a proxy that was not read: in a variable of another format, or in an override for some machines")
		case kind(d) != "" && kinds[kind(d)]:
			s.say(at, NotSupported, "has no proxy there: set spec.clusterSelector of the CorporateProxy, or mode: Direct in a ProxyOverride")
		default:
			s.say(at, NotRecognised, "another document, which was not read")
		}
	}
}

// hasRead reports whether a node was read, or a part of it.
func (f *file) hasRead(n *yaml.Node) bool {
	return f.read[n] || slices.ContainsFunc(n.Content, f.hasRead)
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
