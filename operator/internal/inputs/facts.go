package inputs

import (
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/operator/provider"
	"github.com/fairlead-io/fairlead/operator/resolve"
)

// ProviderTable adds the rows that users wrote into ConfigMaps, each key of
// their data being a list of rows. A row that cannot be read is a
// *resolve.Problem: nobody can tell which clusters it was meant for.
func ProviderTable(builtin provider.Table, users []corev1.ConfigMap) (provider.Table, error) {
	var rows []provider.Row
	for _, configMap := range users {
		object := "ConfigMap " + configMap.Name
		for _, key := range sortedKeys(configMap.Data) {
			more, err := provider.Parse(object+" "+key, []byte(configMap.Data[key]))
			if err != nil {
				return builtin, &resolve.Problem{Reason: resolve.ReasonInvalidFacts, Object: object, Field: "data." + key, Detail: err.Error()}
			}
			rows = append(rows, more...)
		}
	}
	table, err := builtin.With(rows)
	if err != nil {
		return builtin, &resolve.Problem{Reason: resolve.ReasonInvalidFacts, Object: "ConfigMaps labelled " + v1alpha1.ProviderFactsLabel, Detail: err.Error()}
	}
	return table, nil
}

// ReportedFacts is how facts are kept in the report.
func ReportedFacts(version, name string, facts provider.Facts) *v1alpha1.ReportedFacts {
	reported := &v1alpha1.ReportedFacts{Version: version, Source: facts.Source, Kind: facts.Kind, Name: name, Missing: facts.Missing}
	for _, value := range facts.Values {
		if reported.Values == nil {
			reported.Values = map[string][]string{}
		}
		reported.Values[value.Fact] = append(reported.Values[value.Fact], value.Entry)
	}
	for _, problem := range facts.Problems[:min(len(facts.Problems), maxProblems)] {
		reported.Problems = append(reported.Problems, problem.String())
	}
	return reported
}

// MissingFacts names the required facts that an infrastructure object lacks, by
// the built-in table; none if the kind is not in it.
func MissingFacts(group, kind string, object map[string]any) ([]string, error) {
	table, err := provider.Builtin("")
	if err != nil {
		return nil, err
	}
	row, known := table.Row(group, kind)
	if !known {
		return nil, nil
	}
	return provider.Extract(row, object).Missing, nil
}

// maxProblems is the MaxItems of the report's facts.problems.
const maxProblems = 20

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
