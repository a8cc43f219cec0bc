package policies_test

import (
	"bytes"
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

// kyvernoTest runs the tests beside a policy with the real Kyverno CLI. The CLI passes over a result whose resource is
// not there, so that the results in kyverno-test.yaml are counted.
func kyvernoTest(t *testing.T, cli, folder string) {
	t.Helper()
	tests := filepath.Join(folder, ".kyverno-test")
	output, err := exec.CommandContext(t.Context(), cli, "test", tests, "--require-tests", "--detailed-results", "--remove-color").CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	var test struct {
		Results []struct{ Resources []string }
	}
	controlplanetest.Require(t, yaml.Unmarshal(controlplanetest.ReadFile(t, filepath.Join(tests, "kyverno-test.yaml")), &test))
	expected := 0
	for _, result := range test.Results {
		expected += len(result.Resources)
	}
	if summary := fmt.Sprintf("Test Summary: %d tests passed and 0 tests failed", expected); !bytes.Contains(output, []byte(summary)) {
		t.Errorf("want %s\n%s", summary, output)
	}
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
		t.Run(entry.Name(), func(t *testing.T) { kyvernoTest(t, cli, filepath.Join(policies.Folder(), entry.Name())) })
	}
}
