package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

//go:embed definitions.yaml
var definitionsFile []byte

// readDefinitions returns what a $ref may name: definitions.yaml, and corporateProxySpec.
func readDefinitions(crds string) (map[string]any, error) {
	var definitions map[string]any
	if err := yaml.Unmarshal(definitionsFile, &definitions); err != nil {
		return nil, fmt.Errorf("definitions.yaml: %w", err)
	}
	crd, err := os.ReadFile(filepath.Join(crds, "fairlead.io_corporateproxies.yaml"))
	if err != nil {
		return nil, err
	}
	definitions["corporateProxySpec"], err = corporateProxySpec(crd)
	return definitions, err
}

// schemaOf returns the JSON Schema of all values.
func schemaOf(values field, definitions map[string]any) ([]byte, error) {
	schema, err := values.toSchema()
	if err != nil {
		return nil, err
	}
	schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	schema["$comment"] = "Made of values.yaml by make generate. A value of null removes the default: what is required would be missing. " +
		"No pattern and no format on what may hold a password: Helm would print it. Templates check those."
	if schema["$defs"], err = definitionsOf(schema, definitions); err != nil {
		return nil, err
	}
	if err := walk(schema, "values", checkStrict); err != nil {
		return nil, err
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err = encoder.Encode(schema)
	return text.Bytes(), err
}

func (f field) toSchema() (map[string]any, error) {
	schema := map[string]any{}
	if f.description != "" {
		schema["description"] = f.description
	}
	if f.schema["$ref"] == nil && f.schema["enum"] == nil {
		if name, ok := types[f.value.Tag]; ok {
			schema["type"] = name
		}
	}
	if f.path == "" || f.fields != nil {
		schema["additionalProperties"] = false
		properties, required := map[string]any{}, []string{}
		for _, below := range f.fields {
			property, err := below.toSchema()
			if err != nil {
				return nil, err
			}
			properties[below.key()] = property
			if below.required() {
				required = append(required, below.key())
			}
		}
		if f.schema["workload"] == true {
			addKnobs(properties)
		}
		schema["properties"] = properties
		if len(required) > 0 {
			schema["required"] = required
		}
	}
	for keyword, value := range f.schema {
		_, ok := value.(bool)
		if ours := ok && slices.Contains([]string{"required", "read", "workload"}, keyword); !ours {
			schema[keyword] = value
		}
	}
	if schema["type"] == nil && schema["$ref"] == nil && schema["enum"] == nil {
		return nil, fmt.Errorf("%s: @schema must say its type", f.path)
	}
	return schema, nil
}

// required is whether null for it is an error.
func (f field) required() bool {
	if said, ok := f.schema["required"].(bool); ok {
		return said
	}
	return f.hasDefault()
}

func (f field) hasDefault() bool {
	switch {
	case f.fields != nil:
		return slices.ContainsFunc(f.fields, field.hasDefault)
	case f.value.Kind == yaml.ScalarNode:
		return f.value.Value != "" && f.value.Tag != "!!null"
	}
	return len(f.value.Content) > 0
}

// types are the types of JSON Schema, by YAML's tags.
var types = map[string]string{
	"!!str": "string", "!!bool": "boolean", "!!int": "integer", "!!float": "number", "!!seq": "array", "!!map": "object",
}

// definitionsOf returns those that a schema refers to, directly or not.
func definitionsOf(schema any, definitions map[string]any) (map[string]any, error) {
	used := map[string]any{}
	var collect func(path string, at map[string]any) error
	collect = func(path string, at map[string]any) error {
		reference, ok := at["$ref"].(string)
		name := strings.TrimPrefix(reference, "#/$defs/")
		switch {
		case !ok || used[name] != nil:
			return nil
		case definitions[name] == nil:
			return fmt.Errorf("$ref %s is of nothing", reference)
		}
		used[name] = definitions[name]
		return walk(used[name], path, collect)
	}
	return used, walk(schema, "", collect)
}

// checkStrict wants every map to say what may be in it, and every list.
func checkStrict(path string, at map[string]any) error {
	switch {
	case at["type"] == "object" && at["additionalProperties"] == nil:
		return fmt.Errorf("%s: @schema must say additionalProperties", path)
	case at["type"] == "array" && at["items"] == nil:
		return fmt.Errorf("%s: @schema must say what its items are", path)
	}
	return nil
}

// walk visits every map of a tree, outer ones first.
func walk(tree any, path string, visit func(path string, at map[string]any) error) error {
	switch at := tree.(type) {
	case []any:
		for i, element := range at {
			if err := walk(element, fmt.Sprintf("%s[%d]", path, i), visit); err != nil {
				return err
			}
		}
	case map[string]any:
		if err := visit(path, at); err != nil {
			return err
		}
		for _, key := range slices.Sorted(maps.Keys(at)) {
			if err := walk(at[key], path+"."+key, visit); err != nil {
				return err
			}
		}
	}
	return nil
}

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

// asAnyWorkload takes from the workload's key the fields that values.yaml does not have.
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
