package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// definition is what of a CustomResourceDefinition is described.
type definition struct {
	Spec struct {
		Group string
		Scope string
		Names struct {
			Kind       string
			Plural     string
			ShortNames []string
		}
		Versions []struct {
			Name   string
			Schema struct{ OpenAPIV3Schema schema }
		}
	}
}

type schema struct {
	Type        string
	Description string
	Format      string
	Default     any
	Enum        []any
	Required    []string
	Properties  map[string]schema
	Items       *schema
	MaxItems    *int
	MaxLength   *int

	AdditionalProperties json.RawMessage
	Validations          []struct{ Message string } `json:"x-kubernetes-validations"`
}

// api is the page of the kinds, as their CRDs have them.
func api(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no CRDs in %s: %w", folder, err)
	}
	page := &strings.Builder{}
	page.WriteString("# Kinds\n\n" + header + "For everybody who writes or reads Fairlead's kinds: each field, with its type, bounds and default.\n")
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		crd := definition{}
		if err := yaml.Unmarshal(content, &crd); err != nil {
			return "", fmt.Errorf("%s: %w", file, err)
		}
		names := crd.Spec.Names
		for _, version := range crd.Spec.Versions {
			fmt.Fprintf(page, "\n## %s\n\n`%s/%s`, %s; `kubectl get %s`.\n\n| field | type | default | |\n| --- | --- | --- | --- |\n", names.Kind,
				crd.Spec.Group, version.Name, strings.ToLower(crd.Spec.Scope), strings.Join(append([]string{names.Plural}, names.ShortNames...), "`, `"))
			for _, part := range []string{"spec", "status"} {
				if s, has := version.Schema.OpenAPIV3Schema.Properties[part]; has {
					field(page, part, s, slices.Contains(version.Schema.OpenAPIV3Schema.Required, part))
				}
			}
		}
	}
	page.WriteString("\n## What to read next\n\nRules and examples of [CorporateProxy](../spec/corporateproxy.md), [ProxyOverride](../spec/proxyoverride.md) and\n" +
		"[ProxyReport](../spec/proxyreport.md).\n")
	return page.String(), nil
}

// field writes a row, and one for each field below it.
func field(page *strings.Builder, path string, s schema, required bool) {
	text := cell(s.Description)
	for _, validation := range s.Validations {
		text += " " + cell(validation.Message) + "."
	}
	if required {
		text = "**Required.** " + text
	}
	value := ""
	if s.Default != nil {
		encoded, err := json.Marshal(s.Default)
		if err == nil {
			value = "`" + string(encoded) + "`"
		}
	}
	fmt.Fprintf(page, "| `%s` | %s | %s | %s |\n", path, s.kind(), value, strings.TrimSpace(text))
	below := s
	if s.Items != nil {
		path, below = path+"[]", *s.Items
	}
	if strings.HasSuffix(path, "conditions[]") || below.Properties["matchExpressions"].Type != "" {
		return // Kubernetes' own
	}
	for _, name := range slices.Sorted(maps.Keys(below.Properties)) {
		field(page, path+"."+name, below.Properties[name], slices.Contains(below.Required, name))
	}
}

// kind is a type with its bounds.
func (s schema) kind() string {
	parts := []string{s.Type}
	if s.Type == "array" && s.Items != nil {
		parts[0] = "array of " + s.Items.Type
		if len(s.Items.Enum) > 0 {
			parts = append(parts, "each "+choices(s.Items.Enum))
		}
	}
	if s.Type == "object" && len(s.AdditionalProperties) > 0 {
		parts[0] = "map"
	}
	if len(s.Enum) > 0 {
		parts = append(parts, choices(s.Enum))
	}
	if s.MaxItems != nil {
		parts = append(parts, fmt.Sprintf("at most %d", *s.MaxItems))
	}
	if s.MaxLength != nil {
		parts = append(parts, fmt.Sprintf("up to %d characters", *s.MaxLength))
	}
	return strings.Join(parts, ", ")
}

func choices(enum []any) string {
	var values []string
	for _, value := range enum {
		values = append(values, fmt.Sprintf("`%v`", value))
	}
	return strings.Join(values, " or ")
}
