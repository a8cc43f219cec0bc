// Package probe_test lets the program fairlead probe look out of a company's network, in which nothing leads out but a real
// squid, and fairlead-operator probe out of a real control plane.
package probe_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

const (
	user     = "fleet"
	password = "Tr0ub4dor"
	inside   = machine.ServiceAddress // in the cluster: NO_PROXY covers it, and it answers without a proxy
	target   = "https://" + machine.InternetName
	// What squid does not reach: nobody listens, and nobody is there.
	down = "https://" + machine.InternetName + ":8443"
	gone = "https://203.0.113.99"
)

// site is a company with a squid, and two sites behind it. Both are known by the same authority.
type site struct {
	network   *machine.Network
	squid     *machine.Squid
	authority *machine.Authority // of the sites
	program   string
}

func newSite(t *testing.T, authority *machine.Authority, options machine.SquidOptions) *site {
	t.Helper()
	s := &site{network: machinetest.Network(t), authority: authority}
	var err error
	s.program = controlplanetest.Program(t, "fairlead")
	options.User, options.Password = user, password
	s.squid, err = s.network.StartSquid(t.Context(), options)
	controlplanetest.Require(t, err)
	s.serve(t, machine.Internet, machine.InternetAddress+":443", machine.InternetName)
	s.serve(t, machine.Internet, machine.HubAddress+":443", machine.HubName)
	s.serve(t, machine.Cluster, inside+":443", inside)
	return s
}

// serve answers every request with 401, in HTTP/2 if it is asked in that.
func (s *site) serve(t *testing.T, where machine.Namespace, address, name string) {
	t.Helper()
	listener := machinetest.TLS(t, s.network, where, address, s.authority, &tls.Config{NextProtos: []string{"h2", "http/1.1"}}, name)
	machinetest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }, listener)
}

// serveNames starts a real CoreDNS for squid to ask. It has a single name.
func (s *site) serveNames(t *testing.T) {
	t.Helper()
	coreDNS := controlplanetest.Tool(t, tools.CoreDNS)
	file := filepath.Join(t.TempDir(), "Corefile")
	controlplanetest.Require(t, os.WriteFile(file, []byte(".:53 {\n\tbind 127.0.0.1\n\thosts {\n\t\t203.0.113.77 somebody.example\n\t}\n}\n"), 0o600))
	_, err := s.network.Start(t.Context(), machine.DMZ, process.Spec{
		Name: "coredns", Path: coreDNS, Args: []string{"-conf=" + file}, Ready: s.network.Answers(machine.DMZ, "127.0.0.1:53"),
	})
	controlplanetest.Require(t, err)
}

// listen starts a listener in dmz that is no proxy.
func (s *site) listen(t *testing.T, port string, talk func(net.Conn)) {
	t.Helper()
	listener, err := s.network.Listen(t.Context(), machine.DMZ, net.JoinHostPort(machine.ProxyAddress, port))
	controlplanetest.Require(t, err)
	machinetest.Accept(t, listener, talk)
}

// Somebody who says nothing, and a server of another protocol.
func silent(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) }
func ssh(conn net.Conn)    { _, _ = io.WriteString(conn, "SSH-2.0-OpenSSH_9.2\r\n"); silent(conn) }

func proxyURL(scheme, password, port string) string {
	return scheme + "://" + user + ":" + password + "@" + machine.ProxyAddress + ":" + port
}

// settings writes a folder as it is mounted.
func settings(t *testing.T, proxy string, bundle ...*machine.Authority) (folder string) {
	t.Helper()
	files := map[string]string{"HTTPS_PROXY": proxy, "HTTP_PROXY": proxy, "NO_PROXY": machine.ServiceAddress + ",.corp.example," + machine.ServiceName}
	for _, authority := range bundle {
		files["ca.crt"] += string(authority.PEM())
	}
	folder = t.TempDir()
	for name, content := range files {
		controlplanetest.Require(t, os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600))
	}
	return folder
}

// probe runs the program in corp.
func (s *site) probe(t *testing.T, timeout, folder string, targets ...probe.Target) []probe.TargetResult {
	t.Helper()
	list, err := json.Marshal(targets)
	controlplanetest.Require(t, err)
	file := filepath.Join(t.TempDir(), "targets.json")
	controlplanetest.Require(t, os.WriteFile(file, list, 0o600))
	out, err := s.network.Run(t.Context(), machine.Corp, nil, s.program, "probe", "--settings", folder, "--targets", file, "--timeout", timeout, "--retry", "100ms", "-o", "json")
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) {
		t.Fatal(err)
	}
	if strings.Contains(string(out), password) || err != nil && strings.Contains(err.Error(), password) {
		t.Fatal("it prints a password")
	}
	var results []probe.TargetResult
	if err := json.Unmarshal(out, &results); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	held := true
	for _, r := range results {
		held = held && r.State == probe.Held
	}
	if held != (err == nil) {
		t.Errorf("the exit status says something else than the result: %v", err)
	}
	return results
}

func reach(url string, route probe.Route) probe.Target {
	return probe.Target{URL: url, Expect: probe.Reachable, Route: route}
}

func shun(url string, route probe.Route) probe.Target {
	return probe.Target{URL: url, Expect: probe.Unreachable, Route: route}
}
