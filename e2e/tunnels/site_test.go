package tunnels_test

import (
	"bufio"
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
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/node"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// service is the one in the cluster.
const service = machine.ServiceAddress + ":80"

// site is a company behind its squid, its cluster's node, and a hub. A service in the cluster answers with the path it
// was asked for.
type site struct {
	*cluster
	namespace string
	network   *machine.Network
	squid     *machine.Squid
	node      *node.Node
	target    string // of agents, at the hub
	folder    string // of the hub's certificates
	running   []*process.Process
	relay     *process.Process
	// ask has the hub ask the spoke for something that nobody has asked for before.
	ask func(context.Context) error
}

// site starts squid, which lets agents go to these ports of the hub. The first port is for the tunnel.
func (c *cluster) site(t *testing.T, namespace string, ports ...int) *site {
	t.Helper()
	network := machinetest.Network(t)
	s := &site{cluster: c, namespace: namespace, network: network, folder: t.TempDir()}
	s.target = net.JoinHostPort(machine.HubName, strconv.Itoa(ports[0]))
	var err error
	s.squid, err = network.StartSquid(t.Context(), machine.SquidOptions{
		User: user, Password: password, Ports: ports, ReadTimeout: patience, TLS: c.authority,
	})
	controlplanetest.Require(t, err)
	s.node = &node.Node{Network: network, Clients: c.clients, Programs: map[string]string{}}
	listener := machinetest.Listen(t, network, machine.Cluster, service)
	machinetest.Serve(t, func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, answer(r.URL.Path)) }, listener)
	if _, err := network.Dial(t.Context(), machine.Internet, service); err == nil {
		t.Fatal("the hub reaches the spoke's service without a tunnel")
	}
	return s
}

// dial connects to an address from one of the networks.
func (s *site) dial(from machine.Namespace, address string) func(context.Context) (net.Conn, error) {
	return func(ctx context.Context) (net.Conn, error) { return s.network.Dial(ctx, from, address) }
}

// bridge lets a network reach an API server, which listens on this machine's loopback interface.
func (s *site) bridge(t *testing.T, where machine.Namespace, address string, to *controlplane.ControlPlane) {
	t.Helper()
	machine.Forward(t.Context(), machinetest.Listen(t, s.network, where, address), machine.To(strings.TrimPrefix(to.Admin().Host, "https://")))
}

// serveAPI serves the spoke's API server as the cluster's service. The relay denies its address to others.
func (s *site) serveAPI(t *testing.T) {
	t.Helper()
	s.node.ServiceEnv = map[string]string{"KUBERNETES_SERVICE_HOST": machine.ServiceAddress, "KUBERNETES_SERVICE_PORT": "443"}
	s.bridge(t, machine.Cluster, machine.ServiceAddress+":443", s.cp)
}

// issue writes a certificate and its key, and returns their files and the authority's.
func (s *site) issue(t *testing.T, hosts ...string) (ca, certificate, key string) {
	t.Helper()
	folder := filepath.Join(s.folder, hosts[0])
	controlplanetest.Require(t, os.MkdirAll(folder, 0o700))
	ca, certificate, key, err := s.authority.Write(folder, hosts...)
	controlplanetest.Require(t, err)
	return ca, certificate, key
}

// start starts a program of the hub, and returns when it listens at a port, if one is given.
func (s *site) start(t *testing.T, where machine.Namespace, port string, spec process.Spec) {
	t.Helper()
	if port != "" {
		spec.Ready = s.network.Answers(where, net.JoinHostPort(machine.HubAddress, port))
	}
	p, err := s.network.Start(t.Context(), where, spec)
	controlplanetest.Require(t, err)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("%s says: %v", spec.Name, last(p))
		}
	})
}

// run starts the pod's relay, if it has one, and then its other containers, as the kubelet does. Earlier ones are ended.
func (s *site) run(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.stop(t)
	if relayed(pod) {
		s.startRelay(t, pod)
	}
	s.runAgain(t, pod)
}

// runAgain is run for who finds its relay there.
func (s *site) runAgain(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.stopAgents(t)
	for _, c := range pod.Spec.Containers {
		s.running = append(s.running, s.runContainer(t, pod, c.Name))
	}
}

func (s *site) runContainer(t *testing.T, pod *corev1.Pod, name string) *process.Process {
	t.Helper()
	p, err := s.node.Start(t.Context(), pod, name)
	controlplanetest.Require(t, err)
	return p
}

func (s *site) startRelay(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	beside := pod.Spec.InitContainers[0]
	s.node.Programs[beside.Image] = controlplanetest.Program(t, "fairlead-relay")
	s.relay = s.runContainer(t, pod, beside.Name)
	s.awaitProbe(t, beside.StartupProbe.HTTPGet, http.StatusOK, "")
}

// stop ends the agent, and then the relay, as the kubelet does.
func (s *site) stop(t *testing.T) {
	t.Helper()
	s.stopAgents(t)
	if s.relay != nil {
		controlplanetest.Require(t, s.relay.Stop())
	}
	s.relay = nil
}

func (s *site) stopAgents(t *testing.T) {
	t.Helper()
	for _, p := range s.running {
		controlplanetest.Require(t, p.Stop())
	}
	s.running = nil
}

