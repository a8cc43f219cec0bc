package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/operator/internal/cli"
)

// Every "fairlead render" in the specification that needs no more than the
// examples, or the CorporateProxy that the specification shows, prints what stands
// below it.
func TestTheCommandsInTheSpecificationPrintWhatItSays(t *testing.T) {
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("../../../examples")); err != nil {
		t.Fatal(err)
	}
	var documents []string
	for _, name := range []string{"secrets.md", "corporateproxy.md", "../workloads.md"} {
		text, err := os.ReadFile(filepath.Join("../../../docs/spec", name))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, string(text))
	}
	_, section, _ := strings.Cut(documents[1], "### Source: url")
	_, section, _ = strings.Cut(section, "```yaml\n")
	proxy, _, _ := strings.Cut(section, "```")
	if err := os.WriteFile(filepath.Join(dir, "corporate-proxy.yaml"), []byte(proxy), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Chdir(dir)
	found := 0
	for _, document := range documents {
		for _, block := range strings.Split(document, "```console\n")[1:] {
			block, _, _ = strings.Cut(block, "```")
			for _, example := range strings.Split(block, "$ fairlead ")[1:] {
				command, want, _ := strings.Cut(example, "\n")
				if strings.Contains(command, "bad.yaml") || strings.Contains(command, "delegating.yaml") { // not shown
					continue
				}
				found++
				var out, warnings bytes.Buffer
				status := cli.Run(strings.Fields(command), strings.NewReader(""), &out, &warnings)
				if diff := cmp.Diff(strings.TrimRight(want, "\n"), strings.TrimRight(out.String(), "\n")); status != 0 || warnings.Len() > 0 || diff != "" {
					t.Errorf("%s: status %d, %s\n%s", command, status, &warnings, diff)
				}
			}
		}
	}
	if found < 11 {
		t.Errorf("only %d commands", found)
	}
}
