package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// How long it takes is for make scale to say. Here a small fleet goes through all of it once, and what must not be asked is
// not asked.
func TestAFleetThatIsTouchedOrMetAgainIsNotWritten(t *testing.T) {
	rows, err := measure(t.Context(), options{
		Clusters: 12, Machines: 2, Rounds: 1, New: 3, Pace: 120 * time.Millisecond, InNamespace: 5, Rest: time.Second, Deliver: true,
	})
	controlplanetest.Require(t, err)
	value := func(figure string) string {
		at := slices.IndexFunc(rows, func(r row) bool { return r.figure == figure })
		if at < 0 {
			t.Fatalf("there is no %q in %v", figure, rows)
		}
		return rows[at].value
	}
	for figure, want := range map[string]string{
		"proxy's Secret touched: requests":     "none",
		"all clusters touched: requests":       "none",
		"restart: Secrets and reports changed": "0",

		"proxy's Secret touched: requests of deliver": "none",
		"all clusters touched: requests of deliver":   "none",
	} {
		if got := value(figure); got != want {
			t.Errorf("%s: %s", figure, got)
		}
	}
	if got := value("last fan-out: which"); !strings.Contains(got, "24 patch secrets") || !strings.Contains(got, "12 patch proxyreports/status") {
		t.Errorf("the counting does not count: %s", got)
	}
}
