package charts_test

import (
	"bytes"
	"maps"
	"os/exec"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Whoever evaluates the policies, and whatever carries the values: a bundle has each object of the chart, as it was.
func TestABundleHasTheWholeChart(t *testing.T) {
	fairlead, err := tools.Program(t.Context(), "fairlead")
	controlplanetest.Require(t, err)
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
			cmd := exec.CommandContext(t.Context(), fairlead, "render", "bundle", "-f", "-", "--selector", "fairlead.io/cluster=c")
			var said bytes.Buffer
			cmd.Stdin, cmd.Stderr = bytes.NewReader(manifest), &said
			text, err := cmd.Output()
			if err != nil || said.Len() > 0 {
				t.Fatalf("%v\n%s", err, said.String())
			}
			got := rendered{}
			for _, carrier := range parse(t, text) {
				if content, is := carrier.Object["data"].(map[string]any); is {
					maps.Copy(got, parse(t, []byte(content["objects.yaml"].(string))))
				}
			}
			want := parse(t, manifest)
			if got["Namespace/"+policies.Namespace] == nil {
				t.Error("it has no Namespace")
			}
			delete(got, "Namespace/"+policies.Namespace)
			if diff := cmp.Diff(slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(got))); diff != "" {
				t.Fatalf("objects (-chart +bundle):\n%s", diff)
			}
			for name := range want {
				if diff := cmp.Diff(want[name].Object, got[name].Object); diff != "" {
					t.Errorf("%s (-chart +bundle):\n%s", name, diff)
				}
			}
		})
	}
}
