// Package anp runs real servers and agents of the apiserver-network-proxy (konnectivity): the hub's server in the
// internet, the agent in the company's network behind squid, in three versions that reach a proxy by three different
// pieces of gRPC. The agent's pod is a vendor's, created on a real API server where real Kyverno has the chart's
// policies, or printed by fairlead mutate.
package anp_test

import (
	"flag"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "16"); err != nil { // they wait, and do not compute
		panic(err)
	}
	controlplanetest.Main(m)
}

// The versions have gRPC 1.51, 1.67 and 1.72. Since 1.71 it is a resolver that finds the proxy.
var versions = []version{
	{"v0.1.6", tools.ANPAgent01, tools.ANPServer01, false},
	{"v0.31.4", tools.ANPAgent031, tools.ANPServer031, false},
	{"v0.34.0", tools.ANPAgent034, tools.ANPServer034, true},
}

func TestTheAgentIsReachedThroughTheProxy(t *testing.T) {
	tunnels.Complete(t)
	t.Parallel()
	c := newCluster(t)
	t.Run("agents", func(t *testing.T) {
		for vendor, manifest := range map[string][]byte{"upstream": upstream(t), "HyperShift": hyperShift(t)} {
			unmutated := c.excluded(t, podOf(t, manifest))
			asMutated := map[tunnels.Engine]*corev1.Pod{
				tunnels.Kyverno: c.mutated(t, podOf(t, manifest)),
				tunnels.Mutate:  c.excluded(t, podOf(t, mutate(t, manifest))),
			}
			checkSame(t, asMutated)
			for _, v := range versions {
				for engine, mutated := range asMutated {
					t.Run(vendor+" by "+string(engine)+" "+v.name, func(t *testing.T) {
						t.Parallel()
						s := c.site(t, v, vendor == "upstream", machine.SquidOptions{Password: "another", ReadTimeout: tunnels.Patience})
						s.checkOutside(t, unmutated)
						s.checkPassword(t, mutated)
						s.checkRestart(t)
						s.checkIdle(t)
						s.checkRequests(t)
						tunnels.Record(t, v.row(engine))
					})
				}
			}
		}
		mutated := c.mutated(t, podOf(t, upstream(t)))
		for _, v := range versions {
			t.Run("idle without the keepalive "+v.name, func(t *testing.T) {
				t.Parallel()
				s := c.site(t, v, true, machine.SquidOptions{Password: password, ReadTimeout: tunnels.Patience})
				s.checkDies(t, withoutKeepalive(t, mutated))
			})
			t.Run("a proxy URL without a port "+v.name, func(t *testing.T) {
				t.Parallel()
				s := c.site(t, v, true, machine.SquidOptions{Password: password})
				s.checkNoPort(t, c.excluded(t, withoutPort(t)))
			})
		}
	})
}

func (v version) row(engine tunnels.Engine) tunnels.Row {
	return tunnels.Row{
		Agent: "apiserver-network-proxy agent", Version: v.name, Way: tunnels.Environment,
		Set:        "six variables; `--keepalive-time=30s`",
		CannotWork: "`https://` proxies; a keepalive below 30 s; a proxy URL without a port" + v.withoutPort(),
		Engine:     engine, Result: "passes",
	}
}

// checkSame: both engines give the agent the same command line and environment, and a keepalive that squid can live
// with, once. HyperShift has one of its own, in two arguments.
func checkSame(t *testing.T, pods map[tunnels.Engine]*corev1.Pod) {
	t.Helper()
	lines := map[tunnels.Engine]corev1.Container{}
	for engine, pod := range pods {
		agent := pod.Spec.Containers[0]
		lines[engine] = corev1.Container{Command: agent.Command, Args: agent.Args, Env: agent.Env, EnvFrom: agent.EnvFrom}
		line := strings.Join(agent.Args, " ")
		if strings.Count(line, "--keepalive-time") != 1 || !strings.Contains(strings.ReplaceAll(line, "=", " "), "--keepalive-time 30s") {
			t.Errorf("by %s the arguments are %s", engine, line)
		}
	}
	if diff := cmp.Diff(lines[tunnels.Kyverno], lines[tunnels.Mutate]); diff != "" {
		t.Errorf("fairlead mutate makes another agent than Kyverno (-Kyverno +mutate):\n%s", diff)
	}
}

// checkOutside: the agent as its vendor means it reaches nobody, and so does who wants something of the spoke.
func (s *site) checkOutside(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.run(t, pod)
	s.awaitLog(t, "lookup "+machine.HubName)
	if err := s.ask(t.Context()); err == nil {
		t.Error("there is a tunnel without the proxy")
	}
	if requests, err := s.squid.Requests(); err != nil || len(requests) != 0 {
		t.Errorf("squid was asked for %v (%v)", requests, err)
	}
}

// checkPassword: while squid knows another one there is no tunnel, and once it is the Secret's there is.
func (s *site) checkPassword(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.run(t, pod)
	s.awaitLog(t, "407 Proxy Authentication Required")
	if err := s.ask(t.Context()); err == nil {
		t.Error("there is a tunnel with a wrong password")
	}
	controlplanetest.Require(t, s.squid.SetPassword(t.Context(), password))
	s.awaitTunnel(t)
}

// checkRestart: squid's end is the tunnel's, and its return the tunnel's return.
func (s *site) checkRestart(t *testing.T) {
	t.Helper()
	s.squid.Kill()
	if err := s.ask(t.Context()); err == nil {
		t.Error("there is a tunnel without squid")
	}
	controlplanetest.Require(t, s.squid.Start(t.Context()))
	s.awaitTunnel(t)
}

// checkIdle: after a time that is too long for squid the tunnel is there, and it is the same one. squid notes what ends.
func (s *site) checkIdle(t *testing.T) {
	t.Helper()
	tunnels.Stays(t, func() {
		time.Sleep(tunnels.Idle) // nothing happens: that is the subject
		s.awaitTunnel(t)
	}, func() int {
		requests, err := s.squid.Requests()
		controlplanetest.Require(t, err)
		return len(slices.DeleteFunc(requests, func(r machine.Request) bool { return r != tunnel }))
	})
}

// checkRequests: squid was asked for the server at the hub and for nothing in the cluster, and the last tunnel has ended
// with the agent. The one that squid took with it was never noted.
func (s *site) checkRequests(t *testing.T) {
	t.Helper()
	before := s.requests(t, 1)
	s.stop(t)
	requests := s.requests(t, len(before)+1)
	strange := func(r machine.Request) bool { return r != refused && r != tunnel }
	if requests[len(requests)-1] != tunnel || slices.ContainsFunc(requests, strange) {
		t.Errorf("squid was asked for %+v", requests)
	}
}

// checkDies: squid ends the idle tunnel, and the agent makes another.
func (s *site) checkDies(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	began := time.Now() // and not when the tunnel is seen, which may be late
	s.run(t, pod)
	s.awaitTunnel(t)
	if requests := s.requests(t, 1); requests[0] != tunnel {
		t.Errorf("squid was asked for %+v", requests)
	}
	if lasted := time.Since(began); lasted < tunnels.Patience-time.Second {
		t.Errorf("the tunnel has ended after %s, which is not squid's doing", lasted)
	}
	s.awaitTunnel(t)
}

// withoutKeepalive is the pod without that one argument.
func withoutKeepalive(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	args := pod.Spec.Containers[0].Args
	pod.Spec.Containers[0].Args = slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "--keepalive-time=30s" })
	if len(pod.Spec.Containers[0].Args) != len(args)-1 {
		t.Fatalf("the arguments are %q", args)
	}
	return pod
}
