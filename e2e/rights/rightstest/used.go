package rightstest

import (
	"context"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/rights"
)

// May fails the test where somebody may do more or less in a namespace than its table says, beside what everybody may. The names of
// objects are those in a table of all.
func May(t testing.TB, cp *controlplane.ControlPlane, somebody *rest.Config, names rights.Table, want map[string]rights.Table) {
	t.Helper()
	resources, err := rights.Resources(cp.Admin())
	controlplanetest.Require(t, err)
	for namespace, table := range want {
		got, err := rights.Allowed(t.Context(), somebody, resources, namespace, names)
		controlplanetest.Require(t, err)
		for _, line := range rights.Diff(got, rights.WithEverybody(table)) {
			t.Errorf("in namespace %s: %s", namespace, line)
		}
	}
}

// UsesAll awaits that somebody has used every right of a table, and fails the test if a request was refused: what the role lacks,
// and what it has too much, is found so.
func UsesAll(t testing.TB, cp *controlplane.ControlPlane, user string, table rights.Table) {
	t.Helper()
	controlplanetest.Await(t, "use of every right", func(context.Context) (bool, error) {
		events, err := cp.AuditEvents(0, controlplane.ByUser(user), rights.IsReal)
		unused := rights.Unused(table, events)
		return controlplanetest.Holds(err == nil && len(unused) == 0, "not used: %v (%v)", unused, err)
	})
	events, err := cp.AuditEvents(0, controlplane.ByUser(user), rights.IsReal)
	controlplanetest.Require(t, err)
	if missed := rights.Missed(events); len(missed) > 0 {
		t.Errorf("it was not allowed to: %v", missed)
	}
}
