package judges_test

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Talos has no files of a machine: its own reader of machine configurations takes both forms, and keeps what is there.
func TestEveryValueArrivesInTheConfigurationOfTalos(t *testing.T) {
	for name, write := range map[string]func(resolve.Effective) ([]byte, error){
		"machine.env": render.Talos, "EnvironmentConfig": render.TalosEnvironment,
	} {
		t.Run(name, func(t *testing.T) {
			var patches []string
			var taken []sample
			for _, s := range allSamples(t) {
				text, err := write(s.Effective)
				if isNotCarriable(err) {
					continue
				}
				controlplanetest.Require(t, err)
				patches, taken = append(patches, string(text)), append(taken, s)
			}
			if len(taken) < 500 {
				t.Fatalf("only %d samples were written", len(taken))
			}
			var read []map[string]string
			controlplanetest.Require(t, json.Unmarshal(ask(t, tools.TalosEnvironment, patches), &read))
			for i, got := range read {
				want := maps.Clone(taken[i].want())
				want["GRPC_GO_LOG_SEVERITY_LEVEL"] = "info"
				if diff := cmp.Diff(want, got); diff != "" {
					t.Fatalf("sample %s (-want +got):\n%s", taken[i], diff)
				}
			}
		})
	}
}
