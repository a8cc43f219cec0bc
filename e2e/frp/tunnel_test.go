package frp_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

// checkGet: who is in the hub reads what was just written in the cluster.
func (s *site) checkGet(t *testing.T) {
	t.Helper()
	nonce := rand.String(20)
	s.write(t, nonce)
	if output, err := s.get(t, tunnelName); err != nil || output != nonce {
		t.Errorf("kubectl get: %v: %q instead of %q", err, output, nonce)
	}
}

// checkCertificate: TLS goes through to the API server, whose certificate decides by which names it can be had.
func (s *site) checkCertificate(t *testing.T) {
	t.Helper()
	output, err := s.get(t, strangerName)
	want := fmt.Sprintf("x509: certificate is valid for localhost, kubernetes.default.svc, %s, not %s", tunnelName, strangerName)
	if err == nil || !strings.Contains(output, want) {
		t.Errorf("kubectl get by a name that is not in the certificate: %v: %s", err, output)
	}
}

// checkWatch: what is written in the cluster is seen in the hub.
func (s *site) checkWatch(t *testing.T) {
	t.Helper()
	before, after := rand.String(20), rand.String(20)
	s.write(t, before)
	// By selector: of a single object kubectl drops the first event, which is the change if that comes before the watch does.
	watch := s.kubectl(t, tunnelName, "get", "configmaps", "--field-selector", "metadata.name="+note, "--watch",
		"--output", `jsonpath={.data.nonce}{"\n"}`)
	awaitLog(t, watch, before)
	s.write(t, after)
	awaitLog(t, watch, after)
	controlplanetest.Require(t, watch.Stop())
}

// checkIdle: the agent stays connected for longer than squid lets anybody be silent. How long that is, another tunnel
// shows, which is younger and says nothing. Returned is how often the agent was not.
func (s *site) checkIdle(t *testing.T, agent *process.Process) (lost int) {
	t.Helper()
	s.serve(t, s.version.quiet(s.version.config(otherPort, 9443)), otherPort)
	pod := s.deploy(t, "quiet", change{config: func(config string) string {
		return s.version.quiet(strings.Replace(config, fmt.Sprintf(" = %d\n", s.version.port), fmt.Sprintf(" = %d\n", otherPort), 1))
	}})
	return tunnels.Stays(t, func() {
		ended := s.quietEnded(t)
		quiet := s.start(t, pod)
		awaitTunnel(t, quiet, 1)
		controlplanetest.Await(t, "squid to end the other tunnel", func(context.Context) (bool, error) {
			if s.quietEnded(t) == ended {
				return false, errors.New("it is there")
			}
			return true, nil
		})
		controlplanetest.Require(t, quiet.Stop())
		s.checkGet(t)
	}, func() int {
		log, err := agent.Log()
		controlplanetest.Require(t, err)
		return strings.Count(log, "start proxy success")
	})
}

// quietEnded is how many of the tunnels in which nothing is said have ended.
func (s *site) quietEnded(t *testing.T) int {
	t.Helper()
	requests, err := s.squid.Requests()
	controlplanetest.Require(t, err)
	return len(slices.DeleteFunc(requests, func(r machine.Request) bool { return r != connect(otherPort) }))
}

// checkSquidKilled: there is no tunnel without squid, and a new one once it is there again, after so many before.
func (s *site) checkSquidKilled(t *testing.T, agent *process.Process, before int) {
	t.Helper()
	s.squid.Kill()
	if output, err := s.get(t, tunnelName); err == nil {
		t.Errorf("kubectl get without squid: %q", output)
	}
	controlplanetest.Require(t, s.squid.Start(t.Context()))
	awaitTunnel(t, agent, before+1)
	s.checkGet(t)
}

// checkTransports: of what is not TCP, nothing goes through a proxy.
func (s *site) checkTransports(t *testing.T) {
	t.Helper()
	before := len(s.since(t, 0))
	s.checkKCP(t)
	protocols := s.version.transports
	awaitLog(t, s.startWith(t, "quic"), protocols["quic"])
	s.checkAsked(t, before)
	websocket := s.startWith(t, "websocket")
	awaitLog(t, websocket, protocols["websocket"])
	controlplanetest.Require(t, websocket.Stop())
}

// checkKCP: frpc asks the proxy for the tunnel by UDP, says nothing, and waits for ever.
func (s *site) checkKCP(t *testing.T) {
	t.Helper()
	const listen = `import socket, sys
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind((sys.argv[1], int(sys.argv[2])))
print(udp.recvfrom(2000)[0], flush=True)`
	udp, err := s.network.Start(t.Context(), machine.DMZ, process.Spec{
		Name: "udp", Path: "/usr/bin/python3", Args: []string{"-c", listen, machine.ProxyAddress, fmt.Sprint(machine.ProxyPort)},
	})
	controlplanetest.Require(t, err)
	agent := s.startWith(t, "kcp")
	awaitLog(t, udp, fmt.Sprintf("CONNECT %s:%d HTTP/1.1", machine.HubName, s.version.port))
	if log, err := agent.Log(); err != nil || strings.Contains(log, "success") || strings.Contains(log, "error") {
		t.Errorf("frpc says (%v):\n%s", err, log)
	}
	controlplanetest.Require(t, agent.Stop())
}

// startWith starts the agent of a pod with another transport.
func (s *site) startWith(t *testing.T, protocol string) *process.Process {
	t.Helper()
	return s.start(t, s.deploy(t, protocol, change{config: func(config string) string {
		return s.version.transport(config, protocol)
	}}))
}
