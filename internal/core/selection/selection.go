// Package selection says how pods and namespaces are left alone by the policies, or ask for them.
package selection

import (
	"slices"
	"strings"
)

// Key is the label of namespaces and pods, and the annotation of pods, whose value is one of the others.
const (
	Key     = "policies.kyverno.io/inject-proxy-env"
	Exclude = "exclude"
	Include = "include"
)

// Until is the annotation of namespaces that says when their exclusion ends, as RFC 3339.
const Until = "fairlead.io/exclude-until"

// Served is the annotation of namespaces that the replicator looks after, where pods can wait for the Secret. Its value is since when,
// as RFC 3339, or "true" from the beginning. In all others, what the policies give to a pod is optional, so that none waits for what
// does not come.
const Served = "fairlead.io/served"

// Unserved is the value of Served while the replicator is refused in the namespace.
const Unserved = "false"

// Lacking returns the labels of which a pod has none of the wanted values, for people; "" if it has all.
func Lacking(wanted map[string][]string, pod map[string]string) string {
	var all []string
	for key, values := range wanted {
		if value, ok := pod[key]; !ok || !slices.Contains(values, value) {
			all = append(all, key+"="+strings.Join(values, "|"))
		}
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}
