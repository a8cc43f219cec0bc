package charts_test

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// What e2e/monitoring tries is what the charts install, and only where it is asked for.
func TestAlertsAndDashboardAreThoseOfTheFiles(t *testing.T) {
	on := values{"enabled": true, "labels": values{"release": "prometheus"}}
	for _, row := range []struct {
		chart, rule string
		given       values
	}{
		{"fairlead", "PrometheusRule/fairlead", values{"proxy": proxy(url, url, "a"), "metrics": values{"prometheusRule": on, "dashboard": on}}},
		{"fairlead-policies", "PrometheusRule/fairlead-probe", probed(values{"probe": values{"enabled": true, "prometheusRule": on}})},
	} {
		if plain := template(t, row.chart, values{"proxy": proxy(url, url, "a")}); plain[row.rule] != nil || plain["ConfigMap/fairlead-dashboard"] != nil {
			t.Errorf("%s: it is there without being asked for", row.chart)
		}
		objects := template(t, row.chart, row.given)
		rule := objects[row.rule]
		if rule == nil {
			t.Fatalf("%s: no %s", row.chart, row.rule)
		}
		var want map[string]any
		if err := yaml.Unmarshal(read(t, filepath.Join(chartFolder(row.chart), "monitoring", "alerts.yaml")), &want); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, rule.Object["spec"]); diff != "" {
			t.Errorf("%s: %s", row.rule, diff)
		}
		if rule.GetLabels()["release"] != "prometheus" {
			t.Errorf("%s: labels %v", row.rule, rule.GetLabels())
		}
		if row.chart == "fairlead" {
			dashboard := objects["ConfigMap/fairlead-dashboard"]
			if text, _ := nested(dashboard.Object, "data", "fairlead.json").(string); !json.Valid([]byte(text)) || dashboard.GetLabels()["grafana_dashboard"] != "1" {
				t.Errorf("the dashboard has labels %v and %d bytes", dashboard.GetLabels(), len(text))
			}
		}
	}
}
