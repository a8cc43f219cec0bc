// Package process runs the programs that the tests need beside them: an API server, a controller, a
// proxy. It knows nothing about any of them. Its duty is that a program is ready when Start returns,
// that its last words are in the error when it is not, and that nothing outlives the test.
package process

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"
)

const (
	defaultReadyTimeout = 2 * time.Minute
	defaultGrace        = 5 * time.Second
	readyInterval       = 50 * time.Millisecond
	killTime            = 2 * time.Minute // until what was killed is gone
)

// Spec says what to run and how to know that it is ready.
type Spec struct {
	// Name is used in errors.
	Name string
	Path string
	Args []string
	// Env is added to the environment of this process.
	Env []string
	// OnlyEnv makes it the whole environment instead.
	OnlyEnv bool
	// Dir is the working directory.
	Dir string
	// LogFile receives what the program prints; a restarted program appends.
	LogFile string
	// Ready is asked until it returns nil. Without it a program is ready once it has been started.
	Ready func(context.Context) error
	// ReadyTimeout is two minutes if not set.
	ReadyTimeout time.Duration
	// Grace is how long Stop waits between SIGTERM and SIGKILL, five seconds if not set.
	Grace time.Duration
	// Detached lets the program outlive this one.
	Detached bool
}

// Process is a program that was started and perhaps has ended since.
type Process struct {
	spec Spec
	cmd  *exec.Cmd

	done chan struct{}

	stop    sync.Once
	stopErr error
}

// Start runs the program and returns when it is ready. The context bounds the start only: the program
// runs until Stop, or until this process ends.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if spec.ReadyTimeout == 0 {
		spec.ReadyTimeout = defaultReadyTimeout
	}
	if spec.Grace == 0 {
		spec.Grace = defaultGrace
	}
	log, err := os.OpenFile(spec.LogFile, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", spec.Name, err)
	}
	defer log.Close() // the program has its own descriptor

	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Dir = spec.Dir
	cmd.Env = append([]string{}, spec.Env...) // nil would be this process's environment
	if !spec.OnlyEnv {
		cmd.Env = append(os.Environ(), spec.Env...)
	}
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = attributes(spec.Detached)
	if err := fork(cmd); err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.Name, err)
	}

	p := &Process{spec: spec, cmd: cmd, done: make(chan struct{})}
	go p.wait()
	if err := p.awaitReady(ctx); err != nil {
		stopErr := p.Stop()
		return nil, errors.Join(fmt.Errorf("%w\n%s", err, tail(spec.LogFile)), stopErr)
	}
	return p, nil
}

// PID is also the id of the process group.
func (p *Process) PID() int { return p.cmd.Process.Pid }

// Done is closed when the program and everything in its process group have ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// LogFile is where the program's output goes.
func (p *Process) LogFile() string { return p.spec.LogFile }

// Log returns the output of the program so far, and of the earlier ones with the same log.
func (p *Process) Log() (string, error) {
	content, err := os.ReadFile(p.spec.LogFile)
	return string(content), err
}

// Wait returns when the program has ended. The error is its status, if that is not 0, or the context's.
func (p *Process) Wait(ctx context.Context) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		return fmt.Errorf("await the end of %s: %w", p.spec.Name, ctx.Err())
	}
	if !p.cmd.ProcessState.Success() {
		return fmt.Errorf("%s has ended: %s", p.spec.Name, p.cmd.ProcessState)
	}
	return nil
}

// Stop ends the program and everything in its process group, and returns when they are gone. The exit status of a
// program that was asked to end does not matter.
func (p *Process) Stop() error {
	p.stop.Do(func() { p.stopErr = p.terminate() })
	return p.stopErr
}

// Kill ends the program and everything in its process group at once, in the middle of whatever it does. Of one that
// has ended, the number may be somebody else's.
func (p *Process) Kill() {
	if !p.ended() {
		p.signal(syscall.SIGKILL)
	}
	<-p.done
}

// Freeze stops the program, so that it answers nobody. Thaw lets it go on.
func (p *Process) Freeze() error { return syscall.Kill(-p.PID(), syscall.SIGSTOP) }

// Thaw ends Freeze.
func (p *Process) Thaw() error { return syscall.Kill(-p.PID(), syscall.SIGCONT) }

func (p *Process) wait() {
	_ = p.cmd.Wait() // the status is in cmd.ProcessState, for who asks
	// What the program left behind in its group goes with it. At once: an empty group's number is free
	// for others. Killed is not yet gone, and until then a child holds its ports and files.
	p.signal(syscall.SIGKILL)
	for end := time.Now().Add(killTime); groupAlive(p.PID()) && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	close(p.done)
}

func (p *Process) awaitReady(ctx context.Context) error {
	if p.spec.Ready == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, p.spec.ReadyTimeout)
	defer cancel()
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-p.done:
			return fmt.Errorf("%s ended before it was ready: %s", p.spec.Name, p.cmd.ProcessState)
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w; last answer: %w", p.spec.Name, ctx.Err(), cmp.Or(last, errors.New("none")))
		case <-tick.C:
			if last = p.spec.Ready(ctx); last == nil {
				return nil
			}
		}
	}
}

func (p *Process) terminate() error {
	for _, step := range []struct {
		signal   syscall.Signal
		patience time.Duration
	}{{syscall.SIGTERM, p.spec.Grace}, {syscall.SIGKILL, killTime}} {
		if p.ended() {
			return nil
		}
		p.signal(step.signal)
		select {
		case <-p.done:
			return nil
		case <-time.After(step.patience):
		}
	}
	return fmt.Errorf("%s (process %d) survives SIGKILL", p.spec.Name, p.PID())
}

func (p *Process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// signal reaches the whole group. An error means that nobody is left in it.
func (p *Process) signal(s syscall.Signal) { _ = syscall.Kill(-p.PID(), s) }
