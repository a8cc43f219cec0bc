package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/process"
)

func TestAProgramThatEndsBeforeItIsReadyIsQuoted(t *testing.T) {
	spec := shell(t, "echo out of rope; exit 3")
	spec.Ready = func(context.Context) error { return errors.New("not yet") }
	_, err := process.Start(t.Context(), spec)
	if err == nil {
		t.Fatal("it counts as ready")
	}
	for _, want := range []string{"exit status 3", "out of rope"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not in the error: %v", want, err)
		}
	}
}

func TestAProgramThatIsNeverReadyIsStoppedAndItsLastAnswerQuoted(t *testing.T) {
	spec := shell(t, "echo $$ > pid; exec sleep 1000")
	spec.ReadyTimeout = 2 * time.Second
	spec.Ready = func(context.Context) error { // it has begun before the time is up, however late it does
		controlplanetest.Await(t, "its number", func(context.Context) (bool, error) {
			pid, err := os.ReadFile(filepath.Join(spec.Dir, "pid"))
			return controlplanetest.Holds(len(pid) > 0, "it says %q: %v", pid, err)
		})
		return errors.New("still mooring")
	}
	_, err := process.Start(t.Context(), spec)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "still mooring") {
		t.Errorf("the error is %v", err)
	}
	pid := controlplanetest.ReadFile(t, filepath.Join(spec.Dir, "pid"))
	if _, err := os.Stat("/proc/" + strings.TrimSpace(string(pid))); err == nil {
		t.Error("it still runs")
	}
}

func TestStopEndsAProgramThatIgnoresItAndItsChildren(t *testing.T) {
	spec := shell(t, "trap '' TERM; sleep 1000 & echo $! > child; wait; wait; sleep 1000")
	spec.Grace = 200 * time.Millisecond
	spec.Ready = func(context.Context) error {
		_, err := os.Stat(filepath.Join(spec.Dir, "child"))
		return err
	}
	p, err := process.Start(t.Context(), spec)
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, p.Stop())
	if err := p.Stop(); err != nil {
		t.Errorf("stopping again: %v", err)
	}
	child := controlplanetest.ReadFile(t, filepath.Join(spec.Dir, "child"))
	stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(child)) + "/stat")
	if err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("the child still runs: %s", stat)
	}
}

// See fork: what starts a program here is a thread that the runtime ends.
func TestAProgramSurvivesTheThreadThatAskedForIt(t *testing.T) {
	var started []*process.Process
	var threads []int
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		spec := shell(t, "trap 'echo alive' USR1; sleep 1000 & echo ready; while :; do wait; done")
		spec.Ready = func(context.Context) error { return says(spec.LogFile, "ready") }
		all.Go(func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			p, err := process.Start(t.Context(), spec)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			started, threads = append(started, p), append(threads, syscall.Gettid())
		})
	}
	all.Wait()
	for _, thread := range threads {
		if thread == os.Getpid() {
			continue // the first thread only rests
		}
		controlplanetest.Await(t, "the end of the thread", func(context.Context) (bool, error) {
			_, err := os.Stat(fmt.Sprint("/proc/self/task/", thread))
			return controlplanetest.Holds(err != nil, "%d is there", thread)
		})
	}
	for _, p := range started {
		if err := syscall.Kill(p.PID(), syscall.SIGUSR1); err != nil {
			t.Errorf("a program died with the thread: %v", err)
		}
		controlplanetest.Await(t, "an answer of the program", func(context.Context) (bool, error) {
			select {
			case <-p.Done():
				t.Fatal("a program died with the thread")
			default:
			}
			err := says(p.LogFile(), "alive")
			return err == nil, err
		})
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func says(file, text string) error {
	log, err := os.ReadFile(file)
	if err == nil && !strings.Contains(string(log), text) {
		err = fmt.Errorf("it says %q", log)
	}
	return err
}

func shell(t *testing.T, script string) process.Spec {
	t.Helper()
	dir := t.TempDir()
	return process.Spec{
		Name: "the script", Path: "/bin/sh", Args: []string{"-c", script},
		Dir: dir, LogFile: filepath.Join(dir, "log"),
	}
}

func TestAMetricIsSummedOverItsSeries(t *testing.T) {
	page := `# HELP workqueue_depth
workqueue_depth{name="a",priority=""} 3
workqueue_depth{name="b",priority="100"} 4
workqueue_depth_other 7
`
	if got := process.Sum(page, "workqueue_depth{"); got != 7 {
		t.Errorf("it is %v", got)
	}
}
