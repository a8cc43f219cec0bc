package policies_test

import (
	"context"
	"testing"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// The two that can evaluate a policy, as the chart's values call them.
const (
	withKyverno = "Kyverno"
	native      = "Native"
)

// engine is a control plane with who evaluates the policies there.
type engine struct {
	name    string
	cp      *controlplane.ControlPlane
	kyverno *kyverno.Kyverno // nil if native
	clients kubernetes.Interface
}

// startEngine starts one that stays until the tests of the package are over.
func startEngine(ctx context.Context, name string) (*engine, error) {
	options := controlplane.Options{}
	if name == withKyverno {
		options.Content = kyverno.Content
	}
	cp, err := controlplane.Start(ctx, options)
	if err != nil {
		return nil, err
	}
	controlplanetest.Keep(cp)
	if err := cp.StartControllerManager(ctx, controlplane.ServiceAccounts); err != nil {
		return nil, err
	}
	e := &engine{name: name, cp: cp}
	if name == withKyverno {
		if e.kyverno, err = kyverno.Start(ctx, cp, kyverno.Options{}); err != nil {
			return nil, err
		}
	}
	config := cp.Admin()
	config.QPS = -1                           // as fast as it can
	config.WarningHandler = rest.NoWarnings{} // names that occur twice
	e.clients, err = kubernetes.NewForConfig(config)
	return e, err
}

// startEngines starts both at the same time.
func startEngines(ctx context.Context) ([]*engine, error) {
	engines := make([]*engine, 2)
	var both errgroup.Group
	for i, name := range []string{native, withKyverno} {
		both.Go(func() (err error) {
			engines[i], err = startEngine(ctx, name)
			return err
		})
	}
	return engines, both.Wait()
}

// must returns what f makes. An error ends the test.
func must[T any](t testing.TB, f func() (T, error)) T {
	t.Helper()
	made, err := f()
	controlplanetest.Require(t, err)
	return made
}

// each runs f with n numbers from zero on, some at a time, and ends the test with the first error.
func each(t testing.TB, n int, f func(ctx context.Context, i int) error) {
	t.Helper()
	var all errgroup.Group
	all.SetLimit(8)
	for i := range n {
		all.Go(func() error { return f(t.Context(), i) })
	}
	controlplanetest.Require(t, all.Wait())
}
