package ocm_test

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/node"
	"github.com/fairlead-io/fairlead/e2e/process"
)

const (
	proxyAddress = machine.ProxyAddress + ":3128"
	hubTunnel    = machine.HubName + ":8091" // the proxy server, for agents
	hubAPI       = machine.HubName + ":6443" // kube-apiserver
)

// company is a network of its own: the managed cluster in corp, squid in dmz, the hub in internet.
type company struct {
	*fleet
	network *machine.Network
	squid   *machine.Squid
	node    *node.Node
	folder  string // certificates of the hub's programs
	secret  string // what the web server in the managed cluster says
	users   userAddress
}

// userAddress is where the user server listens.
type userAddress struct {
	where   machine.Namespace
	address string
}

func newCompany(t *testing.T, f *fleet, cp *controlplane.ControlPlane, options machine.SquidOptions) *company {
	t.Helper()
	network := machinetest.Network(t)
	c := &company{fleet: f, network: network, folder: t.TempDir(), secret: rand.Text(), users: userAddress{machine.Internet, machine.HubAddress + ":9092"}}
	var err error
	options.User, options.Password, options.Ports = user, password, []int{8090, 8091, 6443}
	c.squid, err = network.StartSquid(t.Context(), options)
	controlplanetest.Require(t, err)
	c.node = &node.Node{
		Network: network, Clients: controlplanetest.Clients(t, cp), Programs: f.programs,
		ServiceEnv: map[string]string{"KUBERNETES_SERVICE_HOST": machine.ServiceAddress, "KUBERNETES_SERVICE_PORT": "443"},
	}
	c.name(t, machine.ServiceAddress, "kubernetes.default.svc")
	c.bridge(t, machine.Cluster, machine.ServiceAddress+":443", cp)
	c.bridge(t, machine.Internet, machine.HubAddress+":6443", f.hub)
	c.serve(t)
	return c
}

// name is one more that corp knows.
func (c *company) name(t *testing.T, address, name string) {
	t.Helper()
	hosts, err := os.OpenFile(c.network.Path("/etc/hosts"), os.O_APPEND|os.O_WRONLY, 0)
	controlplanetest.Require(t, err)
	_, err = fmt.Fprintln(hosts, address, name)
	controlplanetest.Require(t, errors.Join(err, hosts.Close()))
}

// bridge lets a network reach an API server, which listens on this machine's loopback interface.
func (c *company) bridge(t *testing.T, where machine.Namespace, address string, to *controlplane.ControlPlane) {
	t.Helper()
	listener, err := c.network.Listen(t.Context(), where, address)
	controlplanetest.Require(t, err)
	machine.Forward(t.Context(), listener, machine.To(strings.TrimPrefix(to.Admin().Host, "https://")))
}

// serve is a web server in the managed cluster, the Service web in the namespace shop.
func (c *company) serve(t *testing.T) {
	t.Helper()
	listener, err := c.network.Listen(t.Context(), machine.Cluster, machine.ServiceAddress+":80")
	controlplanetest.Require(t, err)
	c.answer(t, listener)
}

// answer has a web server say what nobody knows, and what it was asked.
func (c *company) answer(t *testing.T, listener net.Listener) {
	t.Helper()
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, c.secret, r.URL.Path) })}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

// issue writes a certificate of the addon manager's and its key, and returns the files.
func (c *company) issue(t *testing.T, hosts ...string) (certificate, key string) {
	t.Helper()
	files := []string{filepath.Join(c.folder, hosts[0]+".crt"), filepath.Join(c.folder, hosts[0]+".key")}
	crt, private, err := c.authority.Issue(hosts...)
	controlplanetest.Require(t, err)
	for i, content := range [][]byte{crt, private} {
		controlplanetest.Require(t, os.WriteFile(files[i], content, 0o600))
	}
	return files[0], files[1]
}

// ca is the file of the addon manager's authority. It is written once: the programs read it while they start.
func (c *company) ca(t *testing.T) string {
	t.Helper()
	file := filepath.Join(c.folder, "ca.crt")
	if _, err := os.Stat(file); err == nil {
		return file
	}
	controlplanetest.Require(t, os.WriteFile(file, c.authority.PEM(), 0o600))
	return file
}

// startProxyServer runs the hub's proxy server with the arguments of pkg/proxyserver/controllers/manifests.go.
func (c *company) startProxyServer(t *testing.T, where machine.Namespace) {
	t.Helper()
	ca := c.ca(t)
	certificate, key := c.issue(t, machine.HubName, "proxy-entrypoint."+hubNamespace, "proxy-entrypoint."+hubNamespace+".svc", "localhost")
	c.start(t, where, "proxy-server", nil, c.anpServer,
		"--server-count=1", "--proxy-strategies=destHost",
		"--server-ca-cert="+ca, "--server-cert="+certificate, "--server-key="+key,
		"--cluster-ca-cert="+ca, "--cluster-cert="+certificate, "--cluster-key="+key)
}

