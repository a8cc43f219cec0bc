package cli_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/operator/internal/cli"
)

// The README shows the command with paths from the root of the repository.
func TestTheCommandInTheREADMEPrintsWhatTheREADMESays(t *testing.T) {
	t.Chdir("../../..")
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(readme), "\nfairlead render ")
	command, rest, _ := strings.Cut(rest, "\n")
	_, rest, _ = strings.Cut(rest, "```\n\nprints")
	_, rest, _ = strings.Cut(rest, "```\n")
	want, _, closed := strings.Cut(rest, "```")
	if !found || !closed {
		t.Fatal("the README has no such command")
	}
	var out, warnings bytes.Buffer
	status := cli.Run(append([]string{"render"}, strings.Fields(command)...), strings.NewReader(""), &out, &warnings)
	if status != 0 || warnings.Len() > 0 || out.String() != want {
		t.Errorf("status %d, %s%s, not %s", status, &out, &warnings, want)
	}
}
