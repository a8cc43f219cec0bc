// Package machinetest gives tests a company's network that goes with them.
package machinetest

import (
	"net"
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

// Accept has whoever comes to the listener handled until the test ends, and then hangs up.
func Accept(t testing.TB, listener net.Listener, handle func(net.Conn)) {
	t.Helper()
	t.Cleanup(func() { _ = listener.Close() })
	machine.Accept(listener, handle)
}
