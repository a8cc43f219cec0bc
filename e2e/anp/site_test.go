package anp_test

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
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

// The server's ports at the hub: for who wants something of the spoke, and for agents.
const (
	frontPort = "8090"
	agentPort = 8091
)

// tunnel is what squid notes of the agent's connection.
var tunnel = machine.Request{User: user, Method: "CONNECT", Target: fmt.Sprintf("%s:%d", machine.HubName, agentPort), Status: http.StatusOK}

// refused is what squid notes of an agent with a wrong password.
var refused = machine.Request{User: user, Method: "CONNECT", Target: tunnel.Target, Status: http.StatusProxyAuthRequired}

// version is one of the programs.
type version struct {
	name          string
	agent, server tools.Tool
	resolves      bool // the proxy, by gRPC's resolver
}

// site is a company with a server at its hub, squid, and an agent where the spoke is.
type site struct {
	version version
	network *machine.Network
	squid   *machine.Squid
	node    *node.Node
	front   *tls.Config // of who asks the server
	agent   *process.Process
}

// site starts all but the agent. tokens says how agents prove who they are.
func (c *cluster) site(t *testing.T, v version, tokens bool, squid machine.SquidOptions) *site {
	t.Helper()
	network := machinetest.Network(t)
	s := &site{version: v, network: network}
	squid.User, squid.Ports = user, []int{agentPort}
	var err error
	s.squid, err = network.StartSquid(t.Context(), squid)
	controlplanetest.Require(t, err)
	agent, err := tools.Build(t.Context(), v.agent, os.Stderr)
	controlplanetest.Require(t, err)
	s.node = &node.Node{
		Network: network, Clients: c.clients,
		Programs: map[string]string{"/proxy-agent": agent, "/usr/bin/proxy-agent": agent},
	}
	s.serve(t, machine.Cluster, net.JoinHostPort(machine.ServiceAddress, "80"), nil)
	s.startServer(t, c, tokens)
	if _, err := network.Dial(t.Context(), machine.Internet, net.JoinHostPort(machine.ServiceAddress, "80")); err == nil {
		t.Fatal("the hub reaches the spoke's service without a tunnel")
	}
	return s
}

// serve answers at an address of the spoke with the path it was asked for.
func (s *site) serve(t *testing.T, where machine.Namespace, address string, secure *tls.Config) {
	t.Helper()
	listener, err := s.network.Listen(t.Context(), where, address)
	controlplanetest.Require(t, err)
	if secure != nil {
		listener = tls.NewListener(listener, secure)
	}
	tunnels.Serve(t, listener, address)
}

func (s *site) startServer(t *testing.T, c *cluster, tokens bool) {
	t.Helper()
	program, err := tools.Build(t.Context(), s.version.server, os.Stderr)
	controlplanetest.Require(t, err)
	ca, crt, key, err := c.authority.Write(t.TempDir(), machine.HubName, machine.HubAddress, "127.0.0.1")
	controlplanetest.Require(t, err)
	args := []string{
		"--logtostderr=true", "--mode=http-connect",
		"--server-port=" + frontPort, "--server-ca-cert=" + ca, "--server-cert=" + crt, "--server-key=" + key,
		fmt.Sprintf("--agent-port=%d", agentPort), "--cluster-cert=" + crt, "--cluster-key=" + key,
	}
	if tokens {
		s.bridge(t, c)
		args = append(args, "--agent-namespace="+agents, "--agent-service-account=konnectivity-agent",
			"--authentication-audience=system:konnectivity-server", "--kubeconfig="+c.cp.AdminKubeconfig())
	} else {
		args = append(args, "--cluster-ca-cert="+ca)
	}
	pair, err := tls.LoadX509KeyPair(crt, key)
	controlplanetest.Require(t, err)
	s.front = &tls.Config{RootCAs: c.authority.Pool(), ServerName: machine.HubName, Certificates: []tls.Certificate{pair}}
	_, err = s.network.Start(t.Context(), machine.Internet, process.Spec{
		Name: "proxy-server", Path: program, Args: args,
		Ready: s.network.Answers(machine.Internet, net.JoinHostPort(machine.HubAddress, frontPort)),
	})
	controlplanetest.Require(t, err)
}

// bridge lets the hub reach the API server, which is on this machine's loopback interface, at the same address.
func (s *site) bridge(t *testing.T, c *cluster) {
	t.Helper()
	address := strings.TrimPrefix(c.cp.Admin().Host, "https://")
	listener, err := s.network.Listen(t.Context(), machine.Internet, address)
	controlplanetest.Require(t, err)
	machine.Forward(t.Context(), listener, machine.To(address))
}

// run has the agent be that of the pod.
func (s *site) run(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.stop(t)
	var err error
	s.agent, err = s.node.Start(t.Context(), pod, pod.Spec.Containers[0].Name)
	controlplanetest.Require(t, err)
}

// stop ends the agent.
func (s *site) stop(t *testing.T) {
	t.Helper()
	if s.agent != nil {
		controlplanetest.Require(t, s.agent.Stop())
	}
	s.agent = nil
}

// dial connects the hub with an address of the spoke, through the tunnel.
func (s *site) dial(ctx context.Context, address string) (net.Conn, error) {
	raw, err := s.network.Dial(ctx, machine.Internet, net.JoinHostPort(machine.HubAddress, frontPort))
	if err != nil {
		return nil, err
	}
	conn := tls.Client(raw, s.front)
	if err := tunnels.Connect(ctx, conn, address); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// ask has the hub ask a service that only the spoke reaches for something that nobody has asked for before.
func (s *site) ask(ctx context.Context) error {
	address := net.JoinHostPort(machine.ServiceAddress, "80")
	return tunnels.Ask(ctx, address, func(ctx context.Context) (net.Conn, error) { return s.dial(ctx, address) })
}

// awaitTunnel returns when the hub reaches the spoke.
func (s *site) awaitTunnel(t *testing.T) {
	t.Helper()
	controlplanetest.Await(t, "a tunnel", func(ctx context.Context) (bool, error) {
		if err := s.ask(ctx); err != nil {
			return false, errors.Join(err, s.last())
		}
		return true, nil
	})
}

// awaitLog returns when the agent has said something of the kind.
func (s *site) awaitLog(t *testing.T, texts ...string) {
	t.Helper()
	controlplanetest.Await(t, "the agent to say: "+strings.Join(texts, ", or: "), func(context.Context) (bool, error) {
		log, err := s.agent.Log()
		for _, text := range texts {
			if strings.Contains(log, text) {
				return true, err
			}
		}
		return false, s.last()
	})
}

// last is the end of what the agent says, as an error.
func (s *site) last() error {
	log, err := s.agent.Log()
	return errors.Join(err, errors.New(log[max(0, len(log)-2000):]))
}

// requests are what squid was asked, once that is at least so much.
func (s *site) requests(t *testing.T, count int) []machine.Request {
	t.Helper()
	var requests []machine.Request
	controlplanetest.Await(t, fmt.Sprintf("%d requests in squid's log", count), func(context.Context) (bool, error) {
		var err error
		if requests, err = s.squid.Requests(); err == nil && len(requests) < count {
			err = fmt.Errorf("it has %+v", requests)
		}
		return err == nil, err
	})
	return requests
}
