package tunnels_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// agentPod is a pod of an agent that has its files from the Secret of that name.
func agentPod(t *testing.T, labels, annotations map[string]string, container corev1.Container) []byte {
	t.Helper()
	container.Image = "registry.example/" + container.Name + ":1"
	container.VolumeMounts = []corev1.VolumeMount{{Name: "agent", MountPath: "/etc/agent", ReadOnly: true}}
	return manifestOf(t, &corev1.Pod{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"},
		ObjectMeta: metav1.ObjectMeta{Name: container.Name, Labels: labels, Annotations: annotations},
		Spec: corev1.PodSpec{
			AutomountServiceAccountToken: new(bool),
			Containers:                   []corev1.Container{container},
			Volumes: []corev1.Volume{{Name: "agent", VolumeSource: corev1.VolumeSource{
				Secret: &corev1.SecretVolumeSource{SecretName: "agent"},
			}}},
		},
	})
}

// chisel is an agent that knows of no proxy, unless an argument names one. It makes the hub listen for the spoke's service.
func chisel(t *testing.T, labels, annotations map[string]string) []byte {
	t.Helper()
	return agentPod(t, labels, annotations, corev1.Container{
		Name: "chisel", Command: []string{"/chisel", "client"}, Args: []string{
			"--tls-ca=/etc/agent/ca.crt", "--max-retry-interval=1s", "https://" + machine.HubName,
			"R:" + machine.HubAddress + ":8000:" + service,
		},
	})
}

// chiselRelayed asks for the relay, and says where to: no policy reads chisel's arguments.
func chiselRelayed(t *testing.T) []byte {
	t.Helper()
	return chisel(t, map[string]string{"fairlead.io/tunnel": "relay"}, map[string]string{"fairlead.io/relay-targets": machine.HubName + ":443"})
}

func (c *cluster) chiselSite(t *testing.T, url string) *site {
	t.Helper()
	s := c.site(t, c.namespace(t, url), 443)
	program := controlplanetest.Tool(t, tools.Chisel)
	s.node.Programs["/chisel"] = program
	_, crt, key := s.issue(t, machine.HubName)
	s.start(t, machine.Internet, "443", process.Spec{Name: "chisel", Path: program, Args: []string{
		"server", "--reverse", "--host=" + machine.HubAddress, "--port=443", "--tls-cert=" + crt, "--tls-key=" + key,
	}})
	s.ask = func(ctx context.Context) error {
		return askService(ctx, s.dial(machine.Internet, machine.HubAddress+":8000"))
	}
	return s
}

func chiselSidecar(t *testing.T, c *cluster, by engine) {
	c.throughBoth(t, func(t *testing.T, url func(string) string) {
		s := c.chiselSite(t, url(credential))
		s.checkRotation(t, c.as(t, by, s.namespace, chisel(t, map[string]string{"app": "chisel"}, nil)), url)
	})
}

// chiselRelay: it does not read the variables, and its pod says where it goes.
func chiselRelay(t *testing.T, c *cluster, by engine) {
	s := c.chiselSite(t, secureURL(credential))
	pod := c.as(t, by, s.namespace, chiselRelayed(t))
	if by == byMutate {
		s.checkLeaves(t, pod)
		return
	}
	s.checkOutside(t, c.stored(t, s.namespace, podOf(t, chisel(t, map[string]string{"fairlead.io/tunnel": "environment"}, nil))))
	s.run(t, pod)
	s.awaitTunnel(t)
	s.awaitReadiness(t, pod, 200, s.target+": a tunnel was opened")
	s.checkIdle(t)
	s.checkSecrecy(t, pod)
	s.checkEnd(t)
	s.checkAsked(t, granted(s.target))
}

// checkRelayedIdle: squid ends what is silent, which the relay does not hide; the agent's keepalive goes through it, and its
// tunnel stays.
func (s *site) checkRelayedIdle(t *testing.T) {
	t.Helper()
	silent := 0
	stays(t, func() {
		s.awaitSilentEnds(t)
		silent++
		s.awaitTunnel(t)
	}, func() int { return s.count(t, "tunnel opened") - silent })
}

