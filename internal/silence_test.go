package internal_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// net/http writes with package log what a server says unasked. A company's proxy may say what it was told: a password. Whoever
// asks one lets package log write nowhere, before anything else.
func TestProgramsThatAskAProxyLetNetHTTPWriteNowhere(t *testing.T) {
	mains, err := filepath.Glob("../operator/cmd/*/main.go")
	if err != nil || len(mains) == 0 {
		t.Fatal(mains, err)
	}
	for _, path := range mains {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, body, _ := strings.Cut(string(text), "func main() {\n")
		first, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
		asks := slices.ContainsFunc(list(t, "-deps", "./operator/cmd/"+filepath.Base(filepath.Dir(path))), func(p listed) bool {
			return p.ImportPath == module+"internal/workload/upstream"
		})
		if asks && !strings.Contains(first, ".SetOutput(io.Discard)") {
			t.Errorf("%s begins with %q", path, first)
		}
	}
}
