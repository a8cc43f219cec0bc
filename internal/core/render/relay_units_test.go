package render

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// Pods on a machine's network may have the ports of fairlead-relay and of fairlead-operator follow.
func TestTheRelayOfAMachineLeavesPortsToPods(t *testing.T) {
	e := effective(t, "a.example")
	e.Node.Delivery, e.Node.Relay = resolve.DeliveryRelay, resolve.MachineRelay{Binary: "/bin/sh"}
	for _, f := range relayFilesOf(e) {
		if f.key != RelayServiceKey {
			continue
		}
		if content, err := f.content(e); err != nil || !strings.Contains(string(content), " --health-address=127.0.0.1:8097 ") {
			t.Errorf("%s (%v)", content, err)
		}
	}
}

// systemd itself says whether it understands the units.
func TestSystemdKnowsEverythingInTheRelaysUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		without(t, "there is no systemd-analyze here")
	}
	for _, image := range []string{"", "registry.example/fairlead-relay:1"} {
		folder := t.TempDir()
		e := effective(t, "a.example")
		e.Node.Delivery, e.Node.Relay = resolve.DeliveryRelay, resolve.MachineRelay{Image: image, Binary: "/bin/sh"} // it must be there
		var units []string
		for _, f := range relayFilesOf(e) {
			if !f.unit {
				continue
			}
			content, err := f.content(e)
			if err == nil {
				units = append(units, filepath.Join(folder, f.name))
				err = os.WriteFile(filepath.Join(folder, f.name), content, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(analyze, append([]string{"verify", "--man=no", "--generators=no", "--recursive-errors=no"}, units...)...)
		said, err := cmd.CombinedOutput()
		for line := range strings.Lines(string(said)) {
			if strings.Contains(line, "fairlead-relay") && !strings.Contains(line, "ctr is not executable") {
				t.Errorf("image %q: %s", image, line)
			}
		}
		if len(units) != map[bool]int{true: 4, false: 5}[image == ""] {
			t.Errorf("%d units (%v)", len(units), err)
		}
	}
}
