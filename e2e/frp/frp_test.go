// Package frp has real frpc carry a real API server from the company's network to a hub, through a real squid: as the
// pod of a Deployment that real Kyverno, or fairlead mutate, has changed.
package frp_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func TestFrpcCarriesAnAPIServerThroughSquidAsItsPodIsMutated(t *testing.T) {
	tunnels.Complete(t)
	h := newHarness(t)
	for _, v := range []version{v044, v061} {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := h.newSite(t, v)
			s.checkNothingWithoutThePolicy(t)
			pod := s.deploy(t, "mutated", change{})
			s.checkMutated(t, pod)
			s.checkTunnel(t, pod)
			s.checkWrongPassword(t, pod)
			s.checkOwnValues(t)
			s.checkTransports(t)
			tunnels.Record(t, v.row(tunnels.Kyverno))
			s.checkFairleadMutate(t, pod)
			tunnels.Record(t, v.row(tunnels.Mutate))
			s.checkSidecar(t)
			s.checkRelay(t)
			s.checkTLSProxy(t)
			if v.name == v061.name {
				s.checkFrpc070(t)
			}
		})
	}
}

func (v version) row(engine tunnels.Engine) tunnels.Row {
	return tunnels.Row{
		Agent: "frpc", Version: v.name, Way: tunnels.Environment, Set: "`http_proxy`", CannotWork: v.cannot,
		Engine: engine, Result: "passes",
	}
}

// connect is what squid notes of a tunnel to a port of the hub.
func connect(port int) machine.Request {
	return machine.Request{User: username, Method: "CONNECT", Target: fmt.Sprintf("%s:%d", machine.HubName, port), Status: 200}
}

// checkNothingWithoutThePolicy: there is no way out but squid, and frpc does not take it for the variables that others
// read.
func (s *site) checkNothingWithoutThePolicy(t *testing.T) {
	t.Helper()
	s.serve(t, s.version.config(s.version.port, 443), s.version.port)
	url := proxyURL("http", machine.ProxyPort)
	for variant, env := range map[string][]corev1.EnvVar{
		"unmutated":  nil,
		"upper-case": {{Name: "HTTP_PROXY", Value: url}, {Name: "HTTPS_PROXY", Value: url}, {Name: "ALL_PROXY", Value: url}},
	} {
		pod := s.deploy(t, variant, change{unmutated: true, env: env})
		if diff := cmp.Diff(env, pod.Spec.Containers[0].Env); diff != "" {
			t.Errorf("%s: the pod was changed (-want +got):\n%s", variant, diff)
		}
		awaitEnd(t, s.start(t, pod), "lookup "+machine.HubName)
	}
	if output, err := s.get(t, tunnelName); err == nil {
		t.Errorf("kubectl get without a tunnel: %q", output)
	}
	s.checkAsked(t, 0)
}

// checkMutated: frpc reads one variable, and gets it as a reference.
func (s *site) checkMutated(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	want := corev1.EnvVar{Name: "http_proxy", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: policies.Secret}, Key: "http_proxy",
	}}}
	var got corev1.EnvVar
	for _, e := range pod.Spec.Containers[0].Env {
		if e.Name == want.Name {
			got = e
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the variable of the pod (-want +got):\n%s", diff)
	}
}

// checkTunnel is the whole life of a tunnel.
func (s *site) checkTunnel(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	before := len(s.since(t, 0))
	agent := s.start(t, pod)
	awaitTunnel(t, agent, 1)
	s.checkGet(t)
	s.checkCertificate(t)
	s.checkWatch(t)
	lost := s.checkIdle(t, agent)
	s.checkSquidKilled(t, agent, lost+1)
	controlplanetest.Require(t, agent.Stop())
	s.checkAsked(t, before, slices.Repeat([]machine.Request{connect(s.version.port)}, lost+1)...) // one was open when squid was killed
}

// checkWrongPassword: a company with another password lets nobody through, and frpc ends.
func (s *site) checkWrongPassword(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	before := len(s.since(t, 0))
	controlplanetest.Require(t, s.squid.SetPassword(t.Context(), "another"))
	awaitEnd(t, s.start(t, pod), "StatusCode [407]")
	if output, err := s.get(t, tunnelName); err == nil {
		t.Errorf("kubectl get with a wrong password: %q", output)
	}
	refused := connect(s.version.port)
	refused.Status = 407
	s.checkAsked(t, before, refused)
	controlplanetest.Require(t, s.squid.SetPassword(t.Context(), password))
}

// checkOwnValues: what others read is a pod's own business. NO_PROXY would keep the hub from the proxy, did frpc
// know of it.
func (s *site) checkOwnValues(t *testing.T) {
	t.Helper()
	own := []corev1.EnvVar{
		{Name: "HTTP_PROXY", Value: "http://elsewhere.example:1"},
		{Name: "HTTPS_PROXY", Value: "http://elsewhere.example:1"},
		{Name: "NO_PROXY", Value: machine.HubName + ",.example"},
		{Name: "no_proxy", Value: machine.HubName + ",.example"},
	}
	pod := s.deploy(t, "own-values", change{env: own})
	if diff := cmp.Diff(own, pod.Spec.Containers[0].Env[:len(own)]); diff != "" {
		t.Errorf("its own values (-want +got):\n%s", diff)
	}
	s.checkMutated(t, pod)
	s.checkOnce(t, pod)
}

// checkFairleadMutate: the same manifest, changed ahead instead of by a webhook, starts the same program.
func (s *site) checkFairleadMutate(t *testing.T, mutated *corev1.Pod) {
	t.Helper()
	pod := s.deploy(t, "fairlead-mutate", change{mutate: true, unmutated: true})
	for i, c := range mutated.Spec.Containers {
		want, got := c.DeepCopy(), pod.Spec.Containers[i].DeepCopy()
		want.VolumeMounts, got.VolumeMounts = nil, nil
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the container as Kyverno (-) and as fairlead mutate makes it (+):\n%s", diff)
		}
	}
	s.checkOnce(t, pod)
}

// checkOnce: the pod's tunnel works, and all that squid is asked for is the tunnel.
func (s *site) checkOnce(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	before := len(s.since(t, 0))
	agent := s.start(t, pod)
	awaitTunnel(t, agent, 1)
	s.checkGet(t)
	controlplanetest.Require(t, agent.Stop())
	s.checkAsked(t, before, connect(s.version.port))
}
