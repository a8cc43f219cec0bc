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

// said is what fairlead doctor tunnel prints with -o json.
type said struct {
	Pods []struct {
		Object     string
		Containers []struct {
			Container, Agent, Through, Setting string
			Findings                           []struct{ Code, Severity string }
		}
	}
}

// ask runs doctor on manifests, with the settings of a values file.
func ask(t *testing.T, manifests, values string) said {
	t.Helper()
	var stdout, stderr bytes.Buffer
	args := []string{"doctor", "tunnel", "-f", "-", "-o", "json", "--values", values, "--cluster", filepath.Join("testdata", "common", "cluster.yaml")}
	if status := cli.Run(args, strings.NewReader(manifests), &stdout, &stderr); status > 1 || stderr.Len() > 0 {
		t.Fatalf("status %d: %s", status, &stderr)
	}
	if strings.Contains(stdout.String(), "mySuperSecret") {
		t.Fatalf("a password is shown: %s", &stdout)
	}
	var answer said
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
func agentsOf(t *testing.T, answer said) []string {
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
	samples := []struct{ file, plain, tls string }{
		{"cluster-proxy.yaml", "Proxy Proxy Proxy", "Relay Relay Relay"},
		{"konnectivity.yaml", "Proxy", "Relay"}, // to an address
		{"hypershift.yaml", "Proxy", "Relay"},   // on the host's network
		{"frpc.yaml", "Proxy", "Relay"},
		{"frpc-toml.yaml", "Proxy", "Relay"},
		{"teleport.yaml", "Proxy", "Proxy"},
		{"rancher.yaml", "Proxy", "Proxy"},
		{"klusterlet.yaml", "Proxy", "Proxy"},
		{"chisel.yaml", "Relay", "Relay"},
		{"cloudflared.yaml", "Direct", "Direct"},
		{"vpn-shoot.yaml", "Direct", "Direct"},
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
	for url, tls := range map[string]bool{"http://me:mySuperSecret@192.168.52.220:3128": false, "https://me:mySuperSecret@192.168.52.220:3129": true} {
		values := settings(t, url)
		for i, got := range agentsOf(t, ask(t, stream, values)) {
			if strings.Trim(strings.ReplaceAll(got, "Direct", ""), " ") != "" {
				t.Errorf("%s as delivered: %s", samples[i].file, got)
			}
		}
		var mutated, stderr bytes.Buffer
		args := []string{"mutate", "-f", "-", "--values", values, "--cluster", filepath.Join("testdata", "common", "cluster.yaml")}
		if status := cli.Run(args, strings.NewReader(stream), &mutated, &stderr); status != 0 {
			t.Fatalf("status %d: %s", status, &stderr)
		}
		for i, got := range agentsOf(t, ask(t, mutated.String(), values)) {
			want := samples[i].plain
			if tls {
				want = samples[i].tls
			}
			if got != want {
				t.Errorf("%s mutated, TLS %t: %s, want %s", samples[i].file, tls, got, want)
			}
		}
	}
}
