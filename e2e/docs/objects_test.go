package docs_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/howto"
)

var (
	yamlBlock = regexp.MustCompile("(?ms)^( *)```yaml\n(.*?)^ *```$")
	ourKind   = regexp.MustCompile(`(?m)^kind: (CorporateProxy|ProxyOverride|ProxyReport)$`)
)

// TestEveryFieldOfABlockIsOneThatThereIs looks at objects of ours and at values of the charts.
func TestEveryFieldOfABlockIsOneThatThereIs(t *testing.T) {
	values, objects, known := 0, 0, readSchemas(t)
	scheme := runtime.NewScheme()
	controlplanetest.Require(t, v1alpha1.AddToScheme(scheme))
	for _, file := range markdown(t) {
		for _, document := range documents(t, file) {
			if kind := ourKind.FindStringSubmatch(document); kind != nil && strings.Contains(document, "apiVersion: fairlead.io/") {
				objects++
				object, err := scheme.New(v1alpha1.GroupVersion.WithKind(kind[1]))
				controlplanetest.Require(t, err)
				if err := yaml.UnmarshalStrict([]byte(document), object); err != nil {
					t.Errorf("%s: %v in\n%s", file, err, document)
				}
				continue
			}
			schema, content := known.chartOf(document)
			if schema == nil {
				continue
			}
			values++
			for _, path := range paths("", content) {
				if !leads(schema, strings.Split(path, ".")) {
					t.Errorf("%s: the chart has no value %s", file, path)
				}
			}
		}
	}
	if objects < 7 || values < 9 {
		t.Errorf("only %d objects and %d times values", objects, values)
	}
}

// documents returns the YAML documents in a page's blocks.
func documents(t *testing.T, file string) []string {
	t.Helper()
	var all []string
	for _, m := range yamlBlock.FindAllStringSubmatch(read(t, file), -1) {
		all = append(all, strings.Split(howto.Dedent(strings.Split(m[2], "\n"), m[1]), "\n---\n")...)
	}
	return all
}

// chartOf returns the schema of the chart whose values a document is, if half of its keys are that chart's: the
// others may be mistakes.
func (s schemas) chartOf(document string) (schema, content map[string]any) {
	if yaml.Unmarshal([]byte(document), &content) != nil || len(content) == 0 || content["kind"] != nil {
		return nil, nil
	}
	chart := slices.IndexFunc(s, func(schema map[string]any) bool { return schema["$schema"] != nil && hasHalf(schema, content) })
	if chart < 0 {
		return nil, nil
	}
	return s[chart], content
}

func hasHalf(schema, content map[string]any) bool {
	known := 0
	for key := range content {
		if properties(schema)[key] != nil {
			known++
		}
	}
	return 2*known >= len(content)
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
