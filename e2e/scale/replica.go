package main

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/deployment"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/repository"
)

const operatorName = "fairlead-operator"

// installDeployments puts the chart's Deployments on the control plane, as they come. Nobody makes pods of them; they are read
// for command line and environment.
func installDeployments(ctx context.Context, cp *controlplane.ControlPlane, delivery bool) error {
	manifests, err := helm.Template(ctx, helm.Release{
		Chart: repository.Path("charts", "fairlead"), Name: "fairlead", Namespace: operator.Namespace,
		Values: []any{map[string]any{"corporateProxy": map[string]any{"create": false}, "deliver": map[string]any{"enabled": delivery}}},
	})
	if err != nil {
		return err
	}
	objects, err := controlplane.Parse(manifests)
	if err != nil {
		return err
	}
	objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return o.GetKind() != "Deployment" })
	if err := cp.ApplyObjects(ctx, objects...); err != nil || !delivery {
		return err
	}
	return cp.ApplyFS(ctx, config.Deliver) // its rights
}

// replica is a Deployment's program as a kubelet runs it: one that ends is started again.
type replica struct {
	cp   *controlplane.ControlPlane
	name string // of the Deployment
	args []string

	mu       sync.Mutex
	running  *deployment.Replica
	wanted   bool
	restarts int // that nobody asked for
	peak     int // memory of those that have ended, in kibibytes
}

// start returns when it is ready.
func (r *replica) start(ctx context.Context) error {
	started, err := deployment.Start(ctx, r.cp, operator.Namespace, r.name, r.args...)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.running, r.wanted = started, true
	go r.keep(ctx, started)
	return nil
}

// keep starts it again when it has ended by itself.
func (r *replica) keep(ctx context.Context, started *deployment.Replica) {
	select {
	case <-started.Done():
	case <-ctx.Done():
		return
	}
	r.mu.Lock()
	wanted := r.wanted
	if wanted {
		r.restarts++
	}
	r.mu.Unlock()
	if wanted {
		_ = wait.PollUntilContextCancel(ctx, time.Second, true, func(ctx context.Context) (bool, error) { return r.start(ctx) == nil, nil })
	}
}

// stop ends it as a kubelet does.
func (r *replica) stop() error {
	used, err := r.memory()
	if err != nil {
		return err
	}
	r.mu.Lock()
	r.wanted, r.peak = false, max(r.peak, used.Peak)
	r.mu.Unlock()
	return r.current().Stop()
}

// current is the process that runs now.
func (r *replica) current() *deployment.Replica {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

func (r *replica) pid() int { return r.current().PID() }

// memory returns the memory of the process. The peak is that of all processes so far.
func (r *replica) memory() (process.Memory, error) {
	used, err := process.MemoryOf(r.pid())
	used.Peak = max(used.Peak, r.peak)
	return used, err
}

// quiet returns when it has had nothing to do for two seconds but the paced re-apply, and since when. Reading the metrics of
// a large fleet costs the operator something, so it is not done more often.
func (r *replica) quiet(ctx context.Context) (since time.Time, err error) {
	const interval, calm, paced = 500 * time.Millisecond, 4, 3 // of 5,000 clusters in an hour, 0.7 in an interval
	same, before := 0, -1.0
	err = wait.PollUntilContextTimeout(ctx, interval, waveTimeout, true, func(ctx context.Context) (bool, error) {
		page, err := r.current().Metrics(ctx)
		if err != nil {
			return false, nil //nolint:nilerr // perhaps it is being started again
		}
		done := process.Sum(page, "controller_runtime_reconcile_total{")
		idle := before >= 0 && done-before <= paced
		before = done
		if !idle || process.Sum(page, "workqueue_depth{") > 0 || process.Sum(page, "controller_runtime_active_workers{") > 0 {
			same, since = 0, time.Now()
			return false, nil
		}
		same++
		return same >= calm, nil
	})
	if err != nil {
		return since, fmt.Errorf("await a quiet operator: %w", err)
	}
	return since, nil
}
