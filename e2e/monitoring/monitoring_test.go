// Package monitoring_test tries what the charts have for Prometheus and Grafana, and the example for kube-state-metrics.
package monitoring_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

const root = "../../"

// ruleFiles are the charts' alerts, by the file that tests them.
var ruleFiles = map[string]string{
	"testdata/management.yaml": "charts/fairlead/monitoring/alerts.yaml",
	"testdata/workload.yaml":   "charts/fairlead-policies/monitoring/alerts.yaml",
}

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func read(t *testing.T, file string) string {
	t.Helper()
	return string(controlplanetest.ReadFile(t, root+file))
}

func promtool(t *testing.T, args ...string) {
	t.Helper()
	program, err := exec.LookPath("promtool")
	controlplanetest.Require(t, err)
	if out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func TestAlertsFireWhenTheyShould(t *testing.T) {
	for test, file := range ruleFiles {
		promtool(t, "test", "rules", test)
		tests := controlplanetest.ReadFile(t, test)
		for _, match := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(read(t, file), -1) {
			alert := match[1]
			if !regexp.MustCompile(`alertname: ` + alert + `\n\s+exp_alerts`).Match(tests) {
				t.Errorf("%s: no test lets %s fire", file, alert)
			}
			if page := read(t, "docs/runbooks/"+alert+".md"); !strings.HasPrefix(page, "# "+alert+"\n") {
				t.Errorf("docs/runbooks/%s.md has another title", alert)
			}
		}
	}
}

// A metric that nobody exports never fires, and fills no panel.
func TestAlertsAndPanelsAreAboutMetricsThatExist(t *testing.T) {
	reference := read(t, "docs/reference/metrics.md")
	files := []string{"charts/fairlead/monitoring/dashboard.json"}
	for _, file := range ruleFiles {
		files = append(files, file)
	}
	for _, file := range files {
		for _, name := range regexp.MustCompile(`fairlead_\w+`).FindAllString(read(t, file), -1) {
			if !strings.Contains(reference, "| `"+name+"` |") {
				t.Errorf("%s: nobody exports %s", file, name)
			}
		}
	}
}

// No Grafana can be had here: its own schema reads the dashboard, and Prometheus the queries.
func TestTheDashboardIsOneForGrafana(t *testing.T) {
	content := read(t, "charts/fairlead/monitoring/dashboard.json")
	var strict dashboard.Dashboard                                                           //nolint:staticcheck // the form that every Grafana imports
	if err := strict.UnmarshalJSONStrict([]byte(content)); err != nil && err.Error() != "" { // an empty list is not nil
		t.Error(err)
	}
	var panels struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	controlplanetest.Require(t, json.Unmarshal([]byte(content), &panels))
	var rules []map[string]any
	for i, panel := range panels.Panels {
		for _, target := range panel.Targets {
			rules = append(rules, map[string]any{"record": fmt.Sprintf("panel:%d", i), "expr": target.Expr})
		}
	}
	if len(rules) < len(panels.Panels) || len(rules) == 0 {
		t.Errorf("%d queries of %d panels", len(rules), len(panels.Panels))
	}
	text, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "panels", "rules": rules}}})
	controlplanetest.Require(t, err)
	file := filepath.Join(t.TempDir(), "panels.yaml")
	controlplanetest.Require(t, os.WriteFile(file, text, 0o600))
	promtool(t, "check", "rules", file)
}
