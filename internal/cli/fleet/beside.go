package fleet

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// tableOf returns the newest table of providers, with the rows in labelled ConfigMaps among documents, whatever their namespace: the
// operator reads those of its own.
func tableOf(documents []document.Document) (provider.Table, error) {
	builtin, err := provider.Builtin("")
	if err != nil {
		return builtin, err
	}
	var users []corev1.ConfigMap
	for _, d := range documents {
		if _, labelled := d.Object.GetLabels()[v1alpha1.ProviderFactsLabel]; !labelled || !d.Is("ConfigMap", "v1") {
			continue
		}
		var rows corev1.ConfigMap
		if err := d.Fill(&rows); err != nil {
			return builtin, err
		}
		if !slices.ContainsFunc(users, func(c corev1.ConfigMap) bool { return c.Name == rows.Name }) { // one file may be given twice
			users = append(users, rows)
		}
	}
	return inputs.ProviderTable(builtin, users)
}

// namespaceOf returns the labels of a namespace as far as documents say them. Every namespace has one of its name.
func namespaceOf(name string, documents []document.Document) map[string]string {
	labels := map[string]string{}
	for _, d := range documents {
		if d.Is("Namespace", "v1") && d.Object.GetName() == name {
			maps.Copy(labels, d.Object.GetLabels())
		}
	}
	labels["kubernetes.io/metadata.name"] = name
	return labels
}

// factsOf returns what the object of a cluster says of its provider, and whether find has the object.
func factsOf(table provider.Table, cluster *clusterv1.Cluster, find func(group, kind, namespace, name string) (map[string]any, bool)) (resolve.Facts, bool) {
	from, ok := inputs.FindFactsObject(cluster, table)
	if !ok {
		return resolve.Facts{}, false
	}
	object, ok := find(from.Row.Group, from.Row.Kind, cluster.Namespace, from.Name)
	read := inputs.ReportedFacts(table.Version(), from.Name, provider.Extract(from.Row, object))
	return inputs.Facts(cluster.Namespace, read), ok
}

// overridesIn returns the ProxyOverrides among documents, by the names of their Clusters. A second one of a Cluster is an error.
func overridesIn(documents []document.Document) (map[string]*v1alpha1.ProxyOverride, error) {
	found, err := document.OfKind[v1alpha1.ProxyOverride](documents, "ProxyOverride")
	if err != nil {
		return nil, err
	}
	all := map[string]*v1alpha1.ProxyOverride{}
	for i := range found {
		name := cmp.Or(found[i].Namespace, "default") + "/" + found[i].Name
		if all[name] != nil {
			return nil, fmt.Errorf("ProxyOverride %s is given more than once", name)
		}
		if err := inputs.CheckOverride(&found[i]); err != nil {
			return nil, err
		}
		all[name] = &found[i]
	}
	return all, nil
}

// orphans returns the names of overrides without a Cluster: one may be misspelled.
func orphans(overrides map[string]*v1alpha1.ProxyOverride, clusters []*clusterv1.Cluster) []string {
	names := maps.Clone(overrides)
	for _, cluster := range clusters {
		delete(names, nameOf(cluster))
	}
	return slices.Sorted(maps.Keys(names))
}

// checkOnce refuses a second CorporateProxy of a name.
func checkOnce(proxies []v1alpha1.CorporateProxy) error {
	seen := map[string]bool{}
	for _, proxy := range proxies {
		if seen[proxy.Name] {
			return fmt.Errorf("CorporateProxy %s is given more than once", proxy.Name)
		}
		seen[proxy.Name] = true
	}
	return nil
}

func nameOf(cluster *clusterv1.Cluster) string { return cluster.Namespace + "/" + cluster.Name }
