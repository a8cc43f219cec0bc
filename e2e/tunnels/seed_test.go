package tunnels_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/ports"
)

// kyvernoAddress is the address of Kyverno's Service.
const kyvernoAddress = "10.96.0.99"

// Where the API server reaches Kyverno through the tunnel alone, no policy can help the tunnel's agent to be there.
func deadlock(t *testing.T) {
	s := newSeed(t)
	manifest := mutate(t, upstream(t), s.values)
	first, err := s.create(t.Context(), agents, podOf(t, manifest)) // before there is a webhook
	controlplanetest.Require(t, err)
	s.run(t, first)
	s.awaitTunnel(t)
	s.startHiddenKyverno(t)

	s.stored(t, agents, podOf(t, upstream(t))) // while there is a tunnel
	s.stop(t)
	s.checkNoTunnel(t, "without an agent")
	for name, manifest := range map[string][]byte{"as it is": upstream(t), "as fairlead mutate prints it": manifest} {
		if _, err := s.create(t.Context(), agents, podOf(t, manifest)); err == nil || !strings.Contains(err.Error(), "failed calling webhook") {
			t.Errorf("without a tunnel, the agent %s is answered with %v", name, err)
		}
	}
	barred, err := s.create(t.Context(), agents, podOf(t, mutate(t, upstream(t), s.values, "--exclude-from-admission")))
	controlplanetest.Require(t, err)
	s.run(t, barred)
	s.awaitTunnel(t)
	s.stored(t, agents, podOf(t, upstream(t)))
}

// startHiddenKyverno starts it where the spoke alone reaches it.
func (s *site) startHiddenKyverno(t *testing.T) {
	t.Helper()
	port, err := ports.Reserve()
	controlplanetest.Require(t, err)
	s.route(t, kyvernoAddress)
	listener := machinetest.Listen(t, s.network, machine.Cluster, net.JoinHostPort(kyvernoAddress, "443"))
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

// egressSelector has the API server reach its cluster by the tunnel's server.
const egressSelector = `
apiVersion: apiserver.k8s.io/v1alpha1
kind: EgressSelectorConfiguration
egressSelections:
- name: cluster
  connection:
    proxyProtocol: HTTPConnect
    transport:
      tcp:
        url: https://%[1]s
        tlsConfig: {caBundle: %[2]s/ca.crt, clientCert: %[2]s/tls.crt, clientKey: %[2]s/tls.key}
- name: master
  connection: {proxyProtocol: Direct}
`

// newSeed is an API server that reaches its cluster through the tunnel alone. It stands outside of all networks: a bridge
// leads from it to the server at the hub.
func newSeed(t *testing.T) *site {
	t.Helper()
	authority, err := machine.NewAuthority("Example Tunnel CA")
	controlplanetest.Require(t, err)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	controlplanetest.Require(t, err)
	dir := t.TempDir()
	_, _, _, err = authority.Write(dir, "kube-apiserver")
	controlplanetest.Require(t, err)
	egress := fmt.Appendf(nil, egressSelector, listener.Addr(), dir)
	controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, "egress.yaml"), egress, 0o600))
	c := newPlainCluster(t, controlplane.Options{APIServerArgs: []string{
		"--egress-selector-config-file=" + filepath.Join(dir, "egress.yaml"),
	}}, authority, map[string]any{"optIn": true, "proxy": proxyValues(plainURL(credential))})
	s := konnectivity034.site(t, c, agents, true)
	machine.Forward(t.Context(), listener, s.dial(machine.Internet, net.JoinHostPort(machine.HubAddress, frontPort)))
	return s
}

// route gives the spoke's cluster an address. Nobody else reaches it.
func (s *site) route(t *testing.T, address string) {
	t.Helper()
	for where, command := range map[machine.Namespace][]string{
		machine.Cluster: {"ip", "address", "add", address + "/32", "dev", "eth0"},
		machine.Corp:    {"ip", "route", "add", address + "/32", "dev", "eth1"},
	} {
		_, err := s.network.Run(t.Context(), where, nil, command...)
		controlplanetest.Require(t, err)
	}
}
