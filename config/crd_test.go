package config

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"sigs.k8s.io/yaml"
)

// definition has the fields of a CustomResourceDefinition that clients see.
type definition struct {
	Spec struct {
		Conversion any
		Names      struct {
			Kind       string
			Categories []string
		}
		Versions []struct {
			Name                     string
			Subresources             struct{ Status *struct{} }
			AdditionalPrinterColumns []struct{ Name, JSONPath string }
			Schema                   struct{ OpenAPIV3Schema property }
		}
	}
}

type property struct {
	Type        string
	Format      string
	Description string
	Enum        []any
	Pattern     string
	MaxItems    *int
	MaxLength   *int
	Properties  map[string]property
	Items       *property
	Additional  *property                        `json:"additionalProperties"`
	ListType    string                           `json:"x-kubernetes-list-type"`
	ListMapKeys []string                         `json:"x-kubernetes-list-map-keys"`
	Rules       []struct{ Rule, Message string } `json:"x-kubernetes-validations"`
}

func definitions(t *testing.T) []definition {
	t.Helper()
	files, err := fs.Glob(Files, "crd/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no CRDs: %v", err)
	}
	var found []definition
	for _, file := range files {
		text, err := Files.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var crd definition
		if err := yaml.Unmarshal(text, &crd); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		found = append(found, crd)
	}
	return found
}

// What clients and kubectl ask of a kind, before a field of it.
func TestEveryKindIsOfTheCategoryAndHasColumnsAndAStatus(t *testing.T) {
	for _, crd := range definitions(t) {
		kind := crd.Spec.Names.Kind
		if !slices.Contains(crd.Spec.Names.Categories, "fairlead") {
			t.Errorf("%s: kubectl get fairlead does not list it", kind)
		}
		if len(crd.Spec.Versions) != 1 || crd.Spec.Conversion != nil {
			t.Errorf("%s: docs/reference/versions.md says that only apiVersion differs between versions, and this tests one", kind)
		}
		for _, version := range crd.Spec.Versions {
			var columns []string
			fields := fieldsOf(version.Schema.OpenAPIV3Schema)
			for _, column := range version.AdditionalPrinterColumns {
				columns = append(columns, column.Name)
				if path := selector.ReplaceAllString(column.JSONPath, ""); path != ".metadata.creationTimestamp" && !fields[path] {
					t.Errorf("%s %s: the column %s shows %s, which is no field", kind, version.Name, column.Name, column.JSONPath)
				}
			}
			if !slices.Contains(columns, "Age") || !slices.Contains(columns, "Reason") {
				t.Errorf("%s %s has the columns %q, and not Reason and Age", kind, version.Name, columns)
			}
			if version.Subresources.Status == nil {
				t.Errorf("%s %s has no subresource status", kind, version.Name)
			}
		}
	}
}

// selector picks one of a list, in a JSONPath.
var selector = regexp.MustCompile(`\[\?\([^)]*\)\]`)

// fieldsOf returns the JSONPath of each field.
func fieldsOf(p property) map[string]bool {
	fields := map[string]bool{}
	walk(p, "", "", func(path, _ string, _ property) { fields[path] = true })
	return fields
}

// The API conventions of Kubernetes, as far as a schema shows them. What an API server refuses anyway, such as keys of a list
// that may be absent or a rule that costs too much, is left to it.
func TestEveryFieldFollowsTheConventions(t *testing.T) {
	fields := 0
	for _, crd := range definitions(t) {
		for _, version := range crd.Spec.Versions {
			for _, part := range []string{"spec", "status"} {
				if p, ok := version.Schema.OpenAPIV3Schema.Properties[part]; ok {
					walk(p, part, part, func(path, name string, p property) {
						fields++
						for _, problem := range problems(path, name, p) {
							t.Errorf("%s %s: %s", crd.Spec.Names.Kind, path, problem)
						}
					})
				}
			}
		}
	}
	if fields < 200 {
		t.Errorf("only %d fields were read", fields)
	}
}

// walk visits a field and all below it; elements of lists and maps are part of their field.
func walk(p property, path, name string, visit func(path, name string, p property)) {
	visit(path, name, p)
	for _, element := range []*property{p.Items, p.Additional} {
		if element != nil {
			p = *element
		}
	}
	for _, below := range slices.Sorted(maps.Keys(p.Properties)) {
		walk(p.Properties[below], path+"."+below, below, visit)
	}
}

