package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// field is a key of values.yaml, or all of it.
type field struct {
	path        string // cluster.proxy.http; empty for all of it
	description string
	schema      map[string]any // what @schema says
	value       *yaml.Node     // the default
	fields      []field        // of a map that is not its user's
}

func (f field) key() string { return f.path[strings.LastIndex(f.path, ".")+1:] }

// readValues reads a values.yaml; package comment says what it has to be like.
func readValues(text []byte) (field, error) {
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return field{}, err
	}
	if len(document.Content) != 1 || document.Content[0].Kind != yaml.MappingNode {
		return field{}, errors.New("it is not a map")
	}
	_, schema, err := comment(document.HeadComment)
	if err != nil {
		return field{}, err
	}
	all := field{value: document.Content[0], schema: schema}
	all.fields, err = fieldsOf(all)
	return all, err
}

func fieldsOf(of field) (fields []field, err error) {
	for i := 0; i < len(of.value.Content); i += 2 {
		key, value := of.value.Content[i], of.value.Content[i+1]
		f := field{path: strings.TrimPrefix(of.path+"."+key.Value, "."), value: value}
		if f.description, f.schema, err = comments(key, value); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		if knob, ok := knobs[f.key()]; ok && of.schema["workload"] == true {
			f.asAnyWorkload(knob)
		}
		if f.description == "" {
			return nil, fmt.Errorf("%s: no description: write a comment that begins with --", f.path)
		}
		if value.Kind == yaml.MappingNode && described(value) {
			if f.fields, err = fieldsOf(f); err != nil {
				return nil, err
			}
		}
		fields = append(fields, f)
	}
	return fields, nil
}

// described is whether a key of the map has a description.
func described(of *yaml.Node) bool {
	for i := 0; i < len(of.Content); i += 2 {
		key, value := of.Content[i], of.Content[i+1]
		if description, _, _ := comments(key, value); description != "" || value.Kind == yaml.MappingNode && described(value) {
			return true
		}
	}
	return false
}

// comments returns the description and the schema in the comments of a key and its value. A comment behind a map's key
// is the key's.
func comments(key, value *yaml.Node) (description string, schema map[string]any, err error) {
	for _, text := range []string{key.HeadComment, key.LineComment, value.LineComment} {
		said, annotation, err := comment(text)
		if err != nil {
			return "", nil, err
		}
		description = cmp.Or(description, said)
		if schema == nil {
			schema = annotation
		}
	}
	return description, schema, nil
}

// comment returns what a comment says to this program.
func comment(text string) (description string, schema map[string]any, err error) {
	var said, annotation []string
	inDescription, inSchema := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimPrefix(strings.TrimPrefix(strings.TrimRight(line, "\n"), "#"), " ")
		begins, isDescription := strings.CutPrefix(line, "-- ")
		rest, isSchema := strings.CutPrefix(line, "@schema")
		switch {
		case isSchema:
			inDescription, inSchema = false, true
			annotation = append(annotation, rest)
		case isDescription:
			inDescription = true
			said = append(said, begins)
		case inSchema:
			annotation = append(annotation, line)
		case line == "":
			inDescription = false
		case inDescription:
			said = append(said, strings.TrimSpace(line))
		}
	}
	if err := yaml.Unmarshal([]byte(strings.Join(annotation, "\n")), &schema); err != nil {
		return "", nil, fmt.Errorf("@schema: %w", err)
	}
	return strings.Join(said, " "), schema, nil
}
