package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const small = `# @schema {additionalProperties: true}

# For readers alone.

# -- What it is,
# in two lines.
#
# Not this.
# @schema {enum: [a, b]}
kind: a
# -- A map.
map:
  truth: true # -- A truth.
  # -- A list.
  # @schema
  # items: {type: integer}
  list: []
  # -- Anything
  # @schema {additionalProperties: true}
  free: {a: {b: 1}}
  # -- May go
  # @schema {required: false, type: [integer, string]}
  number: 7
# -- Of others
# @schema {read: false}
other: ""
`

func TestValuesBecomeASchema(t *testing.T) {
	values, err := readValues([]byte(small))
	if err != nil {
		t.Fatal(err)
	}
	text, err := schemaOf(values, nil)
	if err != nil {
		t.Fatal(err)
	}
	var got, want map[string]any
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	delete(got, "$comment")
	if err := json.Unmarshal([]byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema", "$defs": {},
		"type": "object", "additionalProperties": true, "required": ["kind", "map"],
		"properties": {
			"kind": {"description": "What it is, in two lines.", "enum": ["a", "b"]},
			"map": {
				"description": "A map.", "type": "object", "additionalProperties": false, "required": ["truth", "free"],
				"properties": {
					"truth": {"description": "A truth.", "type": "boolean"},
					"list": {"description": "A list.", "type": "array", "items": {"type": "integer"}},
					"free": {"description": "Anything", "type": "object", "additionalProperties": true},
					"number": {"description": "May go", "type": ["integer", "string"]}
				}
			},
			"other": {"description": "Of others", "type": "string"}
		}
	}`), &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A workload's keys are described once, and it takes those, too, that have no default.
func TestAWorkloadTakesWhatAnyTakes(t *testing.T) {
	values, err := readValues([]byte("# -- A\n# @schema {workload: true}\na:\n  podLabels: {}\n  # -- Ours\n  tolerations: [{operator: Exists}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	definitions, err := readDefinitions("../../config/crd")
	if err != nil {
		t.Fatal(err)
	}
	text, err := schemaOf(values, definitions)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Properties map[string]struct {
			Properties map[string]map[string]any
			Required   []string
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	got := schema.Properties["a"]
	if len(got.Properties) != len(knobs) || got.Required != nil {
		t.Errorf("it takes %v and needs %v", got.Properties, got.Required)
	}
	want := map[string]any{"description": "Ours", "$ref": "#/$defs/tolerations"}
	if diff := cmp.Diff(want, got.Properties["tolerations"]); diff != "" {
		t.Error(diff)
	}
}

func TestValuesThatDoNotSayEnoughAreErrorsThatNameTheKey(t *testing.T) {
	for given, want := range map[string]string{
		"a: {b: 1}":                                   "a: no description",
		"# -- A\na:\n  # -- B\n  b: 1\n  c: 2":        "a.c: no description",
		"# -- A\na: {}":                               "values.properties.a: @schema must say additionalProperties",
		"# -- A\na: []":                               "values.properties.a: @schema must say what its items are",
		"# -- A\na:":                                  "a: @schema must say its type",
		"# -- A\n# @schema {items: {}\na: []":         "a: @schema",
		"# -- A\n# @schema {$ref: '#/$defs/b'}\na: 1": "$ref #/$defs/b is of nothing",
		"# -- A\n# @schema {additionalProperties: {type: object}}\na: {}": "additionalProperties: @schema must say additionalProperties",
		"- a": "not a map",
	} {
		values, err := readValues([]byte(given))
		if err == nil {
			_, err = schemaOf(values, nil)
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\nsays %v, want %q", given, err, want)
		}
	}
}

// Helm prints a value that does not match.
func TestNoPatternIsOnWhatMayHoldAPassword(t *testing.T) {
	for chart, paths := range map[string][]string{
		"fairlead":          {"properties.proxy", "$defs.corporateProxySpec"},
		"fairlead-policies": {"properties.proxy", "properties.cluster.properties", "properties.http_proxy", "properties.https_proxy", "properties.no_proxy", "properties.trustedCA"},
	} {
		text, err := os.ReadFile("../" + chart + "/values.schema.json")
		if err != nil {
			t.Fatal(err)
		}
		var schema any
		if err := json.Unmarshal(text, &schema); err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			at := schema
			for key := range strings.SplitSeq(path, ".") {
				at = at.(map[string]any)[key]
			}
			if at == nil {
				t.Fatalf("%s has no %s", chart, path)
			}
			content, err := json.Marshal(at)
			if err != nil {
				t.Fatal(err)
			}
			for _, keyword := range []string{`"pattern":`, `"format":`, `"const":`} {
				if strings.Contains(string(content), keyword) {
					t.Errorf("%s: %s has a %s", chart, path, keyword)
				}
			}
		}
	}
}
