package lifecycle_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// No version of a chart has been released yet. What stands for the one before is made from the present chart: a lower
// version, values without a key of today, templates that do not know that key.
func previous(t testing.TB, chart, key string, withoutTemplates ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), filepath.Base(chart))
	if out, err := exec.Command("cp", "-RL", chart, folder).CombinedOutput(); err != nil { // with what links lead to
		t.Fatalf("copy the chart: %v\n%s", err, out)
	}
	for _, name := range withoutTemplates {
		controlplanetest.Require(t, os.Remove(filepath.Join(folder, "templates", name)))
	}
	edit(t, filepath.Join(folder, "Chart.yaml"), func(chart values) { chart["version"], chart["appVersion"] = "0.0.1", "0.0.1" })
	edit(t, filepath.Join(folder, "values.yaml"), func(given values) { delete(given, key) })
	edit(t, filepath.Join(folder, "values.schema.json"), func(schema values) {
		delete(schema["properties"].(values), key) //nolint:forcetypeassert // JSON Schema
		delete(schema, "required")
	})
	use := regexp.MustCompile(`\(?\$?\.Values\.` + key + `\)?\.(\w+)`)
	templates, err := filepath.Glob(filepath.Join(folder, "templates", "*"))
	controlplanetest.Require(t, err)
	for _, file := range templates {
		text := controlplanetest.ReadFile(t, file)
		replaced := use.ReplaceAllStringFunc(string(text), func(found string) string {
			if strings.HasSuffix(found, ".enabled") {
				return "false"
			}
			return "list"
		})
		controlplanetest.Require(t, os.WriteFile(file, []byte(replaced), 0o600))
	}
	return folder
}

// edit changes a YAML or JSON file.
func edit(t testing.TB, file string, change func(values)) {
	t.Helper()
	var content values
	controlplanetest.Require(t, yaml.Unmarshal(controlplanetest.ReadFile(t, file), &content))
	change(content)
	text, err := yaml.Marshal(content)
	if err == nil && strings.HasSuffix(file, ".json") {
		text, err = yaml.YAMLToJSON(text)
	}
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, os.WriteFile(file, text, 0o600))
}
