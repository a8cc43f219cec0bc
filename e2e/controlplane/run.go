package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/fairlead-io/fairlead/e2e/process"
)

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
