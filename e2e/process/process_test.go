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

	"k8s.io/apimachinery/pkg/util/wait"

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
		await(t, "its number", func() error {
			pid, err := os.ReadFile(filepath.Join(spec.Dir, "pid"))
			if err == nil && len(pid) == 0 {
				err = errors.New("the file is empty")
			}
			return err
		})
		return errors.New("still mooring")
	}
	_, err := process.Start(t.Context(), spec)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "still mooring") {
		t.Errorf("the error is %v", err)
	}
	pid, err := os.ReadFile(filepath.Join(spec.Dir, "pid"))
	if err != nil {
		t.Fatal(err)
	}
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
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Fatal(err)
	}
	if err := p.Stop(); err != nil {
		t.Errorf("stopping again: %v", err)
	}
	child, err := os.ReadFile(filepath.Join(spec.Dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
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
		await(t, "the end of the thread", func() error {
			if _, err := os.Stat(fmt.Sprint("/proc/self/task/", thread)); err == nil {
				return fmt.Errorf("%d is there", thread)
			}
			return nil
		})
	}
	for _, p := range started {
		if err := syscall.Kill(p.PID(), syscall.SIGUSR1); err != nil {
			t.Errorf("a program died with the thread: %v", err)
		}
		await(t, "an answer of the program", func() error {
			select {
			case <-p.Done():
				t.Fatal("a program died with the thread")
			default:
			}
			return says(p.LogFile(), "alive")
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

func await(t *testing.T, what string, condition func() error) {
	t.Helper()
	var last error
	err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, 2*time.Minute, true, func(context.Context) (bool, error) {
		last = condition()
		return last == nil, nil
	})
	if err != nil {
		t.Fatalf("await %s: %v (last error: %v)", what, err, last)
	}
}

func shell(t *testing.T, script string) process.Spec {
	t.Helper()
	dir := t.TempDir()
	return process.Spec{
		Name: "the script", Path: "/bin/sh", Args: []string{"-c", script},
		Dir: dir, LogFile: filepath.Join(dir, "log"),
	}
}
