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

func kill(p **process.Process) {
	if *p == nil {
		return
	}
	(*p).Kill()
	*p = nil
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
