package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

var (
	yamlBlock = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")
	ourKind   = regexp.MustCompile(`(?m)^kind: (CorporateProxy|ProxyOverride|ProxyReport)$`)
)

// An object of ours that a page shows has no field that its kind does not have, and values no key that the chart does not have.
func TestEveryFieldOfABlockIsOneThatThereIs(t *testing.T) {
	values, objects, known := 0, 0, readSchemas(t)
	for _, file := range markdown(t) {
		for _, m := range yamlBlock.FindAllStringSubmatch(read(t, file), -1) {
			for document := range strings.SplitSeq(dedent(strings.Split(m[2], "\n"), m[1]), "\n---\n") {
				kind := ourKind.FindStringSubmatch(document)
				if kind != nil && strings.Contains(document, "apiVersion: fairlead.io/") {
					objects++
					into := map[string]any{"CorporateProxy": &v1alpha1.CorporateProxy{}, "ProxyOverride": &v1alpha1.ProxyOverride{}, "ProxyReport": &v1alpha1.ProxyReport{}}[kind[1]]
					if err := yaml.UnmarshalStrict([]byte(document), into); err != nil {
						t.Errorf("%s: %v in\n%s", file, err, document)
					}
					continue
				}
				var content map[string]any
				if yaml.Unmarshal([]byte(document), &content) != nil || content["kind"] != nil {
					continue
				}
				if chart := slices.IndexFunc(known, func(s map[string]any) bool { return s["$schema"] != nil && hasAll(s, content) }); chart >= 0 && len(content) > 0 {
					values++
					for _, path := range paths("", content) {
						if !leads(known[chart], strings.Split(path, ".")) {
							t.Errorf("%s: no chart has the value %s", file, path)
						}
					}
				}
			}
		}
	}
	if objects < 10 || values < 15 {
		t.Errorf("only %d objects and %d times values", objects, values)
	}
}

func hasAll(schema, content map[string]any) bool {
	for key := range content {
		if properties(schema)[key] == nil {
			return false
		}
	}
	return true
}

// paths are the keys of a content, with those below them.
func paths(above string, content map[string]any) []string {
	var all []string
	for key, value := range content {
		if strings.Contains(key, ".") { // a label
			continue
		}
		if below, is := value.(map[string]any); is && len(below) > 0 {
			all = append(all, paths(above+key+".", below)...)
		} else {
			all = append(all, above+key)
		}
	}
	return all
}