// startUserServer runs the hub's user server with the arguments of charts/cluster-proxy/templates/user-deployment.yaml.
func (c *company) startUserServer(t *testing.T) {
	t.Helper()
	hub := c.hub.Admin()
	hub.Host = "https://" + machine.HubAddress + ":6443"
	kubeconfig, err := c.hub.Kubeconfig(hub)
	controlplanetest.Require(t, err)
	clientCertificate, clientKey := c.issue(t, "user-server")
	certificate, key := c.issue(t, userServer)
	c.start(t, machine.Internet, "user-server", []string{"KUBECONFIG=" + kubeconfig}, c.programs["/cluster-proxy"], "user-server",
		"--host=localhost", "--port=8090", "--proxy-ca-cert="+c.ca(t), "--proxy-cert="+clientCertificate, "--proxy-key="+clientKey,
		"--server-port=9092", "--server-cert="+certificate, "--server-key="+key, "--service-proxy-ca-cert="+c.ca(t),
		"--agent-install-namespace=open-cluster-management-agent-addon")
}

const userServer = "cluster-proxy-addon-user." + hubNamespace + ".svc"

func (c *company) start(t *testing.T, where machine.Namespace, name string, environment []string, path string, args ...string) {
	t.Helper()
	p, err := c.network.Start(t.Context(), where, process.Spec{Name: name, Path: path, Args: args, Env: environment})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { logIfFailed(t, name, p) })
}

// startHub runs both.
func (c *company) startHub(t *testing.T) {
	t.Helper()
	c.startProxyServer(t, machine.Internet)
	c.startUserServer(t)
}

// run starts the pod's containers.
func (c *company) run(t *testing.T, pod *corev1.Pod, containers ...string) []*process.Process {
	t.Helper()
	var all []*process.Process
	for _, container := range containers {
		p, err := c.node.Start(t.Context(), pod, container)
		controlplanetest.Require(t, err)
		t.Cleanup(func() { logIfFailed(t, container, p) }) // it is there until the network is closed
		all = append(all, p)
	}
	return all
}

func logIfFailed(t *testing.T, container string, p *process.Process) {
	t.Helper()
	if t.Failed() {
		log, err := p.Log()
		t.Logf("%s (%v):\n%s", container, err, log[:min(len(log), 4000)])
	}
}

func stop(t *testing.T, all []*process.Process) {
	t.Helper()
	for _, p := range all {
		controlplanetest.Require(t, p.Stop())
	}
}

// get asks the user server, as somebody on the hub. What the answer is, if it is not 200, is the error.
func (c *company) get(ctx context.Context, path, token string) (string, error) {
	transport := &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return c.network.Dial(ctx, c.users.where, c.users.address)
		},
		TLSClientConfig:   &tls.Config{RootCAs: c.authority.Pool()},
		DisableKeepAlives: true,
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+userServer+":9092/"+cluster+path, nil)
	if err != nil {
		return "", err
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", response.Status, body)
	}
	return string(body), err
}

// reach asks for something of the managed cluster that nobody knows beforehand, by a path that was never asked for.
func (c *company) reach(ctx context.Context) error {
	nonce := rand.Text()
	answer, err := c.get(ctx, "/api/v1/namespaces/shop/services/http:web:80/proxy-service/"+nonce, "")
	if want := c.secret + "/" + nonce; err == nil && answer != want {
		err = fmt.Errorf("the answer is %q, not %q", answer, want)
	}
	return err
}

func (c *company) awaitReach(t *testing.T, when string) {
	t.Helper()
	controlplanetest.Await(t, "a request through the tunnel, "+when, func(ctx context.Context) (bool, error) {
		err := c.reach(ctx)
		return err == nil, err
	})
}

// asked is what squid has noted, each of it once and in order.
func (c *company) asked(t *testing.T) []machine.Request {
	t.Helper()
	requests, err := c.squid.Requests()
	controlplanetest.Require(t, err)
	slices.SortFunc(requests, func(a, b machine.Request) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	return slices.Compact(requests)
}

// awaitAsked returns when squid has noted these requests and no others.
func (c *company) awaitAsked(t *testing.T, want ...machine.Request) {
	t.Helper()
	controlplanetest.Await(t, "squid's log", func(context.Context) (bool, error) {
		if diff := cmp.Diff(want, c.asked(t)); diff != "" {
			return false, fmt.Errorf("what squid was asked (-want +got):\n%s", diff)
		}
		return true, nil
	})
}

// connect is a tunnel that squid has let through.
func connect(target string) machine.Request {
	return machine.Request{User: user, Method: http.MethodConnect, Target: target, Status: 200}
}

// refused is one that it has not.
func refused(target string) machine.Request {
	return machine.Request{User: "-", Method: http.MethodConnect, Target: target, Status: http.StatusProxyAuthRequired}
}

// ended is how many tunnels to the target have.
func (c *company) ended(t *testing.T, target string) int {
	t.Helper()
	requests, err := c.squid.Requests()
	controlplanetest.Require(t, err)
	count := 0
	for _, request := range requests {
		if request.Target == target {
			count++
		}
	}
	return count
}

// awaitLog returns when the program has printed the text.
func awaitLog(t *testing.T, p *process.Process, text string) {
	t.Helper()
	controlplanetest.Await(t, "the program to say "+text, func(context.Context) (bool, error) {
		log, err := p.Log()
		if err == nil && !strings.Contains(log, text) {
			err = fmt.Errorf("it says: %s", log[max(0, len(log)-2000):])
		}
		return err == nil, err
	})
}
