package frp_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/rand"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
)

func TestFrpcCarriesARealAPIServerThroughSquidAsThePolicyHasChangedItsPod(t *testing.T) {
	h := newHarness(t)
	for _, v := range versions {
		t.Run(v.name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, h, v)
			server := s.serve(t, v.serverText(v.port), v.port)
			s.checkControls(t)
			agent := s.start(t, s.deploy(t, "mutated", change{}))
			awaitProxies(t, agent, 1)
			s.checkTunnel(t)
			s.checkCertificate(t)
			s.checkWatch(t)
			s.checkIdle(t, server)
			s.checkRestart(t, agent)
			controlplanetest.Require(t, agent.Stop())
			s.checkOthers(t)
		})
	}
}

// tunnel is what squid notes of a tunnel to a port of the hub.
func tunnel(port int) machine.Request {
	return machine.Request{User: username, Method: "CONNECT", Target: fmt.Sprintf("%s:%d", machine.HubName, port), Status: 200}
}

// checkControls: without the policy frpc does not reach the hub, and not with the variables that others read.
func (s *site) checkControls(t *testing.T) {
	t.Helper()
	url := proxyURL("http", machine.ProxyPort)
	for variant, env := range map[string][]corev1.EnvVar{
		"unmutated":  nil,
		"upper-case": {{Name: "HTTP_PROXY", Value: url}, {Name: "HTTPS_PROXY", Value: url}, {Name: "ALL_PROXY", Value: url}},
	} {
		pod := s.deploy(t, variant, change{unmutated: true, env: env})
		if got := len(pod.Spec.Containers[0].Env); got != len(env) {
			t.Errorf("%s: the pod has %d variables", variant, got)
		}
		agent := s.start(t, pod)
		err := agent.Wait(t.Context())
		log, _ := agent.Log()
		t.Log(variant, err, log)
	}
	s.checkAsked(t, 0)
}

// checkTunnel: who is in the hub reads what is in the cluster.
func (s *site) checkTunnel(t *testing.T) {
	t.Helper()
	nonce := rand.String(20)
	s.write(t, nonce)
	if output, err := s.get(t, tunnelName); err != nil || output != nonce {
		t.Errorf("kubectl get: %v: %q instead of %q", err, output, nonce)
	}
}

func (s *site) checkCertificate(t *testing.T) {
	t.Helper()
	output, err := s.get(t, strangerName)
	want := "x509: certificate is valid for localhost, kubernetes.default.svc, " + tunnelName + ", not " + strangerName
	if err == nil || !strings.Contains(output, want) {
		t.Errorf("by a name that the API server's certificate has not: %v: %s", err, output)
	}
}

func (s *site) checkWatch(t *testing.T) {
	t.Helper()
	nonces := []string{rand.String(20), rand.String(20)}
	s.write(t, nonces[0])
	watch := s.kubectl(t, tunnelName, "get", "configmap", note, "--watch", "--output", `jsonpath={.data.nonce}{"\n"}`)
	awaitLog(t, watch, nonces[0])
	s.write(t, nonces[1])
	awaitLog(t, watch, nonces[1])
	controlplanetest.Require(t, watch.Stop())
}

func (s *site) checkIdle(t *testing.T, server *process.Process) {
	t.Helper()
	s.serve(t, s.version.quietServer(otherPort), otherPort)
	quiet := s.start(t, s.deploy(t, "quiet", change{config: func(config string) string {
		return s.version.quiet(strings.Replace(config, fmt.Sprintf(" = %d\n", s.version.port), fmt.Sprintf(" = %d\n", otherPort), 1))
	}}))
	awaitLog(t, quiet, "login to server success")
	s.checkAsked(t, 0, tunnel(otherPort))
	s.checkTunnel(t)
	if log, err := server.Log(); err != nil || strings.Count(log, "client login info") != 1 {
		t.Errorf("frps says of its clients (%v):\n%s", err, log)
	}
}

func (s *site) checkRestart(t *testing.T, agent *process.Process) {
	t.Helper()
	s.squid.Kill()
	if output, err := s.get(t, tunnelName); err == nil {
		t.Errorf("without squid: %q", output)
	}
	controlplanetest.Require(t, s.squid.Start(t.Context()))
	awaitProxies(t, agent, 2)
	s.checkTunnel(t)
	log, _ := agent.Log()
	t.Log(log)
}

func (s *site) checkOthers(t *testing.T) {
	for _, protocol := range []string{"kcp", "quic", "websocket", "wss"} {
		agent := s.start(t, s.deploy(t, protocol, change{config: func(c string) string { return s.version.transport(c, protocol) }}))
		time.Sleep(4 * time.Second)
		log, _ := agent.Log()
		out, err := s.network.Run(t.Context(), machine.Corp, nil, "ss", "-unap")
		t.Log(protocol, log, string(out), err)
		_ = agent.Stop()
	}
	t.Log(s.since(t, 0))
	_ = s.squid.SetPassword(t.Context(), "second")
	agent := s.start(t, s.deploy(t, "mutated2", change{}))
	_ = agent.Wait(t.Context())
	log, _ := agent.Log()
	t.Log(log)
	t.Log(s.since(t, 0))
}

func logged(p *process.Process, text string) (bool, error) {
	log, err := p.Log()
	if err == nil && !strings.Contains(log, text) {
		err = fmt.Errorf("it has printed:\n%s", log)
	}
	return err == nil, err
}

func TestMain(m *testing.M) { controlplanetest.Main(m) }
