package node_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/node"
	"github.com/fairlead-io/fairlead/e2e/process"
)

const (
	user     = "spoke"
	password = "first"
	hub      = machine.HubName + ":7000"
)

func TestAContainerReachesTheHubThroughATLSProxyOnly(t *testing.T) {
	n := newNode(t)
	controlplanetest.Require(t, n.Network.CheckClosed(t.Context()))
	authority, err := machine.NewAuthority("Example Corp")
	controlplanetest.Require(t, err)
	squid, err := n.Network.StartSquid(t.Context(), machine.SquidOptions{
		User: user, Password: password, TLS: authority, Hosts: map[string]string{"alias.example": machine.HubAddress},
	})
	controlplanetest.Require(t, err)
	serve(t, n.Network, authority)
	n.Clients = fake.NewClientset(configMap(map[string]string{"ca.crt": string(authority.PEM())}))
	curl := func(arguments ...string) corev1.Container {
		command := append([]string{"curl", "-sS", "--fail", "--max-time", "20", "--cacert", "/ca/ca.crt"}, arguments...)
		return corev1.Container{Name: "curl", Command: command, VolumeMounts: []corev1.VolumeMount{{Name: "ca", MountPath: "/ca"}}}
	}
	proxy := func(host string) string {
		return fmt.Sprintf("https://%s:%s@%s:%d", user, password, host, machine.ProxyTLSPort)
	}
	run := func(c corev1.Container) (string, error) {
		ca := corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: ref}}
		return n.Run(t.Context(), pod(corev1.PodSpec{Containers: []corev1.Container{c}, Volumes: []corev1.Volume{{Name: "ca", VolumeSource: ca}}}), "curl")
	}
	if output, err := run(curl("https://" + machine.HubName)); err == nil {
		t.Errorf("without the proxy: %q", output)
	}
	through := []string{"--proxy-cacert", "/ca/ca.crt", "-x"}
	for _, host := range []string{machine.ProxyName, machine.ProxyAddress} {
		for _, target := range []string{machine.HubName, "alias.example"} {
			if output, err := run(curl(append(through, proxy(host), "https://"+target)...)); err != nil || output != "hub" {
				t.Errorf("%s through %s: %q (%v)", target, host, output, err)
			}
		}
	}
	if _, err := run(curl("-x", proxy(machine.ProxyName), "https://"+machine.HubName)); err == nil || !strings.Contains(err.Error(), "certificate") {
		t.Errorf("without the proxy's authority: %v", err)
	}
	if _, err := run(curl(append(through, proxy(machine.ProxyName), "https://"+hub)...)); err == nil || !strings.Contains(err.Error(), "403") {
		t.Errorf("to a port that is not in the list: %v", err)
	}
	requests, err := squid.Requests()
	controlplanetest.Require(t, err)
	if len(requests) < 4 || requests[0] != (machine.Request{User: user, Method: "CONNECT", Target: machine.HubName + ":443", Status: 200}) {
		t.Errorf("squid was asked %+v", requests)
	}
}

func TestSquidEndsAnIdleTunnel(t *testing.T) {
	n, squid := tunnels(t, machine.SquidOptions{ReadTimeout: 2 * time.Second})
	p := hold(t, n, password)
	awaitLog(t, p, "200")
	awaitLog(t, p, "the tunnel has ended")
	awaitRequests(t, squid, machine.Request{User: user, Method: "CONNECT", Target: hub, Status: 200})
}

func TestSquidIsKilledAndStartedWhileTunnelsAreOpen(t *testing.T) {
	n, squid := tunnels(t, machine.SquidOptions{})
	granted := machine.Request{User: user, Method: "CONNECT", Target: hub, Status: 200}
	for _, end := range []func() error{
		func() error { squid.Kill(); return nil },
		squid.Stop,
	} {
		p := hold(t, n, password)
		awaitLog(t, p, "200")
		controlplanetest.Require(t, end())
		awaitLog(t, p, "the tunnel has ended")
		if _, err := n.Network.Dial(t.Context(), machine.Corp, net.JoinHostPort(machine.ProxyAddress, strconv.Itoa(machine.ProxyPort))); err == nil {
			t.Error("squid still listens")
		}
		controlplanetest.Require(t, squid.Start(t.Context()))
	}
	p := hold(t, n, password)
	awaitLog(t, p, "200")
	controlplanetest.Require(t, p.Stop())
	awaitRequests(t, squid, granted, granted) // the one that was killed has noted nothing
}

func TestANewPasswordLeavesTunnelsOpenAndTheOldOneIsRefused(t *testing.T) {
	n, squid := tunnels(t, machine.SquidOptions{})
	open := hold(t, n, password)
	awaitLog(t, open, "200")
	controlplanetest.Require(t, squid.SetPassword(t.Context(), "second"))
	awaitLog(t, hold(t, n, password), "407")
	awaitLog(t, hold(t, n, "second"), "200")
	select {
	case <-open.Done():
		t.Error("the tunnel has ended")
	default:
	}
}

// tunnels is a network with squid, which lets a CONNECT through to the hub. That says nothing.
func tunnels(t *testing.T, options machine.SquidOptions) (*node.Node, *machine.Squid) {
	t.Helper()
	n := newNode(t)
	n.Programs = map[string]string{"hold:1": build(t, "hold")}
	options.User, options.Password, options.Ports = user, password, []int{443, 7000}
	squid, err := n.Network.StartSquid(t.Context(), options)
	controlplanetest.Require(t, err)
	listener, err := n.Network.Listen(t.Context(), machine.Internet, net.JoinHostPort(machine.HubAddress, "7000"))
	controlplanetest.Require(t, err)
	machinetest.Accept(t, listener, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
	return n, squid
}

// hold is a container with a tunnel to the hub.
func hold(t *testing.T, n *node.Node, password string) *process.Process {
	t.Helper()
	proxy := "http://" + user + ":" + password + "@" + net.JoinHostPort(machine.ProxyAddress, strconv.Itoa(machine.ProxyPort))
	p, err := n.Start(t.Context(), pod(corev1.PodSpec{Containers: []corev1.Container{{
		Name: "hold", Image: "hold:1", Args: []string{hub}, Env: []corev1.EnvVar{{Name: "HTTPS_PROXY", Value: proxy}},
	}}}), "hold")
	controlplanetest.Require(t, err)
	return p
}

func awaitRequests(t *testing.T, squid *machine.Squid, want ...machine.Request) {
	t.Helper()
	var got []machine.Request
	controlplanetest.Await(t, "squid's log", func(context.Context) (bool, error) {
		var err error
		if got, err = squid.Requests(); err == nil && len(got) < len(want) {
			err = fmt.Errorf("it has %+v", got)
		}
		return err == nil, err
	})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what squid was asked (-want +got):\n%s", diff)
	}
}

// serve is a hub that says so.
func serve(t *testing.T, network *machine.Network, authority *machine.Authority) {
	t.Helper()
	certificate, key, err := authority.Issue(machine.HubName, "alias.example")
	controlplanetest.Require(t, err)
	pair, err := tls.X509KeyPair(certificate, key)
	controlplanetest.Require(t, err)
	listener, err := network.Listen(t.Context(), machine.Internet, net.JoinHostPort(machine.HubAddress, "443"))
	controlplanetest.Require(t, err)
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hub") })}
	go func() {
		_ = server.Serve(tls.NewListener(listener, &tls.Config{Certificates: []tls.Certificate{pair}}))
	}()
	t.Cleanup(func() { _ = server.Close() })
}
