package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// sentences has the fields of fairlead doctor tunnel with -o json that are compared.
type sentences struct {
	Pods []struct {
		Object     string
		Containers []struct {
			Container, Agent, Through, Setting string
			Findings                           []struct{ Code, Severity string }
		}
	}
}

// ask runs doctor on manifests, with the settings of a values file.
func ask(t *testing.T, manifests, values string, more ...string) sentences {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := append([]string{"doctor", "tunnel", "-f", "-", "-o", "json", "--values", values, "--cluster", filepath.Join("testdata", "common", "cluster.yaml")}, more...)
	if status := cli.Run(args, strings.NewReader(manifests), &stdout, &stderr); status > 1 || stderr.Len() > 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	if strings.Contains(stdout.String(), "mySuperSecret") {
		t.Fatalf("a password is shown: %s", &stdout)
	}
	var answer sentences
	if err := json.Unmarshal(stdout.Bytes(), &answer); err != nil {
		t.Fatal(err)
	}
	return answer
}

// settings writes a values file with this proxy for both schemes.
func settings(t *testing.T, url string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "values.yaml")
	text := "proxy: {http: '" + url + "', https: '" + url + "', noProxy: 'internal.corpdomain.net'}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// agentsOf returns how the agents of each pod leave. One that does not get to the proxy must have an error that says why.
func agentsOf(t *testing.T, answer sentences) []string {
	t.Helper()
	var all []string
	for _, pod := range answer.Pods {
		var ways []string
		for _, c := range pod.Containers {
			if c.Agent == "" {
				continue
			}
			ways = append(ways, c.Through)
			wrong := slices.ContainsFunc(c.Findings, func(f struct{ Code, Severity string }) bool { return f.Severity == "Error" })
			if arrives := c.Through == "Proxy" || c.Through == "Relay"; arrives == wrong {
				t.Errorf("%s: %s: %s, with %v", pod.Object, c.Container, c.Through, c.Findings)
			}
		}
		all = append(all, strings.Join(ways, " "))
	}
	return all
}

// What the policies do to a pod, doctor takes for the way through the proxy; and where they can do nothing, it says
// what stands in the way.
func TestDoctorAgreesWithThePolicies(t *testing.T) {
	samples := []struct{ file, plain, tls, sidecar string }{ // sidecar: by TLS, where that is the way of whoever can have one
		{"cluster-proxy.yaml", "Proxy Proxy Proxy", "Relay Direct Direct", "Relay Relay Relay"}, // where addon-agent dials, only a kubeconfig says
		{"konnectivity.yaml", "Proxy", "Direct", "Relay"},                                       // an address, which no relay can take the place of
		{"hypershift.yaml", "Proxy", "Direct", "Relay"},                                         // port 443 on the host's network
		{"frpc.yaml", "Proxy", "Direct", "Relay"},                                               // its hub is in no argument that the policy knows
		{"frpc-toml.yaml", "Proxy", "Direct", "Relay"},
		{"teleport.yaml", "Proxy", "Proxy", "Proxy"},
		{"rancher.yaml", "Proxy", "Proxy", "Proxy"},
		{"klusterlet.yaml", "Proxy", "Proxy", "Proxy"},
		{"chisel.yaml", "Direct", "Direct", "Relay"},
		{"cloudflared.yaml", "Direct", "Direct", "Direct"},
		{"vpn-shoot.yaml", "Direct", "Direct", "Direct"},
	}
	folder := filepath.Join("..", "agents", "tunnel", "testdata")
	if files, err := filepath.Glob(filepath.Join(folder, "*.yaml")); err != nil || len(files) != len(samples) {
		t.Errorf("samples: %q: is one missing above?", files)
	}
	var stream string
	for _, sample := range samples {
		text, err := os.ReadFile(filepath.Join(folder, sample.file))
		if err != nil {
			t.Fatal(err)
		}
		stream += "---\n" + string(text)
	}
	chosen := filepath.Join(t.TempDir(), "chosen.yaml")
	const families = "tunnels: {families: {chisel: {through: Sidecar}, frpc: &s {throughTLS: Sidecar}, konnectivity-agent: *s, konnectivity-agent-app: *s, cluster-proxy: *s}}"
	if err := os.WriteFile(chosen, []byte(families), 0o600); err != nil {
		t.Fatal(err)
	}
	const plain, tls = "http://me:mySuperSecret@192.168.52.220:3128", "https://me:mySuperSecret@192.168.52.220:3129"
	for _, test := range []struct {
		url  string
		more []string
	}{{plain, nil}, {tls, nil}, {tls, []string{"--policy-values", chosen}}} {
		values := settings(t, test.url)
		for i, got := range agentsOf(t, ask(t, stream, values, test.more...)) {
			if strings.Trim(strings.ReplaceAll(got, "Direct", ""), " ") != "" {
				t.Errorf("%s as delivered: %s", samples[i].file, got)
			}
		}
		var mutated, stderr bytes.Buffer
		args := append([]string{"mutate", "-f", "-", "--values", values, "--cluster", filepath.Join("testdata", "common", "cluster.yaml")}, test.more...)
		if status := cli.Run(args, strings.NewReader(stream), &mutated, &stderr); status != 0 {
			t.Fatalf("status %d: %s", status, &stderr)
		}
		for i, got := range agentsOf(t, ask(t, mutated.String(), values, test.more...)) {
			want := samples[i].plain
			switch {
			case test.more != nil:
				want = samples[i].sidecar
			case test.url == tls:
				want = samples[i].tls
			}
			if got != want {
				t.Errorf("%s mutated, %s, %v: %s, want %s", samples[i].file, test.url, test.more, got, want)
			}
		}
	}
}
