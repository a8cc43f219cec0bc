package charts_test

import (
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// The relay and fairlead-node have metrics on each node, and no Service that leads to all of them.
func TestEachNodesMetricsAreFoundWhereThatIsAskedFor(t *testing.T) {
	given := values{"proxy": proxy(url, url, "a"), "relay": values{"enabled": true}, "node": values{"enabled": true}}
	asked := values{"metrics": values{"podMonitor": values{"enabled": true, "interval": "30s", "labels": values{"release": "prometheus"}}}}
	plain, objects := render(t, given), render(t, given, values{"relay": asked, "node": asked})
	for _, name := range []string{"fairlead-relay", "fairlead-node"} {
		monitor, pod := objects["PodMonitor/"+name], as[appsv1.DaemonSet](t, objects, "DaemonSet/"+name)
		if plain["PodMonitor/"+name] != nil || monitor == nil {
			t.Fatalf("%s: there is one that nobody asked for, or none", name)
		}
		endpoint := nested(monitor.Object, "spec", "podMetricsEndpoints").([]any)[0].(map[string]any)
		var ports []string
		for _, container := range pod.Spec.Template.Spec.Containers {
			for _, port := range container.Ports {
				ports = append(ports, port.Name)
			}
		}
		if !slices.Contains(ports, endpoint["port"].(string)) || endpoint["interval"] != "30s" {
			t.Errorf("%s: %v, and the pod has %v", name, endpoint, ports)
		}
		if diff := cmp.Diff(pod.Spec.Selector.MatchLabels, objects.labels(t, "PodMonitor/"+name, "spec", "selector", "matchLabels")); diff != "" {
			t.Errorf("%s selects other pods: %s", name, diff)
		}
		if monitor.GetNamespace() != pod.Namespace || monitor.GetLabels()["release"] != "prometheus" {
			t.Errorf("%s: %v", name, monitor.Object["metadata"])
		}
	}
	for name := range render(t, values{"relay": asked, "node": asked}) {
		if strings.HasPrefix(name, "PodMonitor/") {
			t.Errorf("%s, and no pods", name)
		}
	}
}

// The charts install the files that e2e/monitoring tests, and only where they are asked for.
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
		controlplanetest.Require(t, yaml.Unmarshal(controlplanetest.ReadFile(t, filepath.Join(chartFolder(row.chart), "monitoring", "alerts.yaml")), &want))
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