// awaitSilentEnds opens a tunnel in which nothing is said, and returns when squid has ended it.
func (s *site) awaitSilentEnds(t *testing.T) {
	t.Helper()
	opened := s.count(t, "tunnel opened")
	silent, err := s.network.Dial(t.Context(), machine.Corp, net.JoinHostPort("127.0.0.1", agentPort))
	controlplanetest.Require(t, err)
	defer silent.Close() //nolint:errcheck // it has ended
	s.awaitOpened(t, opened+1)
	controlplanetest.Require(t, silent.SetReadDeadline(time.Now().Add(patience+2*time.Minute)))
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

func (s *site) awaitOpened(t *testing.T, count int) {
	t.Helper()
	controlplanetest.Await(t, fmt.Sprintf("%d tunnels", count), func(context.Context) (bool, error) {
		return controlplanetest.Holds(s.count(t, "tunnel opened") >= count, "the relay says: %v", last(s.relay))
	})
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

// relayFull: as many tunnels as there can be, all busy, to a proxy that is known by one authority among all of this machine's,
// stay within the memory that the policy gives the relay.
func relayFull(t *testing.T, c *cluster) {
	const limit = 256
	s := c.site(t, c.namespace(t, secureURL(credential)), 443)
	listener := machinetest.Listen(t, s.network, machine.Internet, machine.HubAddress+":443")
	machinetest.Accept(t, listener, func(conn net.Conn) { _, _ = io.Copy(conn, conn) })
	public := controlplanetest.ReadFile(t, "/etc/ssl/certs/ca-certificates.crt")
	c.putConfig(t, s.namespace, policies.TrustedCA, map[string]string{"ca.crt": string(append(public, c.authority.PEM()...))})
	pod := c.stored(t, s.namespace, podOf(t, chiselRelayed(t)))
	s.startRelay(t, pod)

	conns := make([]net.Conn, limit)
	for i := range conns {
		conns[i] = s.agentConn(t)
	}
	s.awaitOpened(t, limit)
	echoes := make(chan error, limit)
	for _, conn := range conns {
		go func() { echoes <- echo(conn) }()
	}
	for range conns {
		if err := <-echoes; err != nil {
			t.Errorf("%v; %v", err, last(s.relay))
			break
		}
	}
	if said, _ := io.ReadAll(s.agentConn(t)); len(said) > 0 || s.count(t, "msg=refused") != 1 {
		t.Errorf("tunnel %d: %q; %v", limit+1, said, last(s.relay))
	}
	had, err := process.MemoryOf(program(t, s.relay))
	controlplanetest.Require(t, err)
	if may := int(pod.Spec.InitContainers[0].Resources.Limits.Memory().Value() >> 10); had.Peak > may {
		t.Errorf("the relay with %d tunnels over TLS had %d KiB, of %d", limit, had.Peak, may)
	}
	for _, conn := range conns {
		_ = conn.Close()
	}
	s.stop(t)
}

// agentConn is a connection of somebody in the pod.
func (s *site) agentConn(t *testing.T) net.Conn {
	t.Helper()
	conn, err := s.network.Dial(t.Context(), machine.Corp, "127.0.0.1:443")
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	controlplanetest.Require(t, conn.SetDeadline(time.Now().Add(time.Minute)))
	return conn
}

// echo says much, and hears it again.
func echo(conn net.Conn) error {
	said := bytes.Repeat([]byte("fairlead"), 64<<10)
	written := make(chan error, 1)
	go func() {
		_, err := conn.Write(said)
		written <- err
	}()
	heard := make([]byte, len(said))
	_, err := io.ReadFull(conn, heard)
	if err = errors.Join(err, <-written); err == nil && !bytes.Equal(said, heard) {
		err = errors.New("what comes back is something else")
	}
	return err
}
