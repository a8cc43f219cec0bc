package frp_test

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/node"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

// otherPort is that of a second frps.
const otherPort = 8443

// site is the company and the hub, each version's own.
type site struct {
	*harness
	version   version
	namespace string
	network   *machine.Network
	squid     *machine.Squid
	node      *node.Node
	hosts     *os.File // mounts of the hub's operator, who knows the names of the tunnel
}

func (h *harness) newSite(t *testing.T, v version) *site {
	t.Helper()
	network := machinetest.Network(t)
	s := &site{harness: h, version: v, network: network}
	var err error
	s.squid, err = network.StartSquid(t.Context(), machine.SquidOptions{
		User: username, Password: password, Ports: []int{v.port, otherPort}, ReadTimeout: tunnels.Patience, TLS: h.authority,
	})
	controlplanetest.Require(t, err)
	s.node = &node.Node{
		Network: network, Clients: h.clients,
		Programs:   map[string]string{v.program: build(t, v.client)},
		ServiceEnv: map[string]string{"KUBERNETES_SERVICE_HOST": machine.ServiceAddress, "KUBERNETES_SERVICE_PORT": "443"},
	}
	s.hosts, err = network.Mounts(s.mountHosts)
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = s.hosts.Close() })
	s.forwardAPIServer(t)
	s.namespace = h.namespace(t, s.labels(t))
	return s
}

// hub is frps, for frpc.
func (s *site) hub() string { return net.JoinHostPort(machine.HubName, strconv.Itoa(s.version.port)) }

// forwardAPIServer lets the real API server, which listens on the test's loopback interface, be the service in the
// cluster.
func (s *site) forwardAPIServer(t *testing.T) {
	t.Helper()
	server, err := url.Parse(s.cp.Admin().Host)
	controlplanetest.Require(t, err)
	listener, err := s.network.Listen(t.Context(), machine.Cluster, net.JoinHostPort(machine.ServiceAddress, "443"))
	controlplanetest.Require(t, err)
	machine.Forward(t.Context(), listener, machine.To(server.Host))
}

// serve starts frps in the hub and returns when it listens.
func (s *site) serve(t *testing.T, config string, port int) {
	t.Helper()
	name := "frps-" + strconv.Itoa(port)
	file := filepath.Join(machine.Dir, name)
	controlplanetest.Require(t, os.WriteFile(s.network.Path(file), []byte(config), 0o600))
	_, err := s.network.Start(t.Context(), machine.Internet, process.Spec{
		Name: name, Path: build(t, s.version.server), Args: []string{"-c", file},
		Ready: s.network.Answers(machine.Internet, net.JoinHostPort(machine.HubAddress, strconv.Itoa(port))),
	})
	controlplanetest.Require(t, err)
}

// start starts frpc as the pod says.
func (s *site) start(t *testing.T, pod *corev1.Pod) *process.Process {
	t.Helper()
	agent, err := s.node.Start(t.Context(), pod, container)
	controlplanetest.Require(t, err)
	return agent
}

// awaitTunnel returns when frps has taken the agent's proxy so many times.
func awaitTunnel(t *testing.T, agent *process.Process, times int) {
	t.Helper()
	controlplanetest.Await(t, fmt.Sprintf("tunnel %d of frpc", times), func(context.Context) (bool, error) {
		log, err := agent.Log()
		select {
		case <-agent.Done():
			t.Fatalf("frpc has ended:\n%s", log)
		default:
		}
		if strings.Count(log, "start proxy success") < times {
			return false, fmt.Errorf("frpc says:\n%s", log)
		}
		return true, err
	})
}

// awaitEnd returns when frpc has given up, for this reason.
func awaitEnd(t *testing.T, agent *process.Process, why string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	ended := agent.Wait(ctx)
	controlplanetest.Require(t, agent.Stop()) // or it would hold the tunnel
	if log, err := agent.Log(); ended == nil || ctx.Err() != nil || err != nil || !strings.Contains(log, why) {
		t.Errorf("frpc has ended (%v), and not because of %q: %v\n%s", ended, why, err, log)
	}
}

// awaitLog returns when the program has printed the text.
func awaitLog(t *testing.T, p *process.Process, text string) {
	t.Helper()
	controlplanetest.Await(t, "the text "+text, func(context.Context) (bool, error) {
		log, err := p.Log()
		if err == nil && !strings.Contains(log, text) {
			err = fmt.Errorf("it has printed:\n%s", log)
		}
		return err == nil, err
	})
}

// since returns what squid was asked after the first so many requests. What checkIdle's other tunnel asks does not count:
// it comes again at times of its own.
func (s *site) since(t *testing.T, first int) []machine.Request {
	t.Helper()
	requests, err := s.squid.Requests()
	controlplanetest.Require(t, err)
	return slices.DeleteFunc(requests, func(r machine.Request) bool { return r == connect(otherPort) })[first:]
}

// checkAsked compares what squid was asked after the first so many requests. It notes them when they have ended.
func (s *site) checkAsked(t *testing.T, first int, want ...machine.Request) {
	t.Helper()
	controlplanetest.Await(t, fmt.Sprintf("%d requests in squid's log", len(want)), func(context.Context) (bool, error) {
		if got := s.since(t, first); len(got) < len(want) {
			return false, fmt.Errorf("it has %+v", got)
		}
		return true, nil
	})
	if diff := cmp.Diff(want, s.since(t, first), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("what squid was asked (-want +got):\n%s", diff)
	}
}

func build(t *testing.T, tool tools.Tool) string {
	t.Helper()
	path, err := tools.Build(t.Context(), tool, os.Stderr)
	controlplanetest.Require(t, err)
	return path
}
