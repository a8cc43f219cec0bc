package tunnels_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/ports"
)

// gardener is konnectivity as an API server needs it that reaches pods, services and nodes through the tunnel. Kyverno is
// given by URL and so, unlike a Service, not behind the tunnel: it acts while there is none.
func gardener(t *testing.T, _ *cluster, by engine) {
	s := newSeed(t)
	s.populate(t)
	var pod *corev1.Pod
	if by == byKyverno {
		s.startKyverno(t, kyverno.Options{})
		pod = s.as(t, by, agents, upstream(t))
	} else {
		pod = s.printed(t, agents, upstream(t), s.values)
	}
	prometheus := s.prometheus(t)
	s.checkOutside(t, s.excluded(t, agents, podOf(t, upstream(t))))
	prometheus.checkBlind(t)
	s.checkPassword(t, pod, "407 Proxy Authentication Required")
	s.checkRestart(t)
	prometheus.checkSees(t)
	s.checkIdle(t)
	prometheus.checkSees(t)
	s.checkAsked(t, granted(s.target), refused(s.target))
	prometheus.checkBlind(t)
}

// prometheus is an account of the API server that may have it ask what is behind the tunnel.
type prometheus struct{ clients kubernetes.Interface }

func (s *site) prometheus(t *testing.T) prometheus {
	t.Helper()
	cfg, err := s.cp.ServiceAccount(t.Context(), metav1.NamespaceDefault, "prometheus")
	controlplanetest.Require(t, err)
	clients, err := kubernetes.NewForConfig(cfg)
	controlplanetest.Require(t, err)
	return prometheus{clients}
}

// targets are its paths, and who answers there.
var targets = map[string]string{
	"/api/v1/namespaces/default/pods/web:8080/proxy/":    net.JoinHostPort(podAddress, "8080"),
	"/api/v1/namespaces/default/services/shop:80/proxy/": net.JoinHostPort(backendAddress, "8080"),
	"/api/v1/nodes/worker/proxy/":                        net.JoinHostPort(nodeAddress, kubeletPort),
}

func (p prometheus) get(ctx context.Context, path string) (string, error) {
	answer, err := p.clients.CoreV1().RESTClient().Get().AbsPath(path).DoRaw(ctx)
	return string(answer), err
}

// checkSees: each of them is asked for something that nobody has asked for before.
func (p prometheus) checkSees(t *testing.T) {
	t.Helper()
	for path, address := range targets {
		nonce := rand.Text()
		if said, err := p.get(t.Context(), path+nonce); err != nil || said != answer(address, "/"+nonce) {
			t.Errorf("%s says %q (%v)", path, said, err)
		}
	}
}

// checkBlind: without a tunnel none of them is.
func (p prometheus) checkBlind(t *testing.T) {
	t.Helper()
	for path := range targets {
		if answer, err := p.get(t.Context(), path); err == nil {
			t.Errorf("without a tunnel %s says %q", path, answer)
		}
	}
}

// kyvernoAddress is that of Kyverno's Service.
const kyvernoAddress = "10.96.0.99"

// Where the API server reaches Kyverno through the tunnel alone, no policy can help the tunnel's agent to be there.
func deadlock(t *testing.T, _ *cluster) {
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
	machine.Forward(t.Context(), s.listen(t, machine.Cluster, net.JoinHostPort(kyvernoAddress, "443")), machine.To(port.Address()))
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
		"--kubelet-certificate-authority=" + filepath.Join(dir, "ca.crt"),
	}}, authority, map[string]any{"optIn": true, "proxy": proxyValues(plainURL(credential))})
	s := konnectivity034.site(t, c, agents, true)
	machine.Forward(t.Context(), listener, func(ctx context.Context) (net.Conn, error) {
		return s.network.Dial(ctx, machine.Internet, net.JoinHostPort(machine.HubAddress, frontPort))
	})
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

// populate has a pod, a service and a node, objects and programs, and an account that may ask all of them.
func (s *site) populate(t *testing.T) {
	t.Helper()
	for _, address := range []string{podAddress, backendAddress} {
		s.route(t, address)
		at := net.JoinHostPort(address, "8080")
		serve(t, s.listen(t, machine.Cluster, at), at)
	}
	certificate, key, err := s.authority.Issue(nodeAddress)
	controlplanetest.Require(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	controlplanetest.Require(t, err)
	kubelet := net.JoinHostPort(nodeAddress, kubeletPort)
	serve(t, tls.NewListener(s.listen(t, machine.Corp, kubelet), &tls.Config{Certificates: []tls.Certificate{pair}}), kubelet)
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
