package docs_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// patience is for one block.
const patience = 4 * time.Minute

// shell is one bash for a page: variables, functions and the working directory stay from block to block.
type shell struct {
	cmd     *exec.Cmd
	stdin   io.WriteCloser
	answers *bufio.Reader // a line with the status of each script
	scripts string        // a folder
	n       int
	cancel  context.CancelFunc
}

// startShell starts one in a folder. It ends with the test, and so does what it has started.
func startShell(t *testing.T, dir string, environment []string) *shell {
	t.Helper()
	read, write, err := os.Pipe()
	controlplanetest.Require(t, err)
	defer write.Close()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	s := &shell{answers: bufio.NewReader(read), scripts: t.TempDir(), cancel: cancel}
	s.cmd = exec.CommandContext(ctx, "bash", "--noprofile", "--norc")
	s.cmd.Dir, s.cmd.Env, s.cmd.ExtraFiles = dir, environment, []*os.File{write}
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	s.cmd.Cancel = func() error { return syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL) }
	s.stdin, err = s.cmd.StdinPipe()
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, s.cmd.Start())
	t.Cleanup(func() { cancel(); _ = s.cmd.Wait() })
	_, err = fmt.Fprintln(s.stdin, "set -o pipefail")
	controlplanetest.Require(t, err)
	return s
}

// ending has a script end, and the shell with it, at a command that ends with neither 0 nor the status of its last one.
func ending(script string, status int) string {
	if status == 0 {
		return script
	}
	return fmt.Sprintf("trap 'ended=$?; [ $ended = %d ] || exit $ended' ERR\n%s\nended=$?; trap - ERR; (exit $ended)", status, script)
}

// run runs a script and returns what it prints to both streams, and its status: of its first command that fails if all
// are to succeed, which ends the shell; of its last command otherwise.
func (s *shell) run(script string, all bool) (output string, status int, err error) {
	s.n++
	file := filepath.Join(s.scripts, fmt.Sprintf("%d.sh", s.n))
	if err := os.WriteFile(file, []byte(script+"\n"), 0o600); err != nil {
		return "", 0, err
	}
	line := fmt.Sprintf(". %[1]s >%[1]s.out 2>&1 </dev/null; echo $? >&3", file)
	if all {
		line = fmt.Sprintf("set -e; . %[1]s >%[1]s.out 2>&1 </dev/null; set +e; echo 0 >&3", file)
	}
	late := time.AfterFunc(patience, s.cancel)
	defer late.Stop()
	if _, err := fmt.Fprintln(s.stdin, line); err != nil {
		return "", 0, err
	}
	answer, err := s.answers.ReadString('\n')
	printed, readErr := os.ReadFile(file + ".out")
	switch {
	case errors.Is(err, io.EOF) && all:
		_ = s.cmd.Wait()
		status = s.cmd.ProcessState.ExitCode()
	case err == nil:
		status, err = strconv.Atoi(strings.TrimSpace(answer))
		if err != nil {
			return "", 0, err
		}
	default:
		return string(printed), 0, fmt.Errorf("the shell has ended: %w", err)
	}
	return string(printed), status, readErr
}
