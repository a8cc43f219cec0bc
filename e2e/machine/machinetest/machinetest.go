// Package machinetest gives tests a company's network that goes with them.
package machinetest

import (
	"crypto/tls"
	"io"
	"log"
	"net"
	"net/http"
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

// Listen listens on an address, not a name, in one of the networks.
func Listen(t testing.TB, network *machine.Network, where machine.Namespace, address string) net.Listener {
	t.Helper()
	listener, err := network.Listen(t.Context(), where, address)
	controlplanetest.Require(t, err)
	return listener
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
	return tls.NewListener(Listen(t, network, where, address), config)
}

// Web is a site that answers every request with the text, over http and https.
func Web(t testing.TB, network *machine.Network, where machine.Namespace, address, name string, authority *machine.Authority, text string) {
	t.Helper()
	plain := Listen(t, network, where, net.JoinHostPort(address, "80"))
	secure := TLS(t, network, where, net.JoinHostPort(address, "443"), authority, &tls.Config{}, name, address)
	Serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }, plain, secure)
}

// Serve handles HTTP requests to the listeners until the test ends.
func Serve(t testing.TB, handle http.HandlerFunc, listeners ...net.Listener) {
	t.Helper()
	server := &http.Server{Handler: handle, ErrorLog: log.New(io.Discard, "", 0)} // of tunnels that end
	for _, listener := range listeners {
		go func() { _ = server.Serve(listener) }()
	}
	t.Cleanup(func() { _ = server.Close() })
}

// Accept handles each connection to the listener, and then closes it, until the test ends.
func Accept(t testing.TB, listener net.Listener, handle func(net.Conn)) {
	t.Helper()
	t.Cleanup(func() { _ = listener.Close() })
	machine.Accept(listener, handle)
}
