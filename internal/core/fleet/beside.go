package fleet

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/provider"
)

// tableOf is the newest table of providers, with the rows in labelled ConfigMaps among documents, whatever their namespace: the
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

// namespaceOf is the labels of a namespace as far as documents say them. Every namespace has one of its name.
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
