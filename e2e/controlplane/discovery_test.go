package controlplane_test

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The next control plane at that port, of whatever checkout, may have other kinds.
func TestWhatKubectlDiscoversIsNotKeptForOthers(t *testing.T) {
	cp := controlplanetest.Shared(t)
	kubectl := controlplanetest.Tool(t, tools.Kubectl)
	home := t.TempDir()
	get := exec.CommandContext(t.Context(), kubectl, "--kubeconfig", cp.AdminKubeconfig(), "get", "namespaces")
	get.Env = append(os.Environ(), "HOME="+home)
	if out, err := get.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(home, ".kube")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("there is %s/.kube (%v)", home, err)
	}
}
