package anp_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// What is behind the tunnel, at addresses that the spoke alone reaches.
const (
	podAddress     = "10.244.1.7"
	backendAddress = "10.244.1.8" // the pod of the service
	nodeAddress    = machine.CorpAddress
	kubeletPort    = "10250"
)

// egressSelector is that of Gardener's proposal (gardener/gardener, docs/proposals/11-apiserver-network-proxy.md), which
// spells the protocols httpConnect and direct; the API server does not read that, and wants TLS for an https URL. There,
// etcd is Direct, too, but here it is at a socket, which Direct does not know.
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

// seed is an API server that reaches its cluster through the tunnel alone. It stands outside of all networks: a bridge
// leads from it to the server at the hub.
type seed struct {
	*cluster
	site *site
}

func newSeed(t *testing.T, v version, squid machine.SquidOptions) *seed {
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
	cp := controlplanetest.Start(t, controlplane.Options{APIServerArgs: []string{
		"--egress-selector-config-file=" + filepath.Join(dir, "egress.yaml"),
		"--kubelet-certificate-authority=" + filepath.Join(dir, "ca.crt"),
	}})
	s := &seed{cluster: newPlainCluster(t, cp, authority)}
	s.site = s.cluster.site(t, v, true, squid)
	machine.Forward(t.Context(), listener, func(ctx context.Context) (net.Conn, error) {
		return s.site.network.Dial(ctx, machine.Internet, net.JoinHostPort(machine.HubAddress, frontPort))
	})
	s.applySecret(t)
	return s
}

// applySecret makes what the replicator would.
func (s *seed) applySecret(t *testing.T) {
	t.Helper()
	data := map[string]string{}
	for _, name := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		data[name] = proxyURL()
	}
	for _, name := range []string{"NO_PROXY", "no_proxy"} {
		data[name] = noProxy
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: policies.Secret}, StringData: data}
	_, err := s.clients.CoreV1().Secrets(agents).Create(t.Context(), secret, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
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

// populate has a pod, a service and a node, objects and programs, and an account that may ask all of them.
func (s *seed) populate(t *testing.T) {
	t.Helper()
	for _, address := range []string{podAddress, backendAddress} {
		s.site.route(t, address)
		s.site.serve(t, machine.Cluster, net.JoinHostPort(address, "8080"), nil)
	}
	certificate, key, err := s.authority.Issue(nodeAddress)
	controlplanetest.Require(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	controlplanetest.Require(t, err)
	s.site.serve(t, machine.Corp, net.JoinHostPort(nodeAddress, kubeletPort), &tls.Config{Certificates: []tls.Certificate{pair}})
	controlplanetest.Require(t, s.cp.Apply(t.Context(), []byte(behindTheTunnel)))
	node, err := s.clients.CoreV1().Nodes().Get(t.Context(), "worker", metav1.GetOptions{})
	controlplanetest.Require(t, err)
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: nodeAddress}}
	node.Status.DaemonEndpoints.KubeletEndpoint.Port = 10250
	_, err = s.clients.CoreV1().Nodes().UpdateStatus(t.Context(), node, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
	for name, address := range map[string]string{"web": podAddress, "shop-0": backendAddress} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.PodSpec{NodeName: "worker", Containers: []corev1.Container{{Name: "web", Image: "web"}}},
		}
		pods := s.clients.CoreV1().Pods(metav1.NamespaceDefault)
		controlplanetest.Await(t, "the pod "+name, func(ctx context.Context) (bool, error) { // when its account is there
			var err error
			pod, err = pods.Create(ctx, pod.DeepCopy(), metav1.CreateOptions{})
			return err == nil, err
		})
		pod.Status.PodIPs = []corev1.PodIP{{IP: address}}
		pod.Status.PodIP, pod.Status.Phase = address, corev1.PodRunning
		_, err := pods.UpdateStatus(t.Context(), pod, metav1.UpdateOptions{})
		controlplanetest.Require(t, err)
	}
}

const behindTheTunnel = `
apiVersion: v1
kind: Node
metadata: {name: worker}
---
apiVersion: v1
kind: Service
metadata: {name: shop, namespace: default}
spec:
  ports: [{name: http, port: 80}]
---
apiVersion: v1
kind: Endpoints
metadata: {name: shop, namespace: default}
subsets:
- addresses:
  - ip: ` + backendAddress + `
    targetRef: {kind: Pod, name: shop-0, namespace: default}
  ports: [{name: http, port: 8080}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: prometheus}
rules:
- apiGroups: [""]
  resources: [pods/proxy, services/proxy, nodes/proxy]
  verbs: [get]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: prometheus}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: prometheus}
subjects: [{kind: ServiceAccount, name: prometheus, namespace: default}]
`
