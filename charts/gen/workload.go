package main

import (
	_ "embed"
	"maps"

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
	if f.description == "" {
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
