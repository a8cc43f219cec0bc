package anp_test

import (
	"fmt"
	"net"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// kyvernoAddress is that of Kyverno's Service.
const kyvernoAddress = "10.96.0.99"

// Where the API server reaches Kyverno through the tunnel alone, no policy can help the tunnel's agent to be there.
func TestAWebhookBehindTheTunnelKeepsTheAgentAwayUnlessItsManifestIsMutatedBeforehand(t *testing.T) {
	tier.Full(t)
	t.Parallel()
	s := newSeed(t, versions[len(versions)-1], machine.SquidOptions{Password: password})
	manifest := mutate(t, upstream(t))
	first, err := s.create(t.Context(), podOf(t, manifest)) // before there is a webhook
	controlplanetest.Require(t, err)
	s.site.run(t, first)
	s.site.awaitTunnel(t)
	s.startHiddenKyverno(t)

	if stored := s.mutated(t, podOf(t, upstream(t))); fromSecret(stored, "https_proxy") != policies.Secret {
		t.Errorf("while there is a tunnel, the agent has %v", stored.Spec.Containers[0].Env)
	}
	s.site.stop(t)
	if err := s.site.ask(t.Context()); err == nil {
		t.Error("there is a tunnel without an agent")
	}
	for name, manifest := range map[string][]byte{"as it is": upstream(t), "as fairlead mutate prints it": manifest} {
		if _, err := s.create(t.Context(), podOf(t, manifest)); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			t.Errorf("without a tunnel, the agent %s is answered with %v", name, err)
		}
	}
	barred, err := s.create(t.Context(), podOf(t, mutate(t, upstream(t), "--exclude-from-admission")))
	controlplanetest.Require(t, err)
	s.site.run(t, barred)
	s.site.awaitTunnel(t)
	s.mutated(t, podOf(t, upstream(t)))
}

// startHiddenKyverno starts it where the spoke alone reaches it.
func (s *seed) startHiddenKyverno(t *testing.T) {
	t.Helper()
	port, err := ports.Reserve()
	controlplanetest.Require(t, err)
	s.site.route(t, kyvernoAddress)
	listener, err := s.site.network.Listen(t.Context(), machine.Cluster, net.JoinHostPort(kyvernoAddress, "443"))
	controlplanetest.Require(t, err)
	machine.Forward(t.Context(), listener, machine.To(port.Address()))
	controlplanetest.Require(t, s.cp.Apply(t.Context(), fmt.Appendf(nil, `
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: Service
metadata: {name: %[2]s, namespace: %[1]s}
spec:
  clusterIP: %[3]s
  ports: [{name: https, port: 443, targetPort: https}]
`, kyverno.Namespace, kyverno.Service, kyvernoAddress)))
	s.startKyverno(t, kyverno.Options{Service: port})
	service, err := s.clients.CoreV1().Services(kyverno.Namespace).Get(t.Context(), kyverno.Service, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	if service.Spec.ClusterIP != kyvernoAddress {
		t.Fatalf("Kyverno's Service has the address %s", service.Spec.ClusterIP)
	}
}
