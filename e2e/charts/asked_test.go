package charts_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
)

func namesIn(t *testing.T, folder string) []string {
	t.Helper()
	return slices.Collect(maps.Keys(manifests(t, folder)))
}

// Of a feature that is off there is no object, not even a right.
func TestWhatNobodyAskedForIsNotThere(t *testing.T) {
	target := values{"url": "https://a.example", "expect": "Reachable"}
	exclusion := []string{exclusionPolicy, "/fairlead-exclude"}
	authorization := func(given any) values { return values{"exclude": values{"authorization": given}} }
	for name, row := range map[string]struct {
		chart string
		given values
		none  []string // parts of names
	}{
		"rollout":                      {"fairlead", nil, namesIn(t, "rollout")},
		"observe":                      {"fairlead", values{"observe": values{"machines": true}}, []string{"observe"}},
		"observe's machines":           {"fairlead", values{"observe": values{"enabled": true}}, namesIn(t, "observe-machines")},
		"deliver":                      {"fairlead", values{"deliver": values{"renew": "5m"}}, []string{"deliver"}},
		"preflight":                    {"fairlead", nil, []string{"preflight"}},
		"node files":                   {"fairlead", nil, []string{"-node-files"}},
		"one operator":                 {"fairlead", values{"replicas": 1}, []string{"PodDisruptionBudget/", "NetworkPolicy/", "ServiceMonitor/"}},
		"one replicator":               {"fairlead-policies", values{"replicator": values{"replicas": 1}}, []string{"PodDisruptionBudget/", "NetworkPolicy/", "ServiceMonitor/"}},
		"the probe":                    {"fairlead-policies", values{"cluster": values{"probes": values{"targets": []any{target}}}}, []string{"probe"}},
		"a right to exclude":           {"fairlead-policies", authorization(values{}), exclusion},
		"a right, in values of before": {"fairlead-policies", authorization(nil), exclusion},
		"a right, switched off":        {"fairlead-policies", authorization(values{"enabled": false, "action": "Warn"}), exclusion},
		"a Secret, with carry Literal": {"fairlead-policies", values{"carry": "Literal"}, []string{"Secret/"}},
	} {
		for object := range template(t, row.chart, values{"proxy": proxy(url, url, "a")}, row.given) {
			for _, part := range row.none {
				if strings.Contains(object, part) {
					t.Errorf("%s: %s is there", name, object)
				}
			}
		}
	}
	operator := template(t, "fairlead", values{"proxy": proxy(url, url, "a")})["Deployment/fairlead-operator"]
	if text := fmt.Sprint(operator.Object); strings.Contains(text, "--preflight") {
		t.Errorf("without a preflight, the operator has somebody try passwords: %s", text)
	}
}

func TestWhatIsAskedForIsThere(t *testing.T) {
	deliver := values{"deliver": values{"enabled": true, "renew": "5m"}}
	preflight := values{"preflight": values{"enabled": true, "proxyPorts": []any{3129}}}
	type row struct {
		chart  string
		given  values
		object string
		texts  []string // that it has
	}
	rows := []row{
		{"fairlead", deliver, "Deployment/fairlead-deliver", []string{"--renew=5m", "--workload-namespace=fairlead-system", "--namespace=other"}},
		{"fairlead", preflight, "Deployment/fairlead-preflight", []string{"policies.kyverno.io/inject-proxy-env:exclude"}},
		{"fairlead", preflight, "Deployment/fairlead-operator", []string{"--preflight"}},
		{"fairlead", preflight, "NetworkPolicy/fairlead-preflight", []string{"3129"}},
		{"fairlead", nil, "PodDisruptionBudget/fairlead-operator", nil},
		{"fairlead-policies", nil, "PodDisruptionBudget/fairlead-replicator", nil},
	}
	for _, object := range namesIn(t, "observe") {
		rows = append(rows, row{"fairlead", values{"observe": values{"enabled": true}}, object, nil})
	}
	for _, row := range rows {
		object := template(t, row.chart, values{"proxy": proxy(url, url, "a")}, row.given)[row.object]
		if object == nil {
			t.Errorf("no %s", row.object)
			continue
		}
		for _, text := range row.texts {
			if !strings.Contains(fmt.Sprint(object.Object), text) {
				t.Errorf("%s has no %s", row.object, text)
			}
		}
	}
}
