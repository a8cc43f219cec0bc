package policies_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// kyvernoTest runs the tests beside a policy with the real Kyverno CLI. The error has what it printed.
func kyvernoTest(ctx context.Context, cli, folder string) error {
	cmd := exec.CommandContext(ctx, cli, "test", filepath.Join(folder, ".kyverno-test"), "--require-tests", "--detailed-results", "--remove-color")
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	return nil
}

func mustKyvernoCLI(t *testing.T) string {
	t.Helper()
	cli, err := tools.Build(t.Context(), tools.KyvernoCLI, os.Stderr)
	controlplanetest.Require(t, err)
	return cli
}

func TestTheKyvernoCLITestsBesideEveryPolicyPass(t *testing.T) {
	cli := mustKyvernoCLI(t)
	entries, err := os.ReadDir(policies.Folder())
	controlplanetest.Require(t, err)
	if len(entries) == 0 {
		t.Error("no policies")
	}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		t.Run(entry.Name(), func(t *testing.T) {
			if err := kyvernoTest(t.Context(), cli, filepath.Join(policies.Folder(), entry.Name())); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestAPolicyWithoutKyvernoCLITestsIsAnError(t *testing.T) {
	cli := mustKyvernoCLI(t)
	folder := t.TempDir()
	if kyvernoTest(t.Context(), cli, folder) == nil {
		t.Error("no folder .kyverno-test is not")
	}
	controlplanetest.Require(t, os.Mkdir(filepath.Join(folder, ".kyverno-test"), 0o700))
	if kyvernoTest(t.Context(), cli, folder) == nil {
		t.Error("a folder without tests is not")
	}
}

func TestTheKyvernoCLINoticesABrokenPolicy(t *testing.T) {
	cli := mustKyvernoCLI(t)
	for _, broken := range []struct{ old, new string }{
		{"['containers', 'initContainers']", "['containers']"},
		{"e.name.upperAscii() == group", "e.name == group"},
		{"!('NO_PROXY' in c.owns) &&", ""},
		{"!= 'exclude'", "!= 'ignored'"},
		{"variables.name.matches(pattern)", "false"},
		{"'name': 'fairlead-proxy'", "'name': 'proxy'"},
	} {
		t.Run(broken.old, func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			controlplanetest.Require(t, os.CopyFS(folder, os.DirFS(filepath.Join(policies.Folder(), policies.InjectProxyEnv))))
			file := filepath.Join(folder, policies.InjectProxyEnv+".yaml")
			text, err := os.ReadFile(file)
			controlplanetest.Require(t, err)
			if !bytes.Contains(text, []byte(broken.old)) {
				t.Fatalf("the policy does not say %s", broken.old)
			}
			text = bytes.ReplaceAll(text, []byte(broken.old), []byte(broken.new))
			controlplanetest.Require(t, os.WriteFile(file, text, 0o600))
			if kyvernoTest(t.Context(), cli, folder) == nil {
				t.Error("it does not")
			}
		})
	}
}
