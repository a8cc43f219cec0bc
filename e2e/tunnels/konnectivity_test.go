package tunnels_test

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The server's ports at the hub: for who wants something of the spoke, and for agents.
const (
	frontPort = "8090"
	agentPort = "8091"
)

// konnectivity is a version of the apiserver-network-proxy.
type konnectivity struct {
	agent, server tools.Tool
}

// The versions have gRPC 1.51, 1.67 and 1.72.
var (
	konnectivity01  = konnectivity{tools.ANPAgent01, tools.ANPServer01}
	konnectivity031 = konnectivity{tools.ANPAgent031, tools.ANPServer031}
	konnectivity034 = konnectivity{tools.ANPAgent034, tools.ANPServer034}
)

// environment checks that the agents of two vendors leave by the six variables, which gRPC reads. Upstream's shows the server
// a token, HyperShift's a certificate.
func (v konnectivity) environment(t *testing.T, c *cluster, by engine) {
	for vendor, manifest := range map[string][]byte{"upstream": upstream(t), "HyperShift": controlplanetest.ReadFile(t, "testdata/hypershift.yaml")} {
		t.Run(vendor, func(t *testing.T) {
			if vendor != "upstream" {
				tier.Full(t)
			}
			t.Parallel()
			s := v.site(t, c, agents, vendor == "upstream")
			s.checkOutside(t, c.excluded(t, agents, podOf(t, manifest)))
			pod := c.as(t, by, agents, manifest)
			// One that squid can live with, once. HyperShift has one of its own, in two arguments.
			line := strings.ReplaceAll(strings.Join(pod.Spec.Containers[0].Args, " "), "=", " ")
			if strings.Count(line, "--keepalive-time") != 1 || !strings.Contains(line, "--keepalive-time 30s") {
				t.Errorf("the arguments are %s", line)
			}
			s.checkPassword(t, pod, "407 Proxy Authentication Required")
			s.checkRestart(t)
			if !tier.Short() {
				s.checkIdle(t)
			}
			s.checkAsked(t, granted(s.target), refused(s.target))
		})
	}
}

// idle: without the keepalive squid ends the idle tunnel, and the agent makes another.
func (v konnectivity) idle(t *testing.T, c *cluster) {
	s := v.site(t, c, agents, true)
	pod := c.as(t, byKyverno, agents, upstream(t))
	args := pod.Spec.Containers[0].Args
	pod.Spec.Containers[0].Args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--keepalive-time=30s" })
	if len(pod.Spec.Containers[0].Args) != len(args)-1 {
		t.Fatalf("the arguments are %q", args)
	}
	began := time.Now() // and not when the tunnel is seen, which may be late
	s.run(t, pod)
	s.awaitTunnel(t)
	controlplanetest.Await(t, "the end of the tunnel", func(context.Context) (bool, error) {
		return controlplanetest.Holds(s.ended(t) > 0, "squid has noted none")
	})
	if lasted := time.Since(began); lasted < patience-time.Second {
		t.Errorf("the tunnel has ended after %s, which is not squid's doing", lasted)
	}
	s.awaitTunnel(t)
}

// sidecar checks that the agent leaves by a forward proxy of its own, which a rotation does not restart.
func (v konnectivity) sidecar(t *testing.T, c *cluster, by engine) {
	c.throughBoth(t, func(t *testing.T, url func(string) string) {
		s := v.site(t, c, c.namespace(t, url(credential)), false)
		pod := c.as(t, by, s.namespace, konnectivityPod(t, map[string]string{"k8s-app": "konnectivity-agent"}))
		s.checkRotation(t, pod, url)
	})
}

// relay checks that the agent finds the relay in the hub's place. The agent's gRPC cannot speak TLS with a
// proxy.
func (v konnectivity) relay(t *testing.T, c *cluster, by engine) {
	s := v.site(t, c, c.namespace(t, secureURL(credential)), false)
	byTarget := konnectivityPod(t, map[string]string{"app": "konnectivity-agent"})
	pod := c.as(t, by, s.namespace, byTarget)
	if by == byMutate {
		s.checkLeaves(t, pod)
		return
	}
	s.checkOutside(t, c.excluded(t, s.namespace, podOf(t, byTarget)))
	s.checkRelayed(t, pod)
	s.checkEnd(t)
}

