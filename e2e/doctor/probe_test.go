package doctor_test

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/machine/machinetest"
	"github.com/fairlead-io/fairlead/internal/agents/doctor"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// What a proxy does that no setting mends is asked of real ones: a squid that decrypts TLS, one that asks for NTLM, and
// one that does neither. The hub is a server with mTLS and HTTP/2, as konnectivity's is.
func TestWhatTheProxyItselfDoesIsAskedOfIt(t *testing.T) {
	hubs, err := machine.NewAuthority("Hub")
	controlplanetest.Require(t, err)
	company, err := machine.NewAuthority("Example Corp TLS Inspection")
	controlplanetest.Require(t, err)
	for name, test := range map[string]struct {
		squid  machine.SquidOptions
		secret bool // with the agent's authority is given
		want   []string
		says   []string
	}{
		"a squid that splices": {want: []string{"Keepalive"}, secret: true},
		"a squid that decrypts": {
			squid: machine.SquidOptions{Bump: company, Hubs: hubs}, secret: true, want: []string{"Keepalive", "ProxyInspects"},
			says: []string{"Example Corp TLS Inspection", "(mTLS)", "ALPN", "Please do not decrypt TLS to " + machine.HubName + ":443"},
		},
		"a squid that decrypts and nobody knows the agent's authority": {
			squid: machine.SquidOptions{Bump: company, Hubs: hubs}, want: []string{"Keepalive", "ProxyInspects"}, says: []string{"splice"},
		},
		"a squid that wants NTLM": {
			squid: machine.SquidOptions{NTLM: true}, secret: true, want: []string{"Keepalive", "ProxyAuthentication"},
			says: []string{"the proxy asks for NTLM", "please accept Basic authentication"},
		},
		"a squid that refuses the port": {
			squid: machine.SquidOptions{Ports: []int{8443}}, secret: true, want: []string{"Keepalive", "ProxyAnswer"}, says: []string{"403 Forbidden"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network := machinetest.Network(t)
			test.squid.User, test.squid.Password = "fleet", password
			_, err := network.StartSquid(t.Context(), test.squid)
			controlplanetest.Require(t, err)
			serveHub(t, network, hubs)
			findings := probed(t, network, hubs, test.secret)
			var codes []string
			var text strings.Builder
			for _, f := range findings {
				codes = append(codes, string(f.Code))
				text.WriteString(f.Why + "\n" + f.Mend + "\n")
			}
			slices.Sort(codes)
			if !slices.Equal(codes, test.want) {
				t.Errorf("%v, want %v:\n%s", codes, test.want, &text)
			}
			for _, says := range test.says {
				if !strings.Contains(text.String(), says) {
					t.Errorf("%q is not said:\n%s", says, &text)
				}
			}
		})
	}
}

// serveHub asks for a certificate and speaks HTTP/2.
func serveHub(t *testing.T, network *machine.Network, hubs *machine.Authority) {
	t.Helper()
	listener := machinetest.TLS(t, network, machine.Internet, net.JoinHostPort(machine.HubAddress, "443"), hubs, &tls.Config{
		NextProtos: []string{"h2"}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: x509.NewCertPool(),
	}, machine.HubName)
	machinetest.Accept(t, listener, func(conn net.Conn) { _, _ = io.Copy(io.Discard, conn) })
}

const agentPod = `
apiVersion: v1
kind: Pod
metadata: {name: p, labels: {k8s-app: konnectivity-agent}}
spec:
  containers:
  - name: konnectivity-agent
    image: proxy-agent:v0.34.0
    command: [/proxy-agent]
    args: [--proxy-server-host=` + machine.HubName + `, --proxy-server-port=443, --ca-cert=/etc/agent/ca.crt, --agent-cert=/etc/agent/tls.crt]
    env:
    - {name: HTTPS_PROXY, valueFrom: {secretKeyRef: {name: fairlead-proxy, key: HTTPS_PROXY}}}
    - {name: NO_PROXY, valueFrom: {secretKeyRef: {name: fairlead-proxy, key: NO_PROXY}}}
    volumeMounts: [{name: agent, mountPath: /etc/agent}]
  volumes: [{name: agent, secret: {secretName: agent}}]
`

// probed returns the findings of the built program, in corp, about a konnectivity agent.
func probed(t *testing.T, network *machine.Network, hubs *machine.Authority, known bool) []lint.Finding {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name)
		controlplanetest.Require(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	url := "http://fleet:" + password + "@" + machine.ProxyAddress + ":3128"
	values := write("values.yaml", fmt.Sprintf("proxy: {http: %q, https: %q, noProxy: internal.corpdomain.net}\n", url, url))
	cluster, err := filepath.Abs("../../internal/cli/testdata/common/cluster.yaml")
	controlplanetest.Require(t, err)
	files := []string{"-f", write("pod.yaml", agentPod)}
	if known {
		secret := fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: agent}\nstringData: {ca.crt: %q}\n", hubs.PEM())
		files = append(files, "-f", write("secret.yaml", secret))
	}
	fairlead := controlplanetest.Program(t, "fairlead")
	command := append([]string{fairlead, "doctor", "tunnel", "--probe", "-o", "json", "--fail-on", "never", "--values", values, "--cluster", cluster}, files...)
	out, err := network.Run(t.Context(), machine.Corp, nil, command...)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) || len(out) == 0 {
		t.Fatal(err)
	}
	if bytes.Contains(out, []byte(password)) {
		t.Error("it prints a password")
	}
	var said doctor.Report
	controlplanetest.Require(t, json.Unmarshal(out, &said))
	return said.Pods[0].Containers[0].Findings
}
