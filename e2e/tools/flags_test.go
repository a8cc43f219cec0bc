package tools

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/images/gobuild"
)

// With other flags, Go compiles everything once more.
func TestTheMakefileCompilesAsProgramsAreCompiled(t *testing.T) {
	for file, flags := range map[string][][]string{"Makefile": {gobuild.Quick, gobuild.Flags}, "CONTRIBUTING.md": {gobuild.Quick}} {
		content, err := os.ReadFile(repository.Path(file))
		if err != nil {
			t.Fatal(err)
		}
		for _, all := range flags {
			quoted := slices.Clone(all)
			for i, flag := range all {
				if strings.Contains(flag, " ") {
					quoted[i] = "'" + flag + "'"
				}
			}
			if text := strings.Join(quoted, " "); !strings.Contains(string(content), text) {
				t.Errorf("%s lacks %s", file, text)
			}
		}
	}
}