// kubectl explain has the texts; the pages say what belongs together, and the rules.
func TestThePageOfEachKindNamesItsFields(t *testing.T) {
	for _, crd := range definitions(t) {
		kind := crd.Spec.Names.Kind
		page, err := os.ReadFile("../docs/reference/" + strings.ToLower(kind) + ".md")
		if err != nil {
			t.Fatal(err)
		}
		words := strings.FieldsFunc(string(page), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
		for _, version := range crd.Spec.Versions {
			for _, part := range []string{"spec", "status"} {
				walk(version.Schema.OpenAPIV3Schema.Properties[part], part, part, func(path, name string, _ property) {
					if !ofLabelSelector.MatchString(path) && !strings.Contains(path, ".conditions") && path != part && !slices.Contains(words, name) {
						t.Errorf("the page of %s does not name %s", kind, path)
					}
				})
			}
		}
	}
}

// An entry of a report names its source. Entries of the installation are only counted.
func TestTheReportSaysWhichSourcesThereAre(t *testing.T) {
	code, err := os.ReadFile("../noproxy/list.go")
	if err != nil {
		t.Fatal(err)
	}
	layers := regexp.MustCompile(`(?m)^\tLayer\w+ +Layer = "(\w+)"`).FindAllStringSubmatch(string(code), -1)
	if len(layers) < 8 {
		t.Errorf("only %d layers", len(layers))
	}
	for _, crd := range definitions(t) {
		for _, version := range crd.Spec.Versions {
			entries, ok := version.Schema.OpenAPIV3Schema.Properties["status"].Properties["entries"]
			if !ok || entries.Items == nil {
				continue
			}
			for _, m := range layers {
				if text := entries.Items.Properties["source"].Description; m[1] != "Installation" && !strings.Contains(text, m[1]) {
					t.Errorf("%s lacks %s: %s", crd.Spec.Names.Kind, m[1], text)
				}
			}
		}
	}
}

var (
	camelCase = regexp.MustCompile(`^[a-z][a-z0-9]*([A-Z][A-Za-z0-9]*)*$`)
	// LabelSelector is Kubernetes' own.
	ofLabelSelector = regexp.MustCompile(`\.match(Labels|Expressions)\b`)
)

func problems(path, name string, p property) (found []string) {
	say := func(bad bool, format string, args ...any) {
		if bad {
			found = append(found, fmt.Sprintf(format, args...))
		}
	}
	say(strings.TrimSpace(p.Description) == "", "kubectl explain says nothing of it")
	say(!camelCase.MatchString(name), "not in lowerCamelCase")
	say(p.Type == "number", "a fraction: clients round it differently")
	say(p.Type == "object" && len(p.Properties) == 0 && p.Additional == nil, "an object without fields: its content is dropped")
	say(p.Type == "array" && p.ListType == "", "no listType: who applies a part of it owns all of it, by accident")
	say(p.ListType == "map" && len(p.ListMapKeys) == 0, "no listMapKey")
	say(name == "conditions" && (p.ListType != "map" || !slices.Equal(p.ListMapKeys, []string{"type"})), "conditions are a map by type")
	rules := p.Rules
	if p.Items != nil {
		rules = slices.Concat(rules, p.Items.Rules)
	}
	for _, rule := range rules {
		say(rule.Message == "", "a rule without a message: %s", rule.Rule)
	}
	if strings.HasPrefix(path, "spec") && !ofLabelSelector.MatchString(path) {
		say(p.Type == "array" && p.MaxItems == nil, "a list without a maximum")
		say(unbounded(p), "a text without a maximum")
		say(p.Items != nil && unbounded(*p.Items), "a list of texts without a maximum")
	}
	return found
}

// unbounded texts have no length, and no format or values that bound it. Durations are bounded by what Go reads.
func unbounded(p property) bool {
	duration := strings.HasSuffix(p.Pattern, `(ms|s|m|h))+$`)
	return p.Type == "string" && p.MaxLength == nil && len(p.Enum) == 0 && p.Format != "date-time" && !duration
}
