package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed workload.tpl
var workloadTemplates string

//go:embed workload.yaml
var workloadFile []byte

// knobs are the values that any workload takes: what JSON Schema says of each.
var knobs = func() (all map[string]map[string]any) {
	if err := yaml.Unmarshal(workloadFile, &all); err != nil {
		panic("workload.yaml: " + err.Error())
	}
	return all
}()

// asAnyWorkload says of a field what is not said of it in values.yaml.
func (f *field) asAnyWorkload(knob map[string]any) {
	f.shared = f.description == ""
	if f.shared {
		f.description = knob["description"].(string)
	}
	if f.schema == nil {
		f.schema = maps.Clone(knob)
		delete(f.schema, "description")
		f.schema["required"] = false
	}
}

// addKnobs adds those that have no default.
func addKnobs(properties map[string]any) {
	for key, knob := range knobs {
		if properties[key] == nil {
			properties[key] = knob
		}
	}
}

// workloadRows has a row for each knob, for all workloads at once.
func workloadRows(text *strings.Builder, values field) {
	workloads := workloadsIn(values)
	if workloads == nil {
		return
	}
	fmt.Fprintf(text, "\n| each of %s | |\n| --- | --- |\n", strings.Join(workloads, ", "))
	for _, key := range slices.Sorted(maps.Keys(knobs)) {
		fmt.Fprintf(text, "| `%s` | %s |\n", key, knobs[key]["description"])
	}
}

func workloadsIn(of field) (found []string) {
	if of.schema["workload"] == true {
		name := "`" + of.path + "`"
		if of.path == "" {
			name = "the root"
		}
		found = append(found, name)
	}
	for _, f := range of.fields {
		found = append(found, workloadsIn(f)...)
	}
	return found
}
