package relay_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/node"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

// service is the one in the cluster.
const service = machine.ServiceAddress + ":80"

// site is a company behind its squid, and a hub. A service in the cluster answers with the path it was asked for.
type site struct {
	*cluster
	namespace string
	network   *machine.Network
	squid     *machine.Squid
	node      *node.Node
	agent     *process.Process
	relay     *process.Process
	noProxy   string // of the Secret, if it is another
	// dial connects the hub with the spoke's service.
	dial func(context.Context) (net.Conn, error)
}

func (c *cluster) site(t *testing.T, url string, ports ...int) *site {
	t.Helper()
	network := machinetest.Network(t)
	s := &site{cluster: c, network: network, namespace: c.namespace(t, url)}
	var err error
	s.squid, err = network.StartSquid(t.Context(), machine.SquidOptions{
		User: user, Password: password, Ports: ports, ReadTimeout: tunnels.Patience, TLS: c.authority,
	})
	controlplanetest.Require(t, err)
	s.node = &node.Node{Network: network, Clients: c.clients, Programs: maps.Clone(c.programs)}
	listener, err := network.Listen(t.Context(), machine.Cluster, service)
	controlplanetest.Require(t, err)
	tunnels.Serve(t, listener, service)
	return s
}

// hub starts a program in the internet, with a certificate for the hub's name.
func (s *site) hub(t *testing.T, tool tools.Tool, ready string, args func(ca, crt, key string) []string) {
	t.Helper()
	program, err := tools.Build(t.Context(), tool, os.Stderr)
	controlplanetest.Require(t, err)
	ca, crt, key, err := s.authority.Write(t.TempDir(), machine.HubName)
	controlplanetest.Require(t, err)
	_, err = s.network.Start(t.Context(), machine.Internet, process.Spec{
		Name: tool.Name, Path: program, Args: args(ca, crt, key),
		Ready: s.network.Answers(machine.Internet, net.JoinHostPort(machine.HubAddress, ready)),
	})
	controlplanetest.Require(t, err)
}

// konnectivityServer has who asks it do so at a socket.
func (s *site) konnectivityServer(t *testing.T) {
	t.Helper()
	s.hub(t, tools.ANPServer034, "8091", func(ca, crt, key string) []string {
		return []string{
			"--logtostderr=true", "--mode=http-connect", "--server-port=0", "--uds-name=" + machine.Dir + "/front.sock",
			"--agent-port=8091", "--cluster-ca-cert=" + ca, "--cluster-cert=" + crt, "--cluster-key=" + key,
		}
	})
	s.dial = func(ctx context.Context) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", s.network.Path(machine.Dir, "front.sock"))
		if err != nil {
			return nil, err
		}
		if err := tunnels.Connect(ctx, conn, service); err != nil {
			return nil, errors.Join(err, conn.Close())
		}
		return conn, nil
	}
}

// chiselServer listens for the spoke's service where its client says.
func (s *site) chiselServer(t *testing.T) {
	t.Helper()
	s.hub(t, tools.Chisel, "443", func(_, crt, key string) []string {
		return []string{"server", "--reverse", "--host=" + machine.HubAddress, "--port=443", "--tls-cert=" + crt, "--tls-key=" + key}
	})
	s.dial = func(ctx context.Context) (net.Conn, error) {
		return s.network.Dial(ctx, machine.Internet, net.JoinHostPort(machine.HubAddress, "8000"))
	}
}

// ask has the hub ask the spoke's service for something that nobody has asked for before.
func (s *site) ask(ctx context.Context) error { return tunnels.Ask(ctx, service, s.dial) }

