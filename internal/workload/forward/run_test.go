package forward

import (
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/egress"
)

func TestTheNodeAndTheAPIServerAreDenied(t *testing.T) {
	env := map[string]string{"KUBERNETES_SERVICE_HOST": "10.96.0.1", "HOST_IPS": "192.168.1.7, fd00::7"}
	getenv := func(name string) string { return env[name] }
	policy, err := deniedHere(egress.Policy{Denied: []netip.Prefix{netip.MustParsePrefix("172.16.0.0/12")}}, getenv)
	if got := fmt.Sprint(policy.Denied); err != nil || got != "[172.16.0.0/12 10.96.0.1/32 192.168.1.7/32 fd00::7/128]" {
		t.Errorf("%s, %v", got, err)
	}
	env["KUBERNETES_SERVICE_HOST"] = "Abc.hcp.westeurope.azmk8s.io"
	if policy, err = deniedHere(egress.Policy{}, getenv); err != nil || fmt.Sprint(policy.DeniedNames) != "[abc.hcp.westeurope.azmk8s.io]" {
		t.Errorf("%v, %v", policy, err)
	}
	env["HOST_IPS"] = "node-a"
	if _, err := deniedHere(egress.Policy{}, getenv); err == nil || !strings.Contains(err.Error(), "HOST_IPS") {
		t.Error(err)
	}
}

func TestAPolicyThatCannotBeReadChangesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "policy.yaml")
	write := func(text string) {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("serviceDomain: one.example")
	file := &policyFile{path: path, getenv: func(string) string { return "" }}
	policy, err := file.read()
	if err != nil {
		t.Fatal(err)
	}
	p := New(Options{Policy: policy, Log: slog.New(slog.DiscardHandler)})
	for _, step := range []struct{ text, want string }{{"serviceDomain: one.example", "one.example"}, {"direct: [", "one.example"}, {"serviceDomain: two.example", "two.example"}} {
		write(step.text)
		file.look(p)
		if got := p.policy.Load().Domain; got != step.want {
			t.Errorf("%s: %s", step.text, got)
		}
	}
}
