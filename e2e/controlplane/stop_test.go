package controlplane_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

func TestStopLeavesNoProcessAndNoFile(t *testing.T) {
	t.Parallel()
	parent := shortTempDir(t)
	dir := filepath.Join(parent, "cp")
	cp := controlplanetest.Start(t, controlplane.Options{Dir: dir})
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.GarbageCollector))
	if running := processesIn(t, dir); len(running) != 3 {
		t.Fatalf("three programs should run, there are %v", running)
	}

	controlplanetest.Require(t, cp.Stop())
	if running := processesIn(t, dir); len(running) != 0 {
		t.Errorf("still running: %v", running)
	}
	if left, _ := filepath.Glob(filepath.Join(parent, "*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if err := cp.Stop(); err != nil {
		t.Errorf("stopping again: %v", err)
	}
}

func TestAFolderWithSomethingInItIsRefused(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	controlplanetest.Require(t, os.WriteFile(filepath.Join(dir, "precious"), nil, 0o600))
	if cp, err := controlplane.Start(t.Context(), controlplane.Options{Dir: dir, Progress: os.Stderr}); err == nil {
		t.Error("started in a folder that Stop removes", cp.Stop())
	}
	if _, err := os.Stat(filepath.Join(dir, "precious")); err != nil {
		t.Error(err)
	}
}

// startInChild makes the test binary start a control plane in the folder that it names.
const startInChild = "FAIRLEAD_E2E_TEST_START_IN"

func TestTheProgramsDieWithAKilledTest(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(shortTempDir(t), "cp")
	runChild(t, dir)
	controlplanetest.Await(t, "the programs to die", func(context.Context) (bool, error) {
		running := processesIn(t, dir)
		return controlplanetest.Holds(len(running) == 0, "still running: %v", running)
	})
}

// runChild runs this test binary as one that is killed and leaves a control plane behind.
func runChild(t *testing.T, dir string) {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestChildIsNoTest$", "-test.v")
	child.Env = append(os.Environ(), startInChild+"="+dir)
	out, err := child.CombinedOutput()
	if strings.Contains(string(out), "--- SKIP") {
		t.Skipf("%s", out)
	}
	if !strings.Contains(string(out), "started") {
		t.Fatalf("the child did not start its control plane: %v\n%s", err, out)
	}
}

func TestChildIsNoTest(t *testing.T) {
	dir := os.Getenv(startInChild)
	if dir == "" {
		t.Skip("only for TestTheProgramsDieWithAKilledTest")
	}
	_, err := controlplane.Start(t.Context(), controlplane.Options{Dir: dir, Progress: os.Stderr})
	controlplanetest.Require(t, err)
	fmt.Println("started")
	_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
}

// processesIn are the programs whose working directory is the folder.
func processesIn(t *testing.T, dir string) (running []string) {
	t.Helper()
	links, err := filepath.Glob("/proc/[0-9]*/cwd")
	controlplanetest.Require(t, err)
	for _, link := range links {
		if cwd, err := os.Readlink(link); err == nil && strings.TrimSuffix(cwd, " (deleted)") == dir {
			command, _ := os.ReadFile(filepath.Join(filepath.Dir(link), "comm"))
			running = append(running, strings.TrimSpace(string(command)))
		}
	}
	return running
}

// shortTempDir: the name of t.TempDir has the test's, which leaves too little room for a socket's path.
func shortTempDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "fairlead-test-")
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}