// awaitProbe returns when a probe, which the kubelet asks at the pod's address, has this status and says this.
func (s *site) awaitProbe(t *testing.T, at *corev1.HTTPGetAction, status int, text string) {
	t.Helper()
	dial := s.dial(machine.Corp, net.JoinHostPort(machine.CorpAddress, at.Port.String()))
	controlplanetest.Await(t, at.Path+" to say "+text, func(ctx context.Context) (bool, error) {
		code, said, err := get(ctx, dial, nil, "http://"+machine.CorpAddress+at.Path)
		if err == nil && code == status && strings.Contains(said, text) {
			return true, nil
		}
		return false, errors.Join(err, fmt.Errorf("%d: %s", code, said), last(s.relay))
	})
}

// awaitReadiness returns when the relay's readiness probe has this status and says this.
func (s *site) awaitReadiness(t *testing.T, pod *corev1.Pod, status int, text string) {
	t.Helper()
	s.awaitProbe(t, pod.Spec.InitContainers[0].ReadinessProbe.HTTPGet, status, text)
}

// change changes the URL in the Secret, and refreshes the pod's volume.
func (s *site) change(t *testing.T, pod *corev1.Pod, url string) {
	t.Helper()
	s.setSecret(t, s.namespace, url)
	controlplanetest.Require(t, s.node.Refresh(t.Context(), pod))
}

// awaitTunnel returns when the hub reaches the spoke.
func (s *site) awaitTunnel(t *testing.T) {
	t.Helper()
	controlplanetest.Await(t, "a tunnel", func(ctx context.Context) (bool, error) {
		if err := s.ask(ctx); err != nil {
			return false, errors.Join(err, last(s.relay), last(s.running...))
		}
		return true, nil
	})
}

func (s *site) checkNoTunnel(t *testing.T, when string) {
	t.Helper()
	if err := s.ask(t.Context()); err == nil {
		t.Errorf("%s: there is a tunnel", when)
	}
}

// awaitSaid returns when a container of the agent has said this.
func (s *site) awaitSaid(t *testing.T, text string) {
	t.Helper()
	controlplanetest.Await(t, "the log to say: "+text, func(context.Context) (bool, error) {
		for _, p := range s.running {
			if log, err := p.Log(); strings.Contains(log, text) {
				return true, err
			}
		}
		return false, last(s.running...)
	})
}

// last returns the last output of programs, as an error.
func last(all ...*process.Process) error {
	var errs []error
	for _, p := range all {
		if p != nil {
			log, err := p.Log()
			errs = append(errs, err, errors.New(log[max(0, len(log)-2000):]))
		}
	}
	return errors.Join(errs...)
}

// granted returns squid's record of a tunnel to a target of the hub.
func granted(target string) machine.Request {
	return machine.Request{User: user, Method: http.MethodConnect, Target: target, Status: http.StatusOK}
}

// refused returns squid's record of an agent with a wrong password.
func refused(target string) machine.Request {
	return machine.Request{User: user, Method: http.MethodConnect, Target: target, Status: http.StatusProxyAuthRequired}
}

// ended is how many tunnels of the agent have: squid notes what ends.
func (s *site) ended(t *testing.T) int {
	t.Helper()
	return s.asked(t, granted(s.target))
}

// asked is how many requests squid has noted, or how many of these.
func (s *site) asked(t *testing.T, only ...machine.Request) int {
	t.Helper()
	requests, err := s.squid.Requests()
	controlplanetest.Require(t, err)
	return len(slices.DeleteFunc(requests, func(r machine.Request) bool { return len(only) > 0 && !slices.Contains(only, r) }))
}

// answer is the service's, for who asks for the path.
func answer(path string) string { return service + " was asked for " + path }

// askService asks who is dialled, which is to be the service, for something that nobody has asked for before.
func askService(ctx context.Context, dial func(context.Context) (net.Conn, error)) error {
	nonce := rand.Text()
	_, body, err := get(ctx, dial, nil, "http://"+service+"/"+nonce)
	return expect(nonce, body, err)
}

// expect requires the service's answer for who asks for the nonce.
func expect(nonce, got string, err error) error {
	if want := answer("/" + nonce); err == nil && got != want {
		err = fmt.Errorf("the answer is %q, not %q", got, want)
	}
	return err
}

// get asks who is dialled. headers are names and values.
func get(ctx context.Context, dial func(context.Context) (net.Conn, error), secure *tls.Config, url string, headers ...string) (status int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, "", err
	}
	for i := 0; i < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: secure,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) },
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	return response.StatusCode, string(content), err
}

// connect asks the hub's server of an apiserver-network-proxy for a connection with an address of the spoke.
func connect(ctx context.Context, conn net.Conn, address string) error {
	if deadline, ok := ctx.Deadline(); ok {
		if err := conn.SetDeadline(deadline); err != nil {
			return err
		}
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %[1]s HTTP/1.1\r\nHost: %[1]s\r\n\r\n", address); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), nil) // nobody says more before it is asked
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("the proxy server says %s", response.Status)
	}
	return err
}
