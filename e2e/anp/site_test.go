package anp_test

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
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/node"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
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
	network, err := machine.Start(t.Context())
	controlplanetest.Require(t, err)
	t.Cleanup(func() {
		if err := network.Close(); err != nil {
			t.Error(err)
		}
	})
	s := &site{version: v, network: network}
	squid.User, squid.Ports = user, []int{agentPort}
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
	controlplanetest.Require(t, network.CheckClosed(t.Context()))
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
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, address+" was asked for "+r.URL.Path)
	})}
	go func() { _ = server.Serve(listener) }()
	t.Cleanup(func() { _ = server.Close() })
}

func (s *site) startServer(t *testing.T, c *cluster, tokens bool) {
	t.Helper()
	program, err := tools.Build(t.Context(), s.version.server, os.Stderr)
	controlplanetest.Require(t, err)
	certificate, key, err := c.authority.Issue(machine.HubName, machine.HubAddress, "127.0.0.1")
	controlplanetest.Require(t, err)
	dir := t.TempDir()
	ca, crt, keyFile := filepath.Join(dir, "ca.crt"), filepath.Join(dir, "tls.crt"), filepath.Join(dir, "tls.key")
	for file, content := range map[string][]byte{ca: c.authority.PEM(), crt: certificate, keyFile: key} {
		controlplanetest.Require(t, os.WriteFile(file, content, 0o600))
	}
	args := []string{
		"--logtostderr=true", "--mode=http-connect",
		"--server-port=" + frontPort, "--server-ca-cert=" + ca, "--server-cert=" + crt, "--server-key=" + keyFile,
		fmt.Sprintf("--agent-port=%d", agentPort), "--cluster-cert=" + crt, "--cluster-key=" + keyFile,
	}
	if tokens {
		s.bridge(t, c)
		args = append(args, "--agent-namespace="+agents, "--agent-service-account=konnectivity-agent",
			"--authentication-audience=system:konnectivity-server", "--kubeconfig="+c.cp.AdminKubeconfig())
	} else {
		args = append(args, "--cluster-ca-cert="+ca)
	}
	pair, err := tls.X509KeyPair(certificate, key)
	controlplanetest.Require(t, err)
	s.front = &tls.Config{RootCAs: c.authority.Pool(), ServerName: machine.HubName, Certificates: []tls.Certificate{pair}}
	_, err = s.network.Start(t.Context(), machine.Internet, process.Spec{
		Name: "proxy-server", Path: program, Args: args,
		Ready: func(ctx context.Context) error {
			conn, err := s.network.Dial(ctx, machine.Internet, net.JoinHostPort(machine.HubAddress, frontPort))
			if err != nil {
				return err
			}
			return conn.Close()
		},
	})
	controlplanetest.Require(t, err)
}

// bridge lets the hub reach the API server, which is on this machine's loopback interface, at the same address.
func (s *site) bridge(t *testing.T, c *cluster) {
	t.Helper()
	address := strings.TrimPrefix(c.cp.Admin().Host, "https://")
	listener, err := s.network.Listen(t.Context(), machine.Internet, address)
	controlplanetest.Require(t, err)
	forward(t, listener, func(ctx context.Context) (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", address) })
}

// forward connects whoever comes with what is dialled.
func forward(t *testing.T, listener net.Listener, dial func(context.Context) (net.Conn, error)) {
	t.Helper()
	ctx := t.Context()
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			from, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer from.Close() //nolint:errcheck // it was copied, or not
				to, err := dial(ctx)
				if err != nil {
					return
				}
				go func() {
					defer to.Close() //nolint:errcheck // as above
					_, _ = io.Copy(to, from)
				}()
				_, _ = io.Copy(from, to)
			}()
		}
	}()
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
	if err := connect(ctx, conn, address); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

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
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy server says %s", response.Status)
	}
	return nil
}

// ask has the hub ask a service that only the spoke reaches for something that nobody has asked for before.
func (s *site) ask(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	conn, err := s.dial(ctx, net.JoinHostPort(machine.ServiceAddress, "80"))
	if err != nil {
		return err
	}
	defer conn.Close() //nolint:errcheck // it was read
	nonce := rand.Text()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+machine.ServiceAddress+"/"+nonce, nil)
	if err != nil {
		return err
	}
	if err := request.Write(conn); err != nil {
		return err
	}
	response, err := http.ReadResponse(bufio.NewReader(conn), request)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(response.Body)
	if err == nil && string(body) != machine.ServiceAddress+":80 was asked for /"+nonce {
		err = fmt.Errorf("the service says %q", body)
	}
	return err
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
		requests, err = s.squid.Requests()
		return len(requests) >= count, err
	})
	return requests
}
