// Package command runs the built fairlead.
package command

import (
	"bytes"
	"os/exec"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// Run runs it with this input. How it ends is for the caller to judge.
func Run(t testing.TB, input []byte, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), controlplanetest.Program(t, "fairlead"), args...)
	var out, problem bytes.Buffer
	command.Stdin, command.Stdout, command.Stderr = bytes.NewReader(input), &out, &problem
	if err := command.Run(); command.ProcessState == nil {
		t.Fatal(err)
	}
	return command.ProcessState.ExitCode(), out.String(), problem.String()
}

// Output returns the output of fairlead for this input. The command must
// succeed, and may warn.
func Output(t testing.TB, input []byte, args ...string) []byte {
	t.Helper()
	status, stdout, stderr := Run(t, input, args...)
	if status != 0 {
		t.Fatalf("fairlead %q ends with %d: %s", args, status, stderr)
	}
	return []byte(stdout)
}
