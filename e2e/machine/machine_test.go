package machine_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

func TestAMachineDoesWhatItsUserDataSaysAndIsSeenFromOutside(t *testing.T) {
	n := network(t)
	skipper := filepath.Join(t.TempDir(), "skipper")
	controlplanetest.Require(t, os.WriteFile(skipper, []byte("#!/bin/sh\necho aye >/run/answer\nexit 3\n"), 0o755))
	m, err := n.Boot(t.Context(), machine.Options{
		UserData: []byte("#cloud-config\nwrite_files: [{path: /etc/hello, content: from the seed}]\nruncmd: [skipper]\n"),
		Programs: []string{skipper},
		Progress: os.Stderr,
	})
	controlplanetest.Require(t, err)
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
	if content, err := m.ReadFile("/run/answer"); string(content) != "aye\n" {
		t.Errorf("the program has written %q (%v)", content, err)
	}
	controlplanetest.Require(t, m.WriteFile("/run/hello", []byte("from outside"), 0o600))
	if out, err := m.Run(t.Context(), "cat", "/run/hello"); out != "from outside" {
		t.Errorf("the machine sees %q (%v)", out, err)
	}
	if out, err := m.Run(t.Context(), "sh", "-c", "echo aground >&2; exit 1"); err == nil || !strings.Contains(err.Error(), "aground") {
		t.Errorf("it printed %q; the error is %v", out, err)
	}
}

func TestAMachineHasNothingOfTheOneBefore(t *testing.T) {
	n := network(t)
	for _, end := range []func(*machine.Machine) error{
		func(m *machine.Machine) error { return m.PowerOff(t.Context()) },
		(*machine.Machine).Kill,
		(*machine.Machine).Kill,
	} {
		m, err := n.Boot(t.Context(), machine.Options{UserData: []byte("#cloud-config\n"), Progress: os.Stderr})
		controlplanetest.Require(t, err)
		if content, err := m.ReadFile("/etc/hello"); err == nil {
			t.Errorf("another machine's file: %q", content)
		}
		controlplanetest.Require(t, m.WriteFile("/etc/hello", []byte("hello"), 0o600))
		controlplanetest.Require(t, end(m))
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
