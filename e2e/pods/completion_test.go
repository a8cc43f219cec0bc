package pods_test

import (
	"os/exec"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// testCompletion asks what a shell asks when somebody has typed so much and presses the tab key.
func (f *fixture) testCompletion(t *testing.T) {
	t.Helper()
	nobody, err := f.cp.User("nobody")
	controlplanetest.Require(t, err)
	typed := func(as *rest.Config, verb ...string) string {
		fairlead, err := tools.Program(t.Context(), "fairlead")
		controlplanetest.Require(t, err)
		kubeconfig, err := f.cp.Kubeconfig(as)
		controlplanetest.Require(t, err)
		args := append([]string{"__complete"}, verb[:len(verb)-1]...)
		out, err := exec.CommandContext(t.Context(), fairlead, append(args, "--kubeconfig", kubeconfig, verb[len(verb)-1], "")...).Output()
		controlplanetest.Require(t, err)
		return string(out)
	}
	if said := typed(f.cp.Admin(), "pods", "--namespace"); !strings.Contains("\n"+said, "\nshop\nstock\n") || !strings.HasSuffix(said, "\n:4\n") {
		t.Errorf("namespaces: %q", said)
	}
	if said := typed(f.cp.Admin(), "doctor", "tunnel", "--namespace=shop", "--context="); said != "deployment/old\n:4\n" {
		t.Errorf("workloads: %q", said)
	}
	if said := typed(nobody, "nodes", "--namespace"); said != ":4\n" {
		t.Errorf("to somebody who may list nothing: %q", said)
	}
}
