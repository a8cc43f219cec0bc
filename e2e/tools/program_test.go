package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestCheckoutsThatShareACacheDoNotShareTheirOwnPrograms(t *testing.T) {
	cache := t.TempDir()
	paths := map[string]string{}
	for _, content := range []string{"one", "two"} {
		paths[content] = built(t, cache, content)
	}
	for content, path := range paths {
		if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != content {
			t.Errorf("the program of checkout %s prints %q (%v)", content, out, err)
		}
	}
}

// built is the program of a checkout whose cache is a link. It prints the content.
func built(t *testing.T, cache, content string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":                      "module checkout\n",
		"operator/cmd/hello/hello.go": "package main\n\nfunc main() { print(\"" + content + "\") }\n",
	} {
		file := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(cache, filepath.Join(root, ".cache")); err != nil {
		t.Fatal(err)
	}
	path, err := program(t.Context(), root, "hello")
	if err != nil {
		t.Fatal(err)
	}
	return path
}
