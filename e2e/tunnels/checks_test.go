package tunnels_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// patience is how long squid lets a tunnel be silent. The server of the apiserver-network-proxy allows no keepalive below
// 30 seconds; frpc and chisel have 30 and 25. idle is longer than squid's patience.
const (
	patience = 45 * time.Second
	idle     = patience + 8*time.Second
)

// checkOutside: the agent as its vendor means it reaches nobody, and so does who wants something of the spoke.
func (s *site) checkOutside(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.run(t, pod)
	s.awaitSaid(t, "lookup "+machine.HubName)
	s.checkNoTunnel(t, "without the proxy")
	s.stop(t)
	if requests, err := s.squid.Requests(); err != nil || len(requests) != 0 {
		t.Errorf("squid was asked for %v (%v)", requests, err)
	}
}

// checkPassword: while squid knows another one there is no tunnel, and once it is the Secret's there is.
func (s *site) checkPassword(t *testing.T, pod *corev1.Pod, says string) {
	t.Helper()
	controlplanetest.Require(t, s.squid.SetPassword(t.Context(), "another"))
	s.run(t, pod)
	s.awaitSaid(t, says)
	s.checkNoTunnel(t, "with a wrong password")
	controlplanetest.Require(t, s.squid.SetPassword(t.Context(), password))
	select {
	case <-s.running[0].Done(): // the kubelet would start it again
		s.runAgain(t, pod)
	default:
	}
	s.awaitTunnel(t)
}

// checkRestart: squid's end is the tunnel's, and its return the tunnel's return.
func (s *site) checkRestart(t *testing.T) {
	t.Helper()
	s.squid.Kill() // what was open is never noted
	s.checkNoTunnel(t, "without squid")
	controlplanetest.Require(t, s.squid.Start(t.Context()))
	s.awaitTunnel(t)
}

// checkIdle: after a time that is too long for squid the tunnel is there, and it is the same one.
func (s *site) checkIdle(t *testing.T) {
	t.Helper()
	stays(t, func() {
		time.Sleep(idle) // nothing happens: that is the subject
		s.awaitTunnel(t)
	}, func() int { return s.ended(t) })
}

// stays has nothing happen for longer than squid's patience, after which the tunnel is to be the same: changed counts what
// says that it is another one. A keepalive comes too late where a machine has much else to do, so the tunnel has three tries;
// without one it survives none of them.
func stays(t *testing.T, idle func(), changed func() int) {
	t.Helper()
	for try := 1; ; try++ {
		before := changed()
		idle()
		lost := changed() - before
		switch {
		case lost == 0:
			return
		case try == 3:
			t.Errorf("no tunnel survives idle time: %d were lost now", lost)
			return
		}
		t.Logf("%d tunnels were lost in idle time, try %d", lost, try)
	}
}

// checkLeaves: the pod gets through the proxy, asks it for nothing but the tunnel, and where it has a relay, has no password.
func (s *site) checkLeaves(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	s.run(t, pod)
	s.awaitTunnel(t)
	if relayed(pod) {
		s.checkSecrecy(t, pod)
	}
	s.checkAsked(t, granted(s.target))
}

// checkAsked: once the agent has ended, squid has noted these requests and no others. Of tunnels it took with it, it knows
// nothing.
func (s *site) checkAsked(t *testing.T, want ...machine.Request) {
	t.Helper()
	s.stop(t)
	order := func(a, b machine.Request) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) }
	slices.SortFunc(want, order)
	controlplanetest.Await(t, "squid's log", func(context.Context) (bool, error) {
		got, err := s.squid.Requests()
		controlplanetest.Require(t, err)
		slices.SortFunc(got, order)
		diff := gocmp.Diff(want, slices.Compact(got))
		return controlplanetest.Holds(diff == "", "what squid was asked (-want +got):\n%s", diff)
	})
}

// checkSecrecy: whoever looks at the pod, at its programs or at their logs learns no password.
func (s *site) checkSecrecy(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	stored, err := json.Marshal(pod)
	controlplanetest.Require(t, err)
	places := map[string]string{"the pod": string(stored)}
	told := "no_proxy=*"
	if slices.Contains(pod.Spec.InitContainers[0].Args, "--listen=127.0.0.1:3128") {
		told = "_proxy=http://127.0.0.1:3128\x00"
	}
	for i, p := range append([]*process.Process{s.relay}, s.running...) {
		log, err := p.Log()
		controlplanetest.Require(t, err)
		places[fmt.Sprintf("the log of program %d", i)] = log
		for _, file := range []string{"cmdline", "environ"} {
			content := controlplanetest.ReadFile(t, fmt.Sprintf("/proc/%d/%s", program(t, p), file))
			places[fmt.Sprintf("%s of program %d", file, i)] = string(content)
			if file != "environ" || i == 0 { // the relay's
				continue
			}
			if text := strings.ToLower(string(content)); !strings.Contains(text, told) || strings.Contains(text, machine.ProxyName) || strings.Contains(text, machine.ProxyAddress) {
				t.Errorf("the agent's environment is %q", content)
			}
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
}

// throughBoth shows something at a proxy that speaks TLS, and at one that does not.
func (c *cluster) throughBoth(t *testing.T, show func(t *testing.T, url func(string) string)) {
	t.Helper()
	for scheme, url := range map[string]func(string) string{"https": secureURL, "http": plainURL} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			show(t, url)
		})
	}
}

// checkRotation: the agent gets through, and a new password is one of the mounted folder and of squid alone. What is open stays
// open, and what comes after has the new one.
func (s *site) checkRotation(t *testing.T, pod *corev1.Pod, url func(string) string) {
	t.Helper()
	s.run(t, pod)
	s.awaitTunnel(t)
	s.awaitReadiness(t, pod, 200, "its settings can be read")
	s.checkSecrecy(t, pod)
	agent, relay := program(t, s.running[0]), program(t, s.relay)

	s.change(t, pod, url(nextCredential))
	controlplanetest.Require(t, s.squid.SetPassword(t.Context(), next))
	if err := s.ask(t.Context()); err != nil {
		t.Errorf("the tunnel that was open before the new password: %v", err)
	}
	s.checkRestart(t)
	s.checkSecrecy(t, pod)
	if agent != program(t, s.running[0]) || relay != program(t, s.relay) {
		t.Error("a process is another one")
	}
	s.checkAsked(t, granted(s.target))
}

// program is the one that nsenter has started for a container.
func program(t *testing.T, p *process.Process) int {
	t.Helper()
	pid, err := machine.OnlyChild(p.PID())
	controlplanetest.Require(t, err)
	return pid
}
