package machine_test

import (
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

func TestAMachineDoesWhatItsUserDataSaysAndIsSeenFromOutside(t *testing.T) {
	n := network(t)
	m := boot(t, n, "#cloud-config\nwrite_files:\n- path: /etc/hello\n  content: from the seed\nruncmd: [[sh, -c, exit 3]]\n")
	result, err := m.AwaitCloudInit(t.Context())
	controlplanetest.Require(t, err)
	if !strings.Contains(result.DataSource, "NoCloud") {
		t.Errorf("cloud-init has its data from %s", result.DataSource)
	}
	if len(result.Errors) != 1 || !strings.Contains(result.Errors[0], "scripts") {
		t.Errorf("the errors of cloud-init are %q, and a command has failed", result.Errors)
	}
	if content, err := m.ReadFile("/etc/hello"); string(content) != "from the seed" {
		t.Errorf("the file is %q (%v)", content, err)
	}
	controlplanetest.Require(t, m.WriteFile("/run/hello", []byte("from outside"), 0o600))
	if out, err := m.Run(t.Context(), "cat", "/run/hello"); out != "from outside" {
		t.Errorf("the machine sees %q (%v)", out, err)
	}
	if out, err := m.Run(t.Context(), "sh", "-c", "echo aground >&2; exit 1"); err == nil || !strings.Contains(err.Error(), "aground") {
		t.Errorf("it printed %q; the error is %v", out, err)
	}
}

func network(t *testing.T) *machine.Network {
	t.Helper()
	n, err := machine.Start(t.Context())
	controlplanetest.Require(t, err)
	t.Cleanup(func() {
		if err := n.Close(); err != nil {
			t.Error(err)
		}
	})
	return n
}

func boot(t *testing.T, n *machine.Network, userData string) *machine.Machine {
	t.Helper()
	m, err := n.Boot(t.Context(), machine.Options{UserData: []byte(userData), Progress: os.Stderr})
	controlplanetest.Require(t, err)
	return m
}
