// Package relay runs fairlead-relay as the policy puts it into pods, beside real agents that do not get through a proxy
// without it: the pod is created on a real API server where real Kyverno has the chart's policies, squid wants TLS and a
// password, and the hub's server is in the internet.
package relay_test

import (
	"context"
	"debug/elf"
	"encoding/base64"
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

func TestMain(m *testing.M) {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil { // they wait, and do not compute
		panic(err)
	}
	controlplanetest.Main(m)
}

func TestAgentsThatCannotSpeakToTheProxyGoThroughTheRelay(t *testing.T) {
	tunnels.Complete(t)
	c := newCluster(t, controlplanetest.Shared(t, kyverno.Content...))
	t.Run("apiserver-network-proxy", func(t *testing.T) {
		t.Parallel()
		s := c.site(t, proxyURL(credential), 8091)
		s.konnectivityServer(t)
		s.checkKonnectivityWithout(t)
		s.checkKonnectivity(t)
		tunnels.Record(t, konnectivityRow(tunnels.Kyverno))
	})
	t.Run("apiserver-network-proxy, fairlead mutate", func(t *testing.T) {
		t.Parallel()
		s := c.site(t, proxyURL(credential), 8091)
		s.konnectivityServer(t)
		s.checkTwin(t, konnectivity("twin", byTarget))
		s.awaitRequests(t, granted("8091"))
		tunnels.Record(t, konnectivityRow(tunnels.Mutate))
	})
	t.Run("chisel", func(t *testing.T) {
		t.Parallel()
		s := c.site(t, proxyURL(credential), 443)
		s.chiselServer(t)
		s.checkChisel(t)
		tunnels.Record(t, chiselRow(tunnels.Kyverno))
	})
	t.Run("chisel, fairlead mutate", func(t *testing.T) {
		t.Parallel()
		s := c.site(t, proxyURL(credential), 443)
		s.chiselServer(t)
		s.checkTwin(t, chiselRelayed("twin"))
		s.awaitRequests(t, granted("443"))
		tunnels.Record(t, chiselRow(tunnels.Mutate))
	})
	t.Run("as many tunnels as there can be", func(t *testing.T) {
		t.Parallel()
		s := c.site(t, proxyURL(credential), 443)
		s.checkFull(t)
	})
	t.Run("one static file", func(t *testing.T) { checkStatic(t, c.programs["fairlead-relay"]) })
}

func konnectivityRow(engine tunnels.Engine) tunnels.Row {
	return tunnels.Row{
		Agent: "apiserver-network-proxy agent", Version: tools.ANPAgent034.Version, Way: tunnels.Relay,
		Set: "`https://` proxies; `--keepalive-time=30s`", Engine: engine, Result: "passes",
	}
}

func chiselRow(engine tunnels.Engine) tunnels.Row {
	return tunnels.Row{
		Agent: "chisel", Version: tools.Chisel.Version, Way: tunnels.Relay,
		Set: "`fairlead.io/relay-targets`; `https://` proxies", CannotWork: "the variables, which it does not read", Engine: engine, Result: "passes",
	}
}

// granted is what squid notes of a tunnel to a port of the hub.
func granted(port string) machine.Request {
	return machine.Request{User: user, Method: http.MethodConnect, Target: net.JoinHostPort(machine.HubName, port), Status: http.StatusOK}
}

// checkKonnectivityWithout: there is no way but the proxy, and gRPC has no TLS for that.
func (s *site) checkKonnectivityWithout(t *testing.T) {
	t.Helper()
	excluded := map[string]string{"k8s-app": "konnectivity-agent", "policies.kyverno.io/inject-proxy-env": "exclude"}
	s.start(t, s.create(t, s.namespace, konnectivity("unchanged", excluded), unchanged))
	s.awaitLog(t, s.agent, "lookup "+machine.HubName)
	s.checkNoTunnel(t, "unchanged")
	s.stop(t)

	labels := map[string]string{"fairlead.io/tunnel": "environment"}
	s.start(t, s.create(t, s.namespace, konnectivity("environment", labels), throughEnvironment))
	s.awaitLog(t, s.agent, "failed to do connect handshake", "failed to read server HTTP response", "connection error")
	s.checkNoTunnel(t, "with the variables")
	requests, err := s.squid.Requests()
	controlplanetest.Require(t, err)
	for _, r := range requests {
		if r.Method == http.MethodConnect {
			t.Errorf("squid was asked for %+v", r)
		}
	}
	s.stop(t)
}

func (s *site) checkKonnectivity(t *testing.T) {
	t.Helper()
	s.setSecret(t, s.namespace, proxyURL(wrong))
	pod := s.create(t, s.namespace, konnectivity("relayed", byTarget), relayed)
	s.start(t, pod)
	tunnel := granted("8091")

	s.awaitReadiness(t, pod, http.StatusServiceUnavailable, "407 Proxy Authentication Required: it does not accept the user or the password")
	s.checkNoTunnel(t, "with a wrong password")
	s.change(t, pod, proxyURL(credential))
	s.awaitTunnel(t)
	s.awaitReadiness(t, pod, http.StatusOK, machine.HubName+":8091: a tunnel was opened")

	s.squid.Kill()
	s.checkNoTunnel(t, "without squid")
	s.awaitReadiness(t, pod, http.StatusServiceUnavailable, "connection refused")
	controlplanetest.Require(t, s.squid.Start(t.Context()))
	s.awaitTunnel(t)

	s.checkIdle(t)
	s.checkSecrecy(t, pod)

	relay := s.relay
	controlplanetest.Require(t, s.agent.Stop())
	requests := s.awaitRequests(t, tunnel)
	for _, r := range requests {
		if r.User != user || r.Target != tunnel.Target || r.Status != http.StatusOK && r.Status != http.StatusProxyAuthRequired {
			t.Errorf("squid was asked for %+v", r)
		}
	}
	// The other port of the same squid, with no TLS.
	s.change(t, pod, plainURL())
	s.agent = s.run(t, pod, pod.Spec.Containers[0].Name)
	s.awaitTunnel(t)
	through := "through=" + net.JoinHostPort(machine.ProxyAddress, strconv.Itoa(machine.ProxyPort))
	s.awaitLog(t, s.relay, through)
	select {
	case <-relay.Done():
		t.Error("the relay has ended")
	default:
	}
	s.checkDirect(t, pod)
	s.checkEnd(t)
}

// checkDirect: without a proxy, and where NO_PROXY has the hub, the agent reaches it all the same. Its name is the relay's
// in the pod; DNS knows where it is, and in the relay's image Go asks nobody else.
func (s *site) checkDirect(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.reachable(t, 8091)
	before, err := s.squid.Requests()
	controlplanetest.Require(t, err)
	for _, direct := range []struct{ url, noProxy, way string }{
		{"", "100.64.0.0/13", "way=\"direct: no proxy is set\""},
		{proxyURL(credential), "100.64.0.0/13," + machine.HubName, "way=\"direct: NO_PROXY covers it\""},
	} {
		controlplanetest.Require(t, s.agent.Stop())
		s.noProxy = direct.noProxy
		s.change(t, pod, direct.url)
		s.agent = s.run(t, pod, pod.Spec.Containers[0].Name)
		s.awaitTunnel(t)
		s.awaitLog(t, s.relay, "through="+net.JoinHostPort(machine.ServiceAddress, "8091")+" "+direct.way)
		s.awaitReadiness(t, pod, http.StatusOK, machine.HubName+":8091: a tunnel was opened")
	}
	after, err := s.squid.Requests()
	if controlplanetest.Require(t, err); len(after) > len(before)+1 { // what was open before has ended
		t.Errorf("squid was asked for %+v", after[len(before):])
	}
}

// checkIdle: squid ends what is silent, which the relay does not hide; the agent's keepalive goes through it, and its
// tunnel stays.
func (s *site) checkIdle(t *testing.T) {
	t.Helper()
	silent := 0
	tunnels.Stays(t, func() {
		s.awaitSilentEnds(t)
		silent++
		s.awaitTunnel(t)
	}, func() int { return s.count(t, "tunnel opened") - silent })
}

// awaitSilentEnds has a tunnel in which nothing is said, and returns when squid has ended it.
func (s *site) awaitSilentEnds(t *testing.T) {
	t.Helper()
	opened := s.count(t, "tunnel opened")
	silent, err := s.network.Dial(t.Context(), machine.Corp, "127.0.0.1:8091")
	controlplanetest.Require(t, err)
	defer silent.Close() //nolint:errcheck // it has ended
	s.awaitOpened(t, opened+1)
	controlplanetest.Require(t, silent.SetReadDeadline(time.Now().Add(tunnels.Patience+2*time.Minute)))
	if n, err := silent.Read(make([]byte, 1)); n > 0 || err == nil || os.IsTimeout(err) {
		t.Errorf("a tunnel in which nothing is said does not end: %v", err)
	}
}

// count says how often a text is in the relay's log.
func (s *site) count(t *testing.T, text string) int {
	t.Helper()
	log, err := s.relay.Log()
	controlplanetest.Require(t, err)
	return strings.Count(log, text)
}

// checkSecrecy: whoever looks at the pod, at its programs or at their logs learns no password.
func (s *site) checkSecrecy(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	stored, err := json.Marshal(pod)
	controlplanetest.Require(t, err)
	places := map[string]string{"the pod": string(stored)}
	for name, p := range map[string]*process.Process{"the agent": s.agent, "the relay": s.relay} {
		log, err := p.Log()
		controlplanetest.Require(t, err)
		places["the log of "+name] = log
		for _, file := range []string{"cmdline", "environ"} {
			content, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", program(t, p), file))
			controlplanetest.Require(t, err)
			places[name+"'s "+file] = string(content)
		}
	}
	basic := base64.StdEncoding.EncodeToString([]byte(user + ":" + password))
	for place, text := range places {
		for _, secret := range []string{password, credential, wrong, basic, next, nextCredential} {
			if strings.Contains(text, secret) {
				t.Errorf("%q is in %s", secret, place)
			}
		}
	}
	told := "NO_PROXY=*"
	if slices.Contains(pod.Spec.InitContainers[0].Args, "--listen=127.0.0.1:3128") {
		told = "HTTPS_PROXY=http://127.0.0.1:3128\x00"
	}
	if environ := places["the agent's environ"]; !strings.Contains(environ, told) || strings.Contains(environ, machine.ProxyName) {
		t.Errorf("the agent's environment is %q", environ)
	}
}

// checkEnd: a relay that is told to end does, once its tunnels have.
func (s *site) checkEnd(t *testing.T) {
	t.Helper()
	relay := s.relay
	s.stop(t)
	log, err := relay.Log()
	controlplanetest.Require(t, err)
	if !strings.Contains(log, "stopped listening") {
		t.Errorf("the relay's last words:\n%s", log[max(0, len(log)-500):])
	}
}

// checkChisel: it does not read the variables, and its pod says where it goes.
func (s *site) checkChisel(t *testing.T) {
	t.Helper()
	labels := map[string]string{"fairlead.io/tunnel": "environment"}
	s.start(t, s.create(t, s.namespace, chisel("environment", labels), throughEnvironment))
	s.awaitLog(t, s.agent, "lookup "+machine.HubName)
	s.checkNoTunnel(t, "with the variables")
	s.stop(t)
	if requests, err := s.squid.Requests(); err != nil || len(requests) > 0 {
		t.Errorf("squid was asked for %+v (%v)", requests, err)
	}
	pod := s.create(t, s.namespace, chiselRelayed("relayed"), relayed)
	s.start(t, pod)
	s.awaitTunnel(t)
	s.awaitReadiness(t, pod, http.StatusOK, machine.HubName+":443: a tunnel was opened")

	tunnels.Stays(t, func() {
		time.Sleep(tunnels.Idle) // its keepalive is every 25 seconds
		s.awaitTunnel(t)
	}, func() int { return s.count(t, "tunnel opened") })
	s.checkSecrecy(t, pod)
	s.checkEnd(t)
	s.awaitRequests(t, granted("443"))
}

// checkStatic: it needs nothing of the image it is in.
func checkStatic(t *testing.T, path string) {
	t.Helper()
	file, err := elf.Open(path)
	controlplanetest.Require(t, err)
	defer file.Close() //nolint:errcheck // it was read
	for _, segment := range file.Progs {
		if segment.Type == elf.PT_INTERP {
			t.Error("it is linked dynamically")
		}
	}
}

func (s *site) awaitOpened(t *testing.T, count int) {
	t.Helper()
	controlplanetest.Await(t, fmt.Sprintf("%d tunnels", count), func(context.Context) (bool, error) {
		if s.count(t, "tunnel opened") >= count {
			return true, nil
		}
		return false, last(s.relay)
	})
}

// program is the one that nsenter has started for a container.
func program(t *testing.T, p *process.Process) int {
	t.Helper()
	children, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", p.PID()))
	controlplanetest.Require(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(children)))
	controlplanetest.Require(t, err)
	return pid
}
