package anp_test

import (
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

// withoutPort is what the table says more of such a URL.
func (v version) withoutPort() string {
	if v.resolves {
		return " (it goes to 443)"
	}
	return ""
}

// withoutPort is a pod whose proxy URL lacks one.
func withoutPort(t *testing.T) *corev1.Pod {
	t.Helper()
	pod := podOf(t, upstream(t))
	agent := &pod.Spec.Containers[0]
	agent.Env = append(agent.Env, corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://" + credential + "@" + machine.ProxyAddress})
	return pod
}

// checkNoPort: gRPC before 1.71 does not know where to go then, and later ones go to port 443. Other clients go to
// port 80, which is that of an http URL.
func (s *site) checkNoPort(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	listener, err := s.network.Listen(t.Context(), machine.DMZ, net.JoinHostPort(machine.ProxyAddress, "443"))
	controlplanetest.Require(t, err)
	defer listener.Close() //nolint:errcheck // nobody comes any more
	s.run(t, pod)
	if !s.version.resolves {
		s.awaitLog(t, "missing port in address")
		return
	}
	controlplanetest.Require(t, listener.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)))
	conn, err := listener.Accept()
	controlplanetest.Require(t, err)
	defer conn.Close() //nolint:errcheck // it was read
	controlplanetest.Require(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	line := make([]byte, len("CONNECT "+tunnel.Target))
	if _, err := conn.Read(line); err != nil || string(line) != "CONNECT "+tunnel.Target {
		t.Errorf("port 443 of the proxy was told %q (%v)", line, err)
	}
}
