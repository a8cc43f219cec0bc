package flux_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
)

// controller is helm-controller beside the control plane. It is the administrator: its permissions are not the subject.
type controller struct {
	*process.Process
	metrics *ports.Port
}

func (s *site) startController(t *testing.T) *controller {
	t.Helper()
	c := &controller{}
	var err error
	c.metrics, err = ports.Reserve()
	controlplanetest.Require(t, err)
	health, err := ports.Reserve()
	controlplanetest.Require(t, err)
	c.Process, err = s.cp.Run(t.Context(), process.Spec{
		Name: "helm-controller", Path: s.program,
		Args:  []string{"--watch-all-namespaces", "--metrics-addr", c.metrics.Address(), "--health-addr", health.Address()},
		Env:   []string{"KUBECONFIG=" + s.cp.AdminKubeconfig(), "RUNTIME_NAMESPACE=flux-system"},
		Ready: process.Answers("http://" + health.Address() + "/readyz"),
	})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = c.Stop() })
	return c
}

var reconciled = regexp.MustCompile(`(?m)^gotk_reconcile_duration_seconds_count\{kind="HelmRelease",name="([^"]+)",namespace="[^"]+"\} (\d+)$`)

// awaitIdle returns how often each HelmRelease was reconciled, once nothing is being done or waits to be.
func (c *controller) awaitIdle(t *testing.T) map[string]int {
	t.Helper()
	counts := map[string]int{}
	controlplanetest.Await(t, "helm-controller to have nothing to do", func(ctx context.Context) (bool, error) {
		text, err := process.Get(ctx, "http://"+c.metrics.Address()+"/metrics")
		if err != nil {
			return false, err
		}
		if busy := process.Sum(text, "controller_runtime_active_workers{") + process.Sum(text, "workqueue_depth{"); busy > 0 {
			return false, fmt.Errorf("%v of workers and queue", busy)
		}
		for _, match := range reconciled.FindAllStringSubmatch(text, -1) {
			counts[match[1]], _ = strconv.Atoi(match[2])
		}
		return controlplanetest.Holds(len(counts) > 0, "it has reconciled nothing")
	})
	return counts
}
