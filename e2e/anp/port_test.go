package anp_test

import (
	"net"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

// gRPC before 1.71 does not know where to go, later ones go to port 443. No other client of the settings goes there:
// it would be port 80 (RFC 3986, section 3.2.3).
func TestAProxyURLWithoutAPort(t *testing.T) {
	c := newPlainCluster(t, controlplanetest.Shared(t))
	pod := upstream(t)
	container := &pod.Spec.Containers[0]
	container.Env = append(container.Env, corev1.EnvVar{Name: "HTTPS_PROXY", Value: "http://" + credential + "@" + machine.ProxyAddress})
	pod = c.unmutated(t, pod)
	for _, v := range versions {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := c.site(t, v, true, machine.SquidOptions{Password: password})
			listener, err := s.network.Listen(t.Context(), machine.DMZ, net.JoinHostPort(machine.ProxyAddress, "443"))
			controlplanetest.Require(t, err)
			defer listener.Close() //nolint:errcheck // nobody comes any more
			s.run(t, pod)
			if v.name != "v0.34.0" {
				s.awaitLog(t, "missing port in address")
				return
			}
			controlplanetest.Require(t, listener.(*net.TCPListener).SetDeadline(time.Now().Add(time.Minute)))
			conn, err := listener.Accept()
			controlplanetest.Require(t, err)
			defer conn.Close() //nolint:errcheck // it was read
			line := make([]byte, len("CONNECT "+tunnel.Target))
			controlplanetest.Require(t, conn.SetDeadline(time.Now().Add(time.Minute)))
			if _, err := conn.Read(line); err != nil || string(line) != "CONNECT "+tunnel.Target {
				t.Errorf("port 443 of the proxy was told %q (%v)", line, err)
			}
		})
	}
}
