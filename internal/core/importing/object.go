package importing

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func nameOf(object *yaml.Node) string      { return text(object, "metadata", "name") }
func namespaceOf(object *yaml.Node) string { return text(object, "metadata", "namespace") }

var kindName = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)

// title is kind and name; "" where they cannot be such: they may be a piece of a password.
func titleOf(object *yaml.Node) string {
	kind, name := text(object, "kind"), nameOf(object)
	if !kindName.MatchString(kind) || name != "" && len(validation.IsDNS1123Subdomain(name)) > 0 {
		return ""
	}
	return strings.TrimSpace(kind + " " + name)
}

func isOf(object *yaml.Node, group, kind string) bool {
	of, _, _ := strings.Cut(text(object, "apiVersion"), "/")
	return of == group && text(object, "kind") == kind
}

// ofKind returns the objects of a kind, in any version of its group, that have something at a path.
func (f *file) ofKind(group, kind string, path ...string) []*yaml.Node {
	return f.where(func(d *yaml.Node) bool { return isOf(d, group, kind) && get(d, path...) != nil })
}

func (f *file) where(holds func(*yaml.Node) bool) []*yaml.Node {
	documents, _ := f.documents()
	return slices.DeleteFunc(slices.Clone(documents), func(d *yaml.Node) bool { return !holds(d) })
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
		at := f.at(d.Line, titleOf(d))
		switch {
		case f.hasRead(d):
		case hasOtherProxy(d):
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

// clusterOf returns a Cluster with what another kind says of its networks.
func clusterOf(namespace, name string, pods, services []string, domain, endpoint string) *clusterv1.Cluster {
	c := &clusterv1.Cluster{}
	c.APIVersion, c.Kind = clusterv1.GroupVersion.String(), "Cluster"
	c.Namespace, c.Name = namespace, name
	c.Spec.ClusterNetwork.Pods.CIDRBlocks, c.Spec.ClusterNetwork.Services.CIDRBlocks = pods, services
	c.Spec.ClusterNetwork.ServiceDomain = domain
	c.Spec.ControlPlaneEndpoint.Host, c.Spec.ControlPlaneEndpoint.Port = endpoint, 6443
	return c
}

func domainOf(c resolve.Cluster) string { return cmp.Or(c.ServiceDomain, "cluster.local") }

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
