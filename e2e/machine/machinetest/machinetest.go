// Package machinetest gives tests a company's network that goes with them.
package machinetest

import (
	"crypto/tls"
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

// TLS listens as a server of these names, whom the authority has certified.
func TLS(
	t testing.TB, network *machine.Network, where machine.Namespace, address string, authority *machine.Authority, config *tls.Config, names ...string,
) net.Listener {
	t.Helper()
	certificate, key, err := authority.Issue(names...)
	controlplanetest.Require(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	controlplanetest.Require(t, err)
	config.Certificates = []tls.Certificate{pair}
	listener, err := network.Listen(t.Context(), where, address)
	controlplanetest.Require(t, err)
	return tls.NewListener(listener, config)
}

// Accept has whoever comes to the listener handled until the test ends, and then hangs up.
func Accept(t testing.TB, listener net.Listener, handle func(net.Conn)) {
	t.Helper()
	t.Cleanup(func() { _ = listener.Close() })
	machine.Accept(listener, handle)
}
