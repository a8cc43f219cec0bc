package docs_test

import (
	"encoding/json"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// names are the words of a text, and the text, for a name that has more than a word, such as a label.
type names struct {
	words map[string]bool
	text  string
}

var word = regexp.MustCompile(`[A-Za-z_][\w-]*`)

func namesOf(text string) names {
	n := names{words: map[string]bool{}, text: text}
	for _, w := range word.FindAllString(text, -1) {
		n.words[w] = true
	}
	return n
}

func (n names) has(name string) bool {
	if word.FindString(name) == name {
		return n.words[name]
	}
	for rest := n.text; ; {
		_, after, found := strings.Cut(rest, name)
		if !found || !regexp.MustCompile(`^[\w-]`).MatchString(after) {
			return found
		}
		rest = after
	}
}

// hasEach is for a path of names, whose lists have [] in it.
func (n names) hasEach(path string) bool {
	return n.has(path) || strings.Contains(path, "[]") && !slices.ContainsFunc(strings.Split(index.ReplaceAllString(path, ""), "."), func(name string) bool { return !n.has(name) })
}

// source has the names in the repository beside its pages, but for these tests.
type source struct {
	ours  names // what is released
	all   names // with tests, their data and the paths of files
	tests names
}

var testFunc = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz|Benchmark)\w+)\(`)

func readSource(t *testing.T) source {
	t.Helper()
	ours, others, tests := &strings.Builder{}, &strings.Builder{}, &strings.Builder{}
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (notOfTheCheckout(path) || path == "noproxy/dialect/vector/table") {
			return fs.SkipDir
		}
		if !entry.Type().IsRegular() || strings.HasSuffix(path, ".md") || entry.Name() == "go.sum" {
			return nil
		}
		content, err := os.ReadFile(filepath.Join(root, path))
		for _, m := range testFunc.FindAllStringSubmatch(string(content), -1) {
			tests.WriteString(m[1] + "\n")
		}
		if strings.HasPrefix(path, "e2e/docs/") { // these tests have wrong names, too
			return err
		}
		into := ours
		if strings.HasSuffix(path, "_test.go") || strings.Contains(path, "/testdata/") {
			into = others
		}
		others.WriteString(path + "\n")
		into.Write(append(content, '\n'))
		return err
	})
	controlplanetest.Require(t, err)
	return source{ours: namesOf(ours.String()), all: namesOf(ours.String() + others.String()), tests: namesOf(tests.String())}
}

// schemas are the schemas of the charts' values and of the kinds, and all schemas below them.
type schemas []map[string]any

// top marks the schemas whose properties a name begins with: values, spec and status.
const top = "top"

func readSchemas(t *testing.T) schemas {
	t.Helper()
	var all schemas
	for _, chart := range []string{"fairlead", "fairlead-policies"} {
		var schema map[string]any
		controlplanetest.Require(t, json.Unmarshal([]byte(read(t, "charts/"+chart+"/values.schema.json")), &schema))
		resolve(schema, schema["$defs"].(map[string]any))
		schema[top] = true
		all = append(all, below(schema)...)
	}
	for _, kind := range []string{"corporateproxies", "proxyoverrides", "proxyreports"} {
		var crd struct {
			Spec struct {
				Versions []struct {
					Schema struct{ OpenAPIV3Schema map[string]any }
				}
			}
		}
		controlplanetest.Require(t, yaml.Unmarshal([]byte(read(t, "config/crd/fairlead.io_"+kind+".yaml")), &crd))
		schema := crd.Spec.Versions[0].Schema.OpenAPIV3Schema
		all = append(all, map[string]any{top: true, "properties": map[string]any{"spec": properties(schema)["spec"], "status": properties(schema)["status"]}})
		all = append(all, below(schema)...)
	}
	return all
}

// resolve puts what a $ref names in its place.
func resolve(node any, definitions map[string]any) {
	switch node := node.(type) {
	case map[string]any:
		if ref, is := node["$ref"].(string); is {
			delete(node, "$ref")
			for key, value := range definitions[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any) {
				node[key] = value
			}
		}
		for _, value := range node {
			resolve(value, definitions)
		}
	case []any:
		for _, value := range node {
			resolve(value, definitions)
		}
	}
}

func below(schema map[string]any) schemas {
	all := schemas{schema}
	for _, property := range properties(schema) {
		all = append(all, below(property.(map[string]any))...)
	}
	for _, key := range []string{"items", "additionalProperties"} {
		if each, is := schema[key].(map[string]any); is {
			all = append(all, below(each)...)
		}
	}
	return all
}

func properties(schema map[string]any) map[string]any {
	found, _ := schema["properties"].(map[string]any)
	return found
}

var index = regexp.MustCompile(`\[\d*\]`)

// have says whether a dotted name leads from one of the schemas to another.
func (s schemas) have(name string) bool {
	path := strings.Split(index.ReplaceAllString(name, ""), ".")
	return slices.ContainsFunc(s, func(schema map[string]any) bool {
		return properties(schema)[path[0]] != nil && leads(schema, path)
	})
}

func leads(schema map[string]any, path []string) bool {
	if len(path) == 0 {
		return true
	}
	if items, is := schema["items"].(map[string]any); is {
		return leads(items, path)
	}
	if property, is := properties(schema)[path[0]].(map[string]any); is {
		return leads(property, path[1:])
	}
	each, is := schema["additionalProperties"].(map[string]any)
	return is && leads(each, path[1:]) || schema["additionalProperties"] == true && properties(schema) == nil
}

// claim says whether a dotted name begins as a value of a chart or a field of a kind does.
func (s schemas) claim(name string) bool {
	first, _, _ := strings.Cut(index.ReplaceAllString(name, ""), ".")
	return slices.ContainsFunc(s, func(schema map[string]any) bool { return schema[top] == true && properties(schema)[first] != nil })
}
