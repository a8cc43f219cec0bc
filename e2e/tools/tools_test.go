package tools

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/repository"
)

// hello is a program with a module of its own that needs nobody else's.
func hello(t *testing.T) (tool Tool, module string) {
	t.Helper()
	module = t.TempDir()
	for name, content := range map[string]string{
		"go.mod":  "module hello.example\n\ngo 1.26.0\n",
		"go.sum":  "",
		"main.go": "package main\n\nfunc main() { println(\"hello\") }\n",
	} {
		if err := os.WriteFile(filepath.Join(module, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return Tool{Name: "hello", Package: "hello.example", Version: "v1", Duration: "a second"}, module
}

func TestAProgramIsBuiltOnceHoweverManyAskForIt(t *testing.T) {
	cache := t.TempDir()
	tool, module := hello(t)
	var mu sync.Mutex
	var progress bytes.Buffer
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			path, err := buildInto(t.Context(), cache, tool, module, &locked{mu: &mu, w: &progress})
			if err != nil {
				t.Error(err)
				return
			}
			if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != "hello\n" {
				t.Errorf("the program says %q, %v", out, err)
			}
		})
	}
	all.Wait()
	if got := strings.Count(progress.String(), "building hello v1 (once, about a second)…\n"); got != 1 {
		t.Errorf("built %d times:\n%s", got, progress.String())
	}
}

func TestEnvtestsProgramsAreUsedWhereTheyAre(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("KUBEBUILDER_ASSETS", folder)
	for _, name := range []string{Etcd.Name, Kyverno.Name} {
		if err := os.WriteFile(filepath.Join(folder, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if path, err := Build(t.Context(), Etcd, nil); err != nil || path != filepath.Join(folder, Etcd.Name) {
		t.Errorf("etcd is %q, %v", path, err)
	}
	for _, tool := range []Tool{KubeAPIServer, Kyverno} { // it is not there; it is not envtest's
		if path, found := prebuilt(tool); found {
			t.Errorf("%s is %q", tool.Name, path)
		}
	}
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	if !Built(Etcd) || Built(Etcd, KubeAPIServer) {
		t.Errorf("built are etcd: %t, both: %t", Built(Etcd), Built(Etcd, KubeAPIServer))
	}
}

func TestAProgramIsBuiltAgainWhenItsModuleOrItsTagsChangeAndTheOldestGoes(t *testing.T) {
	cache := t.TempDir()
	tool, module := hello(t)
	var paths []string
	for i := range kept + 1 {
		if err := os.WriteFile(filepath.Join(module, "go.sum"), bytes.Repeat([]byte("\n"), i), 0o600); err != nil {
			t.Fatal(err)
		}
		before := isIn(cache, tool, module)
		path, err := buildInto(t.Context(), cache, tool, module, nil)
		if err != nil {
			t.Fatal(err)
		}
		if before || !isIn(cache, tool, module) {
			t.Errorf("in the cache before the build: %t, after it: %t", before, isIn(cache, tool, module))
		}
		if slices.Contains(paths, path) {
			t.Error("the same program for another module")
		}
		built := time.Unix(int64(i), 0) // the clock of the file system may be coarse
		if err := os.Chtimes(filepath.Dir(path), built, built); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	for i, path := range paths {
		if _, err := os.Stat(path); os.IsNotExist(err) != (i == 0) {
			t.Errorf("program %d of %d: %v", i+1, len(paths), err)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(cache, "hello", temporary+"*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}

	tagged := "//go:build bye\n\npackage main\n\nfunc init() { println(\"bye\") }\n"
	if err := os.WriteFile(filepath.Join(module, "tagged.go"), []byte(tagged), 0o600); err != nil {
		t.Fatal(err)
	}
	tool.Tags = "other,bye"
	path, err := buildInto(t.Context(), cache, tool, module, nil)
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(path).CombinedOutput(); err != nil || string(out) != "bye\nhello\n" {
		t.Errorf("with its tags the program says %q, %v", out, err)
	}
}

func TestEveryRowOfTheTableHasItsModule(t *testing.T) {
	root, err := repository.Root()
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range All() {
		gomod, err := os.ReadFile(filepath.Join(moduleFolder(root, tool.Module), "go.mod"))
		if err != nil {
			t.Error(err)
			continue
		}
		if !strings.Contains(string(gomod), tool.Version) {
			t.Errorf("the table says %s %s, its go.mod does not", tool.Name, tool.Version)
		}
	}
}

type locked struct {
	mu *sync.Mutex
	w  *bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(p)
}
