package lifecycle_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// No version of a chart has been released yet. What stands for the one before is made from the present chart: a lower
// version, values without a key of today, templates that do not know that key.
func previous(t testing.TB, chart, key string, withoutTemplates ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), filepath.Base(chart))
	copyFolder(t, chart, folder)
	for _, name := range withoutTemplates {
		must(t, os.Remove(filepath.Join(folder, "templates", name)))
	}
	edit(t, filepath.Join(folder, "Chart.yaml"), func(chart values) { chart["version"], chart["appVersion"] = "0.0.1", "0.0.1" })
	edit(t, filepath.Join(folder, "values.yaml"), func(given values) { delete(given, key) })
	edit(t, filepath.Join(folder, "values.schema.json"), func(schema values) {
		delete(schema["properties"].(values), key) //nolint:forcetypeassert // JSON Schema
		delete(schema, "required")
	})
	use := regexp.MustCompile(`\(?\$?\.Values\.` + key + `\)?\.(\w+)`)
	templates, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	must(t, err)
	for _, file := range templates {
		text, err := os.ReadFile(file)
		must(t, err)
		replaced := use.ReplaceAllStringFunc(string(text), func(found string) string {
			if strings.HasSuffix(found, ".enabled") {
				return "false"
			}
			return "list"
		})
		must(t, os.WriteFile(file, []byte(replaced), 0o600))
	}
	return folder
}

// copyFolder copies what links lead to.
func copyFolder(t testing.TB, from, to string) {
	t.Helper()
	entries, err := os.ReadDir(from)
	must(t, err)
	must(t, os.MkdirAll(to, 0o755))
	for _, entry := range entries {
		source, target := filepath.Join(from, entry.Name()), filepath.Join(to, entry.Name())
		info, err := os.Stat(source)
		must(t, err)
		if info.IsDir() {
			copyFolder(t, source, target)
			continue
		}
		content, err := os.ReadFile(source)
		must(t, err)
		must(t, os.WriteFile(target, content, 0o600))
	}
}

// edit changes a YAML or JSON file.
func edit(t testing.TB, file string, change func(values)) {
	t.Helper()
	text, err := os.ReadFile(file)
	must(t, err)
	var content values
	must(t, yaml.Unmarshal(text, &content))
	change(content)
	text, err = yaml.Marshal(content)
	if err == nil && strings.HasSuffix(file, ".json") {
		text, err = yaml.YAMLToJSON(text)
	}
	must(t, err)
	must(t, os.WriteFile(file, text, 0o600))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
