package relay_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// checkFull: as many tunnels as there can be, all busy, to a proxy that is known by one authority among all of this machine's,
// stay within the memory that the policy gives the relay.
func (s *site) checkFull(t *testing.T) {
	t.Helper()
	const limit = 256
	s.listen(t, net.JoinHostPort(machine.HubAddress, "443"), func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	pod := s.create(t, s.namespace, chiselRelayed("full"), relayed)
	s.trustAll(t)
	s.startRelay(t, pod)

	conns := make([]net.Conn, limit)
	for i := range conns {
		conns[i] = s.agentConn(t)
	}
	s.awaitOpened(t, limit)
	echoes := make(chan error, limit)
	for _, conn := range conns {
		go func() { echoes <- echo(conn) }()
	}
	for range conns {
		if err := <-echoes; err != nil {
			t.Errorf("%v; %v", err, last(s.relay))
			break
		}
	}
	if said, _ := io.ReadAll(s.agentConn(t)); len(said) > 0 || s.count(t, "msg=refused") != 1 {
		t.Errorf("tunnel %d: %q; %v", limit+1, said, last(s.relay))
	}
	had, may := peak(t, program(t, s.relay)), pod.Spec.InitContainers[0].Resources.Limits.Memory().Value()
	t.Logf("the relay with %d tunnels over TLS had %d KiB", limit, had>>10)
	if had > may {
		t.Errorf("%d bytes, of %d", had, may)
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	s.stop(t)
}

// trustAll has the bundle hold all authorities that this machine trusts, as trustedCA of the chart asks for.
func (s *site) trustAll(t *testing.T) {
	t.Helper()
	public, err := os.ReadFile("/etc/ssl/certs/ca-certificates.crt")
	controlplanetest.Require(t, err)
	configMaps := s.clients.CoreV1().ConfigMaps(s.namespace)
	bundle, err := configMaps.Get(t.Context(), policies.TrustedCA, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	bundle.Data["ca.crt"] = string(append(public, s.authority.PEM()...))
	_, err = configMaps.Update(t.Context(), bundle, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
}

// listen is a server of the hub.
func (s *site) listen(t *testing.T, address string, serve func(net.Conn)) {
	t.Helper()
	listener, err := s.network.Listen(t.Context(), machine.Internet, address)
	controlplanetest.Require(t, err)
	machinetest.Accept(t, listener, serve)
}

// agentConn is a connection of somebody in the pod.
func (s *site) agentConn(t *testing.T) net.Conn {
	t.Helper()
	conn, err := s.network.Dial(t.Context(), machine.Corp, "127.0.0.1:443")
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	controlplanetest.Require(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

// echo says much, and hears it again.
func echo(conn net.Conn) error {
	said := bytes.Repeat([]byte("fairlead"), 64<<10)
	written := make(chan error, 1)
	go func() {
		_, err := conn.Write(said)
		written <- err
	}()
	heard := make([]byte, len(said))
	_, err := io.ReadFull(conn, heard)
	if err = errors.Join(err, <-written); err == nil && !bytes.Equal(said, heard) {
		err = errors.New("what comes back is something else")
	}
	return err
}

// peak is how much memory a process had at most, in bytes.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	controlplanetest.Require(t, err)
	_, rest, _ := strings.Cut(string(status), "VmHWM:")
	var kibibytes int64
	_, err = fmt.Sscan(rest, &kibibytes)
	controlplanetest.Require(t, err)
	return kibibytes << 10
}
