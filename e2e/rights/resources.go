// Package rights finds out what somebody may do on a real API server: what RBAC lets through, by asking it of every
// resource there is, and what admission refuses, by trying every write.
package rights

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// Resource is a resource or a subresource that the API server announces.
type Resource struct {
	schema.GroupVersionKind        // of what is sent to it
	Name                    string // "pods", "pods/exec"
	Namespaced              bool
	Verbs                   []string
	At                      schema.GroupVersion // where it is served
}

// String is its name as RBAC and kubectl write it: pods/exec, proxyreports.fairlead.io/status.
func (r Resource) String() string {
	name, sub, found := strings.Cut(r.Name, "/")
	if r.At.Group != "" {
		name += "." + r.At.Group
	}
	if found {
		name += "/" + sub
	}
	return name
}

// Resources are all that the API server announces, each in one version: neither RBAC nor our policies look at it.
func Resources(config *rest.Config) ([]Resource, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		return nil, fmt.Errorf("ask for all resources: %w", err)
	}
	preferred := map[string]string{}
	for _, group := range groups {
		preferred[group.Name] = group.PreferredVersion.Version
	}
	found := map[string]Resource{}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, err
		}
		for _, announced := range list.APIResources {
			r := Resource{
				GroupVersionKind: gv.WithKind(announced.Kind), Name: announced.Name,
				Namespaced: announced.Namespaced, Verbs: announced.Verbs, At: gv,
			}
			if announced.Group != "" { // a subresource may have a kind of another group
				r.GroupVersionKind = schema.GroupVersionKind{Group: announced.Group, Version: announced.Version, Kind: announced.Kind}
			}
			if _, known := found[r.String()]; !known || gv.Version == preferred[gv.Group] {
				found[r.String()] = r
			}
		}
	}
	return slices.SortedFunc(maps.Values(found), func(a, b Resource) int { return strings.Compare(a.String(), b.String()) }), nil
}

// main is the resource without the subresource.
func (r Resource) main() string {
	name, _, _ := strings.Cut(r.String(), "/")
	return name
}

func (r Resource) subresource() []string {
	if _, sub, found := strings.Cut(r.Name, "/"); found {
		return []string{sub}
	}
	return nil
}

// writable reports whether there are samples of the resource.
func (r Resource) writable() bool {
	return slices.Contains(r.Verbs, "delete") && !strings.Contains(r.Name, "/")
}

// Connects reports whether a request goes through the API server, whatever its verb.
func (r Resource) Connects() bool { return strings.HasSuffix(r.Kind, "Options") }

// question reports whether the resource is a review, which is created to get an answer and changes nothing.
func (r Resource) question() bool {
	return r.At.Group == "authentication.k8s.io" || r.At.Group == "authorization.k8s.io"
}
