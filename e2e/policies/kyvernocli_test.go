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

func TestTheKyvernoCLITestsBesideEveryPolicyPass(t *testing.T) {
	cli := controlplanetest.Tool(t, tools.KyvernoCLI)
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
