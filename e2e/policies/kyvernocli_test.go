package policies_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// kyvernoTest runs the tests beside a policy with the real Kyverno CLI. The error has what it printed. The CLI passes
// over a result whose resource is not there, so that the results are counted.
func kyvernoTest(ctx context.Context, cli, folder string) error {
	cmd := exec.CommandContext(ctx, cli, "test", filepath.Join(folder, ".kyverno-test"), "--require-tests", "--detailed-results", "--remove-color")
	output, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, output)
	}
	expected, err := expectedResults(folder)
	if err != nil {
		return err
	}
	if summary := fmt.Sprintf("Test Summary: %d tests passed and 0 tests failed", expected); !bytes.Contains(output, []byte(summary)) {
		return fmt.Errorf("want %s\n%s", summary, output)
	}
	return nil
}

// expectedResults counts what kyverno-test.yaml lists.
func expectedResults(folder string) (int, error) {
	text, err := os.ReadFile(filepath.Join(folder, ".kyverno-test", "kyverno-test.yaml"))
	if err != nil {
		return 0, err
	}
	var test struct {
		Results []struct{ Resources []string }
	}
	if err := yaml.Unmarshal(text, &test); err != nil {
		return 0, err
	}
	count := 0
	for _, result := range test.Results {
		count += len(result.Resources)
	}
	return count, nil
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
		if !entry.IsDir() || entry.Name() == exclusionPolicy { // Kyverno has no authorizer
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

func TestTheKyvernoCLITestsNoticeABrokenPolicyAndAPodThatIsNotThere(t *testing.T) {
	cli := mustKyvernoCLI(t)
	const inject, audit = policies.InjectProxyEnv, "audit-proxy-env"
	const policy, tests = inject + ".yaml", ".kyverno-test/kyverno-test.yaml"
	for _, broken := range []struct{ of, file, old, new string }{
		{inject, policy, "['containers', 'initContainers']", "['containers']"},
		{inject, policy, ".map(e, e.name.upperAscii())", ".map(e, e.name)"},
		{inject, policy, "!('NO_PROXY' in c.owns + c.may) &&", ""},
		{inject, policy, "$(FAIRLEAD_NO_PROXY)')", "$(OTHER)')"},
		{inject, policy, "fairlead.io/no-proxy'", "fairlead.io/other'"},
		{inject, policy, "== 'exclude'", "== 'ignored'"},
		{inject, policy, "variables.name.matches(variables.excludedNames.join('|'))", "false"},
		{inject, policy, "'name': dyn('fairlead-proxy')", "'name': dyn('proxy')"},
		{inject, tests, "default/own-http", "default/nobody"},
		{audit, audit + ".yaml", "s.hesitates &&", ""},
		{audit, audit + ".yaml", "s.container in variables.early", "false"},
		{audit, audit + ".yaml", "s.state.running.startedAt < variables.servedSince", "false"},
	} {
		t.Run(broken.old, func(t *testing.T) {
			t.Parallel()
			folder := copied(t, broken.of)
			file := filepath.Join(folder, broken.file)
			text, err := os.ReadFile(file)
			controlplanetest.Require(t, err)
			if !bytes.Contains(text, []byte(broken.old)) {
				t.Fatalf("%s does not say %s", broken.file, broken.old)
			}
			text = bytes.ReplaceAll(text, []byte(broken.old), []byte(broken.new))
			controlplanetest.Require(t, os.WriteFile(file, text, 0o600))
			if kyvernoTest(t.Context(), cli, folder) == nil {
				t.Error("it does not")
			}
		})
	}
	for _, whole := range []string{inject, audit} {
		controlplanetest.Require(t, kyvernoTest(t.Context(), cli, copied(t, whole)))
	}
}

// copied is a policy with its samples.
func copied(t *testing.T, policy string) string {
	t.Helper()
	folder := t.TempDir()
	controlplanetest.Require(t, os.CopyFS(folder, os.DirFS(filepath.Join(policies.Folder(), policy))))
	return folder
}
