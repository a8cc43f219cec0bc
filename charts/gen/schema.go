package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"errors"
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
	used, err := definitionsOf(schema, definitions)
	if err != nil {
		return nil, err
	}
	schema["$defs"] = used
	if err := checkStrict(schema, "values"); err != nil {
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
		schema["type"] = typeOf(f.value)
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
		if _, isBool := value.(bool); isBool && slices.Contains([]string{"required", "read", "workload"}, keyword) {
			continue // ours
		}
		schema[keyword] = value
	}
	if schema["type"] == nil && schema["$ref"] == nil && schema["enum"] == nil {
		return nil, fmt.Errorf("%s: @schema must say its type", f.path)
	}
	return schema, nil
}

// required is whether null for it is an error.
func (f field) required() bool {
	if said, isBool := f.schema["required"].(bool); isBool {
		return said
	}
	return !empty(f)
}

func empty(f field) bool {
	if f.fields != nil {
		return !slices.ContainsFunc(f.fields, func(below field) bool { return !empty(below) })
	}
	switch f.value.Kind {
	case yaml.ScalarNode:
		return f.value.Value == "" || f.value.Tag == "!!null"
	default:
		return len(f.value.Content) == 0
	}
}

// typeOf returns nil for what is none.
func typeOf(value *yaml.Node) any {
	types := map[string]string{
		"!!str": "string", "!!bool": "boolean", "!!int": "integer", "!!float": "number", "!!seq": "array", "!!map": "object",
	}
	if name, found := types[value.Tag]; found {
		return name
	}
	return nil
}

// definitionsOf returns those that a schema refers to, directly or not.
func definitionsOf(schema any, definitions map[string]any) (map[string]any, error) {
	used := map[string]any{}
	var missing error
	var visit func(any)
	visit = func(at any) {
		switch at := at.(type) {
		case []any:
			for _, element := range at {
				visit(element)
			}
		case map[string]any:
			for key, value := range at {
				reference, isText := value.(string)
				if key != "$ref" || !isText {
					visit(value)
					continue
				}
				name := strings.TrimPrefix(reference, "#/$defs/")
				if used[name] != nil {
					continue
				}
				if definitions[name] == nil {
					missing = errors.Join(missing, fmt.Errorf("$ref %s is of nothing", reference))
					continue
				}
				used[name] = definitions[name]
				visit(used[name])
			}
		}
	}
	visit(schema)
	return used, missing
}

// checkStrict wants every map to say what may be in it, and every list.
func checkStrict(schema any, path string) error {
	switch at := schema.(type) {
	case []any:
		for i, element := range at {
			if err := checkStrict(element, fmt.Sprintf("%s[%d]", path, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		if at["type"] == "object" && at["additionalProperties"] == nil {
			return fmt.Errorf("%s: @schema must say additionalProperties", path)
		}
		if at["type"] == "array" && at["items"] == nil {
			return fmt.Errorf("%s: @schema must say what its items are", path)
		}
		for _, key := range slices.Sorted(maps.Keys(at)) {
			if err := checkStrict(at[key], path+"."+key); err != nil {
				return err
			}
		}
	}
	return nil
}
