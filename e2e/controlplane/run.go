package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/fairlead-io/fairlead/e2e/process"
)

// Run starts another program beside the control plane, for instance a controller: with its log in our
// folder, and to be kept running and ended by StopKept where the control plane is. Otherwise ending it
// is the caller's.
func (cp *ControlPlane) Run(ctx context.Context, spec process.Spec) (*process.Process, error) {
	return cp.run(ctx, spec)
}

// run starts a program with its log, and when it is to be kept its process id, in our folder.
func (cp *ControlPlane) run(ctx context.Context, spec process.Spec) (*process.Process, error) {
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
