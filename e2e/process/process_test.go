package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

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
	spec.ReadyTimeout = 3 * time.Second // in which a busy machine has started it
	spec.Ready = func(context.Context) error { return errors.New("still mooring") }
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
	var mu sync.Mutex
	var all sync.WaitGroup
	for range 8 {
		spec := shell(t, "exec sleep 1000")
		all.Go(func() {
			runtime.LockOSThread() // and never unlocked: the thread ends with the goroutine
			p, err := process.Start(t.Context(), spec)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			started = append(started, p)
		})
	}
	all.Wait()
	deadline := time.After(300 * time.Millisecond)
	for _, p := range started {
		select {
		case <-p.Done():
			t.Error("a program died with the thread")
		case <-deadline:
			deadline = closed()
		}
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	}
}

func closed() <-chan time.Time {
	c := make(chan time.Time)
	close(c)
	return c
}

func shell(t *testing.T, script string) process.Spec {
	t.Helper()
	dir := t.TempDir()
	return process.Spec{
		Name: "the script", Path: "/bin/sh", Args: []string{"-c", script},
		Dir: dir, LogFile: filepath.Join(dir, "log"),
	}
}
