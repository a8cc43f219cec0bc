package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
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
	Minimum     *int

	IntOrString          bool `json:"x-kubernetes-int-or-string"`
	AdditionalProperties json.RawMessage
	Validations          []struct{ Message string } `json:"x-kubernetes-validations"`
}

func api(folder string) (string, error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(files) == 0 {
		return "", fmt.Errorf("no CRDs in %s: %w", folder, err)
	}
	page := &strings.Builder{}
	fields := rows{page: page, seen: map[string]string{}}
	page.WriteString("# Kinds\n\n" + header + "For everybody who writes or reads Fairlead's kinds: each field, with its type, bounds and default.\n" +
		"`kubectl get fairlead --all-namespaces` lists the objects of all of them.\n")
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
			fmt.Fprintf(page, "\n## %s\n\n`%s/%s`, %s; `kubectl get %s`.\n\n| field | type | |\n| --- | --- | --- |\n", names.Kind,
				crd.Spec.Group, version.Name, strings.ToLower(crd.Spec.Scope), strings.Join(append([]string{names.Plural}, names.ShortNames...), "`, `"))
			for _, part := range []string{"spec", "status"} {
				if s, has := version.Schema.OpenAPIV3Schema.Properties[part]; has {
					fields.kind = names.Kind
					fields.field(part, s, false)
				}
			}
		}
	}
	page.WriteString("\n## What to read next\n\nRules and examples of [CorporateProxy](../spec/corporateproxy.md), [ProxyOverride](../spec/proxyoverride.md) and\n" +
		"[ProxyReport](../spec/proxyreport.md).\n")
	return page.String(), nil
}

// rows writes the fields of a page.
type rows struct {
	page *strings.Builder
	kind string
	seen map[string]string // where the fields of an object were written first, by their schema
}

// field writes a row, and one for each field below it. Fields that the page has already are referred to.
func (r *rows) field(path string, s schema, required bool) {
	text := cell(withoutName(s.Description))
	for _, validation := range s.Validations {
		text += " " + cell(validation.Message) + "."
	}
	below, belowPath := s, path
	if s.Items != nil {
		below, belowPath = *s.Items, path+"[]"
	}
	const fewest = 2                                                                                            // fields for which a reference is shorter
	descend := !strings.HasSuffix(belowPath, "conditions[]") && below.Properties["matchExpressions"].Type == "" // else Kubernetes' own
	if encoded, err := json.Marshal(below.Properties); err == nil && descend && len(below.Properties) >= fewest {
		if first := r.seen[string(encoded)]; first != "" {
			text, descend = text+" Fields: see "+first+".", false
		} else {
			r.seen[string(encoded)] = "`" + belowPath + "` of " + r.kind
		}
	}
	kind := s.kind()
	if s.Default != nil {
		if encoded, err := json.Marshal(s.Default); err == nil {
			kind += ", default `" + string(encoded) + "`"
		}
	}
	if required && strings.HasPrefix(path, "spec.") {
		kind += ", **required**"
	}
	fmt.Fprintf(r.page, "| `%s` | %s | %s |\n", path, kind, strings.TrimSpace(text))
	if !descend {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(below.Properties)) {
		r.field(belowPath+"."+name, below.Properties[name], slices.Contains(below.Required, name))
	}
}

// named is how the comment on a field begins: with its name and a verb.
var named = regexp.MustCompile(`^(?:[A-Za-z0-9]+(?: is| are|:) |[A-Za-z0-9]+ ([a-z]+s ))`)

// withoutName is a description without the name of the field, which is in the row.
func withoutName(description string) string {
	text := named.ReplaceAllString(description, "$1")
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}

func (s schema) kind() string {
	parts := []string{s.Type}
	if s.IntOrString {
		parts[0] = "integer or string"
	}
	if s.Format == "date-time" {
		parts[0] = "time"
	}
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
	if s.Minimum != nil {
		parts = append(parts, fmt.Sprintf("from %d", *s.Minimum))
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
