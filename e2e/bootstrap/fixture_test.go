package bootstrap_test

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/howto"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/node"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

const (
	endpoint = machine.EndpointAddress + ":6443" // of the workload cluster
	outside  = machine.InternetName + ":443"
	user     = "myproxyuser" // squid makes names lower case
)

// company has a management cluster, whose pods run in corp, and a workload cluster, whose API server they reach there
// directly, and squid does not.
type company struct {
	mgmt, workload    *controlplane.ControlPlane
	clients           kubernetes.Interface // of the management cluster
	squid             *machine.Squid
	node              *node.Node
	page              *howto.Page
	pods              string // a namespace
	toWorkload, toWeb string // kubeconfigs
}

func newCompany(t *testing.T) *company {
	t.Helper()
	c := &company{
		mgmt:     controlplanetest.Start(t, controlplane.Options{}),
		workload: controlplanetest.Start(t, controlplane.Options{Hosts: []string{machine.EndpointAddress}}),
	}
	controlplanetest.Require(t, c.mgmt.StartControllerManager(t.Context(), controlplane.ServiceAccounts, controlplane.GarbageCollector,
		"deployment-controller", "replicaset-controller"))
	c.clients = controlplanetest.Clients(t, c.mgmt)
	c.pods = controlplanetest.Namespace(t, c.mgmt)
	c.startNetwork(t)
	var err error
	c.page, err = howto.Read(t.Context(), "bootstrap.md", "e2e/bootstrap", t.TempDir())
	controlplanetest.Require(t, err)
	c.page.Setenv("KUBECONFIG", c.mgmt.AdminKubeconfig())
	return c
}

func (c *company) startNetwork(t *testing.T) {
	t.Helper()
	network := machinetest.Network(t)
	var err error
	// As in the values that howto.Read has written. The port of the endpoint is open, so that it is the list that decides.
	c.squid, err = network.StartSquid(t.Context(), machine.SquidOptions{
		User: user, Password: "mySuperSecretPassword", Ports: []int{443, 6443},
	})
	controlplanetest.Require(t, err)
	listener := machinetest.Listen(t, network, machine.Cluster, endpoint)
	admin := c.workload.Admin()
	machine.Forward(t.Context(), listener, machine.To(strings.TrimPrefix(admin.Host, "https://")))
	admin.Host = "https://" + endpoint
	c.toWorkload, err = c.workload.Kubeconfig(admin)
	controlplanetest.Require(t, err)

	authority, err := machine.NewAuthority("Example Web CA")
	controlplanetest.Require(t, err)
	machinetest.Web(t, network, machine.Internet, machine.InternetAddress, machine.InternetName, authority, outside)
	c.toWeb, err = c.workload.Kubeconfig(&rest.Config{
		Host: "https://" + machine.InternetName, BearerToken: "none", TLSClientConfig: rest.TLSClientConfig{CAData: authority.PEM()},
	})
	controlplanetest.Require(t, err)

	kubectl := controlplanetest.Tool(t, tools.Kubectl)
	c.node = &node.Node{Network: network, Clients: c.clients, Programs: map[string]string{"kubectl": kubectl}}
}

// run runs the commands of a section of the page.
func (c *company) run(t *testing.T, title string, replace ...string) {
	t.Helper()
	_, err := c.page.Run(t.Context(), title, replace...)
	controlplanetest.Require(t, err)
}

func (c *company) shell(t *testing.T, script string) string {
	t.Helper()
	output, err := c.page.Shell(t.Context(), script)
	controlplanetest.Require(t, err)
	return output
}

// client is a pod as a controller's is: kubectl and what it is written with, client-go, dial as any provider does.
func (c *company) client() *corev1.Pod {
	container := func(name, kubeconfig, path string) corev1.Container {
		return corev1.Container{Name: name, Image: "kubectl", Command: []string{"kubectl", "--kubeconfig", kubeconfig, "get", "--raw", path}}
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "client-"},
		Spec: corev1.PodSpec{AutomountServiceAccountToken: new(bool), Containers: []corev1.Container{
			container("endpoint", c.toWorkload, "/api/v1/namespaces/"+onlyThere), container("outside", c.toWeb, "/"),
		}},
	}
}

// onlyThere is a namespace of the workload cluster.
const onlyThere = "only-in-the-workload-cluster"

// create returns the pod as the policy has changed it.
func (c *company) create(t *testing.T, pod *corev1.Pod, dryRun ...string) *corev1.Pod {
	t.Helper()
	stored, err := c.clients.CoreV1().Pods(c.pods).Create(t.Context(), pod, metav1.CreateOptions{DryRun: dryRun})
	controlplanetest.Require(t, err)
	return stored
}

// asked returns the requests that squid got during run, once there is one: squid notes a request a moment after its end. After a
// failure, it may never come.
func (c *company) asked(t *testing.T, run func()) []machine.Request {
	t.Helper()
	before, err := c.squid.Requests()
	controlplanetest.Require(t, err)
	run()
	var requests []machine.Request
	controlplanetest.Await(t, "a request in squid's log", func(context.Context) (bool, error) {
		requests, err = c.squid.Requests()
		return len(requests) > len(before) || t.Failed(), err
	})
	return requests[len(before):]
}
