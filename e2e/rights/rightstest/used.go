package rightstest

import (
	"context"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/rights"
)

// UsesAll awaits that somebody has used every right of a table, and fails the test if a request was refused: what the role lacks,
// and what it has too much, is found so.
func UsesAll(t testing.TB, cp *controlplane.ControlPlane, user string, table rights.Table) {
	t.Helper()
	controlplanetest.Await(t, "use of every right", func(context.Context) (bool, error) {
		events, err := cp.AuditEvents(0, controlplane.ByUser(user), rights.IsReal)
		if err != nil {
			return false, err
		}
		unused := rights.Unused(table, events)
		return controlplanetest.Holds(len(unused) == 0, "not used: %v", unused)
	})
	events, err := cp.AuditEvents(0, controlplane.ByUser(user), rights.IsReal)
	controlplanetest.Require(t, err)
	if missed := rights.Missed(events); len(missed) > 0 {
		t.Errorf("it was not allowed to: %v", missed)
	}
}
