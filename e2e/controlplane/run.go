package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Run starts another program beside the control plane, for instance a controller: with its log in our
// folder, and to be kept running and ended by StopKept where the control plane is. Otherwise ending it
// is the caller's.
func (cp *ControlPlane) Run(ctx context.Context, spec process.Spec) (*process.Process, error) {
	spec.Dir = cp.Dir()
	spec.LogFile = cp.dir.log(spec.Name)
	spec.Detached = cp.options.KeepRunning
	started, err := process.Start(ctx, spec)
	if err != nil || !spec.Detached {
		return started, err
	}
	if err := os.WriteFile(cp.dir.pid(spec.Name), []byte(strconv.Itoa(started.PID())), 0o600); err != nil {
		return nil, errors.Join(fmt.Errorf("note the process of %s: %w", spec.Name, err), started.Stop())
	}
	return started, nil
}

// stop ends a program of the control plane as a service manager does, if it runs.
func (cp *ControlPlane) stop(p **process.Process) error {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if *p == nil {
		return nil
	}
	if err := (*p).Stop(); err != nil {
		return err // with the program's name
	}
	*p = nil
	return nil
}

// kill ends a program at once, in the middle of whatever it does, if it runs.
func (cp *ControlPlane) kill(p **process.Process) {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	if *p != nil {
		(*p).Kill()
		*p = nil
	}
}

// PIDs are the ids of the processes that run now, by the program's name.
func (cp *ControlPlane) PIDs() map[string]int {
	cp.mu.Lock()
	defer cp.mu.Unlock()
	running := map[string]*process.Process{
		tools.Etcd.Name: cp.etcd, tools.KubeAPIServer.Name: cp.apiServer, tools.KubeControllerManager.Name: cp.controllerManager,
	}
	pids := map[string]int{}
	for name, p := range running {
		if p != nil {
			pids[name] = p.PID()
		}
	}
	return pids
}
