package relay_test

import (
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

// What replaces the password.
const (
	next           = "n:xt@2"
	nextCredential = "fleet:n%3Axt%402"
)

func TestAgentsGoThroughASidecarAndARotationRestartsNothing(t *testing.T) {
	tunnels.Complete(t)
	c := newCluster(t, controlplanetest.Start(t, controlplane.Options{Content: kyverno.Content})) // it has Kyverno to itself
	for name, url := range map[string]func(string) string{"https": proxyURL, "http": plainURLOf} {
		t.Run("apiserver-network-proxy, "+name, func(t *testing.T) {
			t.Parallel()
			s := c.site(t, url(credential), 8091)
			s.konnectivityServer(t)
			pod := s.create(t, s.namespace, konnectivity("led", bySidecar), relayed)
			s.checkSidecar(t, pod, url, granted("8091"))
			s.checkSidecarDirect(t, pod, url)
			tunnels.Record(t, konnectivitySidecarRow(tunnels.Kyverno))
		})
		t.Run("chisel, "+name, func(t *testing.T) {
			t.Parallel()
			s := c.site(t, url(credential), 443)
			s.chiselServer(t)
			pod := s.create(t, s.namespace, chisel("led", map[string]string{"app": "chisel"}), relayed)
			s.checkSidecar(t, pod, url, granted("443"))
			tunnels.Record(t, chiselSidecarRow(tunnels.Kyverno))
		})
	}
	t.Run("apiserver-network-proxy, fairlead mutate", func(t *testing.T) {
		t.Parallel()
		s := c.site(t, proxyURL(credential), 8091)
		s.konnectivityServer(t)
		s.checkTwin(t, konnectivity("twin", bySidecar))
		s.awaitRequests(t, granted("8091"))
		tunnels.Record(t, konnectivitySidecarRow(tunnels.Mutate))
	})
	t.Run("chisel, fairlead mutate", func(t *testing.T) {
		t.Parallel()
		s := c.site(t, proxyURL(credential), 443)
		s.chiselServer(t)
		s.checkTwin(t, chisel("twin", map[string]string{"app": "chisel"}))
		s.awaitRequests(t, granted("443"))
		tunnels.Record(t, chiselSidecarRow(tunnels.Mutate))
	})
}

func konnectivitySidecarRow(engine tunnels.Engine) tunnels.Row {
	return tunnels.Row{
		Agent: "apiserver-network-proxy agent", Version: tools.ANPAgent034.Version, Way: tunnels.Sidecar,
		Set: "six variables, without a password; `--keepalive-time=30s`", Engine: engine, Result: "passes",
	}
}

func chiselSidecarRow(engine tunnels.Engine) tunnels.Row {
	return tunnels.Row{
		Agent: "chisel", Version: tools.Chisel.Version, Way: tunnels.Sidecar,
		Set: "`--proxy`, without a password", CannotWork: "the variables, which it does not read", Engine: engine, Result: "passes",
	}
}

// checkSidecar: the agent gets through, and a new password is one of the mounted folder and of squid alone. What is open stays
// open, and what comes after has the new one.
func (s *site) checkSidecar(t *testing.T, pod *corev1.Pod, url func(string) string, tunnel machine.Request) {
	t.Helper()
	s.start(t, pod)
	s.awaitTunnel(t)
	s.awaitReadiness(t, pod, http.StatusOK, "its settings can be read")
	s.checkSecrecy(t, pod)
	agent, relay := program(t, s.agent), program(t, s.relay)

	s.change(t, pod, url(nextCredential))
	controlplanetest.Require(t, s.squid.SetPassword(t.Context(), next))
	if err := s.ask(t.Context()); err != nil {
		t.Errorf("the tunnel that was open before the new password: %v", err)
	}
	s.squid.Kill()
	s.checkNoTunnel(t, "without squid")
	controlplanetest.Require(t, s.squid.Start(t.Context()))
	s.awaitTunnel(t)
	s.checkSecrecy(t, pod)
	if agent != program(t, s.agent) || relay != program(t, s.relay) {
		t.Error("a process is another one")
	}
	s.stop(t)
	for _, r := range s.awaitRequests(t, tunnel) {
		if r != tunnel {
			t.Errorf("squid was asked for %+v", r)
		}
	}
}

// checkSidecarDirect: a list that covers the hub by now, and no proxy at all, leave a running agent its way.
func (s *site) checkSidecarDirect(t *testing.T, pod *corev1.Pod, url func(string) string) {
	t.Helper()
	s.reachable(t, 8091)
	s.start(t, pod)
	s.awaitTunnel(t)
	s.noProxy = "100.64.0.0/13," + machine.HubName
	s.change(t, pod, url(nextCredential))
	s.squid.Kill()
	s.awaitTunnel(t)

	controlplanetest.Require(t, s.agent.Stop())
	s.noProxy = ""
	s.change(t, pod, "")
	s.agent = s.run(t, pod, pod.Spec.Containers[0].Name)
	s.awaitTunnel(t)
	s.stop(t)
}
