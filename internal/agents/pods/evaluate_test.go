package pods_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/agents/pods"
)

func TestThePolicyOfAnOlderChartSaysWhetherAndNotWhy(t *testing.T) {
	older := policy(t, func(content map[string]any) {
		spec := content["spec"].(map[string]any)
		spec["variables"] = []any{
			map[string]any{"name": "name", "expression": "object.metadata.?name.orValue('')"},
			map[string]any{"name": "selected", "expression": "variables.name != 'web'"},
		}
	})
	found := pods.Cluster{Policy: older}.Judge(pod("shop", noon))
	if found[0].Reason != pods.ReasonExcluded || !strings.Contains(found[0].Message, "older chart") {
		t.Errorf("%+v", found)
	}
	other := pod("shop", noon)
	other.Name = "other"
	if found := (pods.Cluster{Policy: older}).Judge(other); found[0].Reason != pods.ReasonNotReady {
		t.Errorf("%+v", found)
	}
}

// Which pods each rule is about is tested in e2e/policies. The cases here have no single reason there, or take several
// labels.
func TestALeftOutPodIsToldByTheLabelOrThePattern(t *testing.T) {
	for name, test := range map[string]struct {
		policy  *pods.Policy
		labels  map[string]string
		message string
	}{
		"of several labels":        {policy(t, nil), map[string]string{"a": "x", "cluster.x-k8s.io/provider": "control-plane-y", "z": "x"}, "label cluster.x-k8s.io/provider=control-plane-y"},
		"two labels":               {policy(t, set("excludedLabels", `['=x$']`)), map[string]string{"d": "x", "c": "x"}, "label c=x"},
		"by a flag of another one": {policy(t, set("excludedNames", `['(?i)^app$', '^WEB$']`)), nil, "its name matches excludedNames"},
	} {
		p := pod("shop", noon)
		p.Labels = test.labels
		for range 20 { // the same each time
			if found := (pods.Cluster{Policy: test.policy}).Judge(p); found[0].Reason != pods.ReasonExcluded || found[0].Message != test.message {
				t.Fatalf("%s: %+v, want %s", name, found, test.message)
			}
		}
	}
}
