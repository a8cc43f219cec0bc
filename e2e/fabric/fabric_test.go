// Package fabric runs the relay of a cluster where pods are: each pod is a process in a network namespace with a pod's
// address, Services are programmed by the real kube-proxy from the EndpointSlices that the real kube-controller-manager makes
// of Pod objects, and names come from the real CoreDNS. There is no kubelet: the tests start processes and write the status of
// their pods.
package fabric_test

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	node     = "node-a" // corp is its network
	gateway  = "10.244.0.1"
	pods     = "10.244.0.0/16"
	api      = "10.96.0.1" // the Service kubernetes
	system   = "fairlead-system"
	user     = "corp"
	password = "p@ss"
	port     = 3128
)

type fabric struct {
	t       *testing.T
	network *machine.Network
	clients kubernetes.Interface
	squid   *machine.Squid
	relay   string // its program
	folder  string // of its settings
	service string // address of the Service fairlead-relay
}

func newFabric(t *testing.T) *fabric {
	t.Helper()
	cp := controlplanetest.Shared(t)
	f := newNode(t, cp, machine.SquidOptions{User: user, Password: password})
	f.setSource(account(user, password), "")
	f.startFollow(cp)
	f.service = f.newService(system, "fairlead-relay", port, port)
	return f
}

// newNode is a node with networks for pods, and squid behind it.
func newNode(t *testing.T, cp *controlplane.ControlPlane, options machine.SquidOptions) *fabric {
	t.Helper()
	f := &fabric{t: t, network: machinetest.Network(t), clients: controlplanetest.Clients(t, cp)}
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.EndpointSlices, controlplane.ServiceAccounts))
	var err error
	f.squid, err = f.network.StartSquid(t.Context(), options)
	controlplanetest.Require(t, err)
	f.relay = controlplanetest.Program(t, "fairlead-relay")
	f.run(machine.Corp, "sysctl", "-qw", "net.ipv4.ip_forward=1")
	f.run(machine.DMZ, "ip", "route", "add", pods, "via", machine.CorpAddress)
	authority, err := machine.NewAuthority("Example Web CA")
	controlplanetest.Require(t, err)
	machinetest.Web(t, f.network, machine.Internet, machine.InternetAddress, machine.InternetName, authority, "the internet")
	f.startNode(cp)
	for _, namespace := range []string{system, "shop", "other"} {
		_, err := f.clients.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
		controlplanetest.Require(t, err)
	}
	return f
}

func (f *fabric) run(where machine.Namespace, command ...string) string {
	f.t.Helper()
	out, err := f.network.Run(f.t.Context(), where, nil, command...)
	controlplanetest.Require(f.t, err)
	return string(out)
}

func (f *fabric) serve(listener net.Listener, text string) {
	machinetest.Serve(f.t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, text) }, listener)
}

// startNode makes corp the network of a node: with kube-proxy, the cluster's DNS, and the API server at its usual address.
func (f *fabric) startNode(cp *controlplane.ControlPlane) {
	t := f.t
	server, err := url.Parse(cp.Admin().Host)
	controlplanetest.Require(t, err)
	listener, err := f.network.Listen(t.Context(), machine.Corp, server.Host)
	controlplanetest.Require(t, err)
	machine.Forward(t.Context(), listener, machine.To(server.Host))
	_, err = f.clients.CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	found, err := f.clients.CoreV1().Nodes().Get(t.Context(), node, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	found.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: machine.CorpAddress}}
	_, err = f.clients.CoreV1().Nodes().UpdateStatus(t.Context(), found, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)
	f.runOnNode("kube-proxy", controlplanetest.Tool(t, tools.KubeProxy),
		"--kubeconfig="+cp.AdminKubeconfig(), "--hostname-override="+node, "--proxy-mode=nftables", "--cluster-cidr="+pods,
		"--bind-address=0.0.0.0", "--healthz-bind-address=127.0.0.1:10256", "--metrics-bind-address=127.0.0.1:10249",
		"--conntrack-max-per-core=0", "--conntrack-tcp-timeout-established=0", "--conntrack-tcp-timeout-close-wait=0")
	controlplanetest.Require(t, os.WriteFile(f.network.Path(machine.Dir, "Corefile"), []byte(strings.NewReplacer("KUBECONFIG", cp.AdminKubeconfig(), "ADDRESS", machine.CorpAddress).Replace(corefile)), 0o600))
	f.runOnNode("coredns", controlplanetest.Tool(t, tools.CoreDNS), "-conf="+machine.Dir+"/Corefile")
	resolver := "nameserver " + machine.CorpAddress + "\nsearch shop.svc.cluster.local svc.cluster.local cluster.local\noptions ndots:5\n"
	controlplanetest.Require(t, os.WriteFile(f.network.Path(machine.Dir, "resolv.conf"), []byte(resolver), 0o644))
}

// corefile knows names of the company that lead where no relay may.
const corefile = `.:53 {
  bind ADDRESS
  errors
  ready 127.0.0.1:8181
  hosts {
    169.254.169.254 metadata.corp.example
    127.0.0.1 loopback.corp.example
    10.96.0.1 api.corp.example
    ADDRESS node.corp.example
    172.16.0.1 wiki.corp.example
    fallthrough
  }
  kubernetes cluster.local {
    kubeconfig KUBECONFIG
  }
}
`

func (f *fabric) start(where machine.Namespace, spec process.Spec) *process.Process {
	f.t.Helper()
	p, err := f.network.Start(f.t.Context(), where, spec)
	controlplanetest.Require(f.t, err)
	return p
}

// runOnNode starts a program in the node's network, and shows the end of its log if the test fails.
func (f *fabric) runOnNode(name, path string, args ...string) {
	f.t.Helper()
	p := f.start(machine.Corp, process.Spec{Name: name, Path: path, Args: args})
	f.t.Cleanup(func() {
		if log, err := p.Log(); f.t.Failed() {
			f.t.Logf("%s: %v\n%s", name, err, log[max(0, len(log)-4000):])
		}
	})
}

// newService makes one that selects the pods with its name as label, and returns its address.
func (f *fabric) newService(namespace, name string, number, target int32) string {
	f.t.Helper()
	made, err := f.clients.CoreV1().Services(namespace).Create(f.t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: map[string]string{"app": name},
			Ports:    []corev1.ServicePort{{Port: number, TargetPort: intstr.FromInt32(target)}},
		},
	}, metav1.CreateOptions{})
	controlplanetest.Require(f.t, err)
	return made.Spec.ClusterIP
}
