// Package machinetest gives tests a company's network that goes with them.
package machinetest

import (
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

// Network is the test's own. Nothing leads out of corp, until there is a squid.
func Network(t testing.TB) *machine.Network {
	t.Helper()
	network, err := machine.Start(t.Context())
	controlplanetest.Require(t, err)
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	controlplanetest.Require(t, network.CheckClosed(t.Context()))
	return network
}
