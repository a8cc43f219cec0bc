package charts_test

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// Whoever evaluates the policies, and whatever carries the values: a bundle has each object of the chart, as it was.
func TestABundleHasTheWholeChart(t *testing.T) {
	for name, given := range map[string]values{
		"Native":            {"engine": "Native"},
		"Kyverno":           {"engine": "Kyverno"},
		"Native and Relay":  relayed(values{"engine": "Native"}),
		"Kyverno and Relay": relayed(values{"engine": "Kyverno"}),
		"Relay and node":    relayed(values{"engine": "Native", "node": values{"enabled": true}}),
	} {
		t.Run(name, func(t *testing.T) {
			manifest, err := policies.Render(t.Context(), given, values{"source": values{"existing": true}})
			controlplanetest.Require(t, err)
			status, text, said := command.Run(t, manifest, "render", "bundle", "-f", "-", "--selector", "fairlead.io/cluster=c")
			if status != 0 || said != "" {
				t.Fatalf("%d\n%s", status, said)
			}
			got := rendered{}
			for _, carrier := range parse(t, []byte(text)) {
				if content, is := carrier.Object["data"].(map[string]any); is {
					maps.Copy(got, parse(t, []byte(content["objects.yaml"].(string))))
				}
			}
			if got["Namespace/"+policies.Namespace] == nil {
				t.Error("it has no Namespace")
			}
			delete(got, "Namespace/"+policies.Namespace)
			if diff := cmp.Diff(parse(t, manifest), got); diff != "" {
				t.Errorf("objects (-chart +bundle):\n%s", diff)
			}
		})
	}
}