func (s *site) awaitTunnel(t *testing.T) {
	t.Helper()
	controlplanetest.Await(t, "a tunnel", func(ctx context.Context) (bool, error) {
		if err := s.ask(ctx); err != nil {
			return false, errors.Join(err, last(s.agent), last(s.relay))
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

// start starts the pod's relay, if it has one, and then its agent, as the kubelet does.
func (s *site) start(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if relayed(pod) {
		s.startRelay(t, pod)
	}
	s.agent = s.run(t, pod, pod.Spec.Containers[0].Name)
}

func (s *site) startRelay(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	sidecar := pod.Spec.InitContainers[0]
	s.node.Programs[sidecar.Image] = s.programs["fairlead-relay"]
	s.node.Files = map[string]map[string]string{sidecar.Image: relayFiles}
	s.relay = s.run(t, pod, sidecar.Name)
	controlplanetest.Await(t, "the relay's startup probe", func(ctx context.Context) (bool, error) {
		status, said, err := s.probe(ctx, sidecar.StartupProbe.HTTPGet)
		if status == http.StatusOK {
			return true, nil
		}
		return false, errors.Join(err, errors.New(said), last(s.relay))
	})
}

func (s *site) run(t *testing.T, pod *corev1.Pod, container string) *process.Process {
	t.Helper()
	p, err := s.node.Start(t.Context(), pod, container)
	controlplanetest.Require(t, err)
	return p
}

// stop ends the agent, and then the relay, as the kubelet does.
func (s *site) stop(t *testing.T) {
	t.Helper()
	for _, p := range []*process.Process{s.agent, s.relay} {
		if p != nil {
			controlplanetest.Require(t, p.Stop())
		}
	}
	s.agent, s.relay = nil, nil
}

// probe is the kubelet's, who asks at the pod's address.
func (s *site) probe(ctx context.Context, at *corev1.HTTPGetAction) (status int, said string, err error) {
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
		return s.network.Dial(ctx, machine.Corp, address)
	}}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://%s:%s%s", machine.CorpAddress, at.Port.String(), at.Path), nil)
	if err != nil {
		return 0, "", err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return 0, "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return response.StatusCode, string(body), err
}

// awaitReadiness returns when the relay's readiness probe has this status and says this.
func (s *site) awaitReadiness(t *testing.T, pod *corev1.Pod, status int, text string) {
	t.Helper()
	controlplanetest.Await(t, "/readyz to say "+text, func(ctx context.Context) (bool, error) {
		code, said, err := s.probe(ctx, pod.Spec.InitContainers[0].ReadinessProbe.HTTPGet)
		if code == status && strings.Contains(said, text) {
			return true, nil
		}
		return false, errors.Join(err, fmt.Errorf("%d: %s", code, said))
	})
}

// change has the Secret be another, and its volume.
func (s *site) change(t *testing.T, pod *corev1.Pod, url string) {
	t.Helper()
	s.setSecret(t, s.namespace, url, s.noProxy)
	controlplanetest.Require(t, s.node.Refresh(t.Context(), pod))
}

func (s *site) awaitLog(t *testing.T, p *process.Process, texts ...string) {
	t.Helper()
	controlplanetest.Await(t, "the log to say: "+strings.Join(texts, ", or: "), func(context.Context) (bool, error) {
		log, err := p.Log()
		for _, text := range texts {
			if strings.Contains(log, text) {
				return true, err
			}
		}
		return false, errors.Join(err, last(p))
	})
}

// last is the end of what a program says, as an error.
func last(p *process.Process) error {
	if p == nil {
		return nil
	}
	log, err := p.Log()
	return errors.Join(err, errors.New(log[max(0, len(log)-1500):]))
}

// awaitRequests are what squid was asked, once the last one is this.
func (s *site) awaitRequests(t *testing.T, want machine.Request) []machine.Request {
	t.Helper()
	var requests []machine.Request
	controlplanetest.Await(t, fmt.Sprintf("%v in squid's log", want), func(context.Context) (bool, error) {
		var err error
		requests, err = s.squid.Requests()
		if len(requests) > 0 && requests[len(requests)-1] == want {
			return true, nil
		}
		return false, errors.Join(err, fmt.Errorf("%v", requests))
	})
	return requests
}