// checkRelayed: the relay says what is wrong with the proxy, and the agent is there as soon as it can.
func (s *site) checkRelayed(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.setSecret(t, s.namespace, secureURL(wrong))
	s.run(t, pod)
	s.awaitReadiness(t, pod, http.StatusServiceUnavailable, "407 Proxy Authentication Required: it does not accept the user or the password")
	s.checkNoTunnel(t, "with a wrong password")
	s.change(t, pod, secureURL(credential))
	s.awaitTunnel(t)
	s.awaitReadiness(t, pod, http.StatusOK, s.target+": a tunnel was opened")

	s.squid.Kill()
	s.checkNoTunnel(t, "without squid")
	s.awaitReadiness(t, pod, http.StatusServiceUnavailable, "connection refused")
	controlplanetest.Require(t, s.squid.Start(t.Context()))
	s.awaitTunnel(t)
	s.checkRelayedIdle(t)
	s.checkSecrecy(t, pod)
}

// site starts all but the agent. tokens says how agents prove who they are.
func (v konnectivity) site(t *testing.T, c *cluster, namespace string, tokens bool) *site {
	t.Helper()
	s := c.site(t, namespace, 8091)
	s.node.Programs["/proxy-agent"] = controlplanetest.Tool(t, v.agent)
	s.node.Programs["/usr/bin/proxy-agent"] = s.node.Programs["/proxy-agent"]
	ca, crt, key := s.issue(t, machine.HubName, machine.HubAddress, "127.0.0.1")
	args := []string{
		"--logtostderr=true", "--mode=http-connect",
		"--server-port=" + frontPort, "--server-ca-cert=" + ca, "--server-cert=" + crt, "--server-key=" + key,
		"--agent-port=" + agentPort, "--cluster-cert=" + crt, "--cluster-key=" + key,
	}
	if tokens {
		s.bridge(t, machine.Internet, strings.TrimPrefix(c.cp.Admin().Host, "https://"), c.cp)
		args = append(args, "--agent-namespace="+agents, "--agent-service-account=konnectivity-agent",
			"--authentication-audience=system:konnectivity-server", "--kubeconfig="+c.cp.AdminKubeconfig())
	} else {
		args = append(args, "--cluster-ca-cert="+ca)
	}
	s.start(t, machine.Internet, frontPort, process.Spec{Name: "proxy-server", Path: controlplanetest.Tool(t, v.server), Args: args})
	pair, err := tls.LoadX509KeyPair(crt, key)
	controlplanetest.Require(t, err)
	front := &tls.Config{RootCAs: c.authority.Pool(), ServerName: machine.HubName, Certificates: []tls.Certificate{pair}}
	s.ask = func(ctx context.Context) error {
		return askService(ctx, func(ctx context.Context) (net.Conn, error) {
			raw, err := s.network.Dial(ctx, machine.Internet, net.JoinHostPort(machine.HubAddress, frontPort))
			if err != nil {
				return nil, err
			}
			conn := tls.Client(raw, front)
			if err := connect(ctx, conn, service); err != nil {
				return nil, errors.Join(err, conn.Close())
			}
			return conn, nil
		})
	}
	return s
}

// upstream is the DaemonSet that the project itself has as an example.
func upstream(t *testing.T) []byte {
	t.Helper()
	dir, err := tools.ModuleDir(t.Context(), tools.ANPAgent034.Module, "sigs.k8s.io/apiserver-network-proxy")
	controlplanetest.Require(t, err)
	manifest := controlplanetest.ReadFile(t, filepath.Join(dir, "examples", "kind", "konnectivity-agent-ds.yaml"))
	const inCluster = "konnectivity-server.kube-system.svc.cluster.local"
	return []byte(strings.Replace(string(manifest), inCluster, machine.HubName, 1))
}

// konnectivityPod is one that shows the server a certificate.
func konnectivityPod(t *testing.T, labels map[string]string) []byte {
	t.Helper()
	return agentPod(t, labels, nil, corev1.Container{
		Name: "konnectivity-agent", Command: []string{"/proxy-agent"}, Args: []string{
			"--logtostderr=true", "--ca-cert=/etc/agent/ca.crt", "--agent-cert=/etc/agent/tls.crt", "--agent-key=/etc/agent/tls.key",
			"--proxy-server-host=" + machine.HubName, "--proxy-server-port=" + agentPort, "--sync-interval=500ms", "--sync-interval-cap=1s",
			"--agent-identifiers=default-route=true",
		},
	})
}
