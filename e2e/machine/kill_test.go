package machine

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// victim in the environment makes the test the one that is killed.
const victim = "FAIRLEAD_MACHINE_VICTIM"

func TestNothingIsLeftOfATestThatIsKilled(t *testing.T) {
	if os.Getenv(victim) != "" {
		beKilled(t)
	}
	_, err := rootFS(t.Context(), os.Stderr)
	controlplanetest.Require(t, err)

	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), victim+"=1")
	_, err = cmd.StdinPipe() // ends with this process, however that ends
	controlplanetest.Require(t, err)
	stdout, err := cmd.StdoutPipe()
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill() }) // if it has not been
	line, err := bufio.NewReader(stdout).ReadString('\n')
	cgroup, found := strings.CutPrefix(strings.TrimSpace(line), "ready ")
	if !found {
		t.Fatalf("no machine boots: %q (%v)", line, err)
	}
	if len(members(t, cgroup)) == 0 {
		t.Error("the machine's processes are not seen")
	}
	controlplanetest.Require(t, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed

	controlplanetest.Await(t, "the end of every process", func(context.Context) (bool, error) {
		left := members(t, cgroup)
		return controlplanetest.Holds(len(left) == 0, "there are %v", left)
	})
	controlplanetest.Require(t, new(Network).removeCgroups()) // as the next machine does
	for _, hierarchy := range hierarchies {
		if _, err := os.Stat(filepath.Join(hierarchy, cgroup)); err == nil {
			t.Errorf("%s/%s is left", hierarchy, cgroup)
		}
	}
}

func beKilled(t *testing.T) {
	t.Helper()
	n, err := Start(t.Context())
	controlplanetest.Require(t, err)
	_, err = n.Boot(t.Context(), Options{UserData: []byte("#cloud-config\n")})
	controlplanetest.Require(t, err)
	fmt.Println("ready", n.cgroup())
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1) // whoever was to kill this one is gone
}

// members are the processes in a control group and those in it.
func members(t *testing.T, cgroup string) []string {
	t.Helper()
	cgroups, err := filepath.Glob("/proc/[0-9]*/cgroup")
	controlplanetest.Require(t, err)
	var found []string
	for _, file := range cgroups {
		if content, err := os.ReadFile(file); err == nil && strings.Contains(string(content), ":/"+cgroup+"/") {
			found = append(found, file)
		}
	}
	return found
}
