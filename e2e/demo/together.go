package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/fairlead-io/fairlead/e2e/deployment"
)

type stopper interface{ Stop() error }

// running are programs that end with the demo.
type running struct {
	mu  sync.Mutex
	all []stopper
}

func (r *running) add(one stopper) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
}

// take adds a program if it has started.
func (r *running) take(one stopper, err error) error {
	if err == nil {
		r.add(one)
	}
	return err
}

// stop ends Fairlead's own programs, which give leases back, and then all others at the same time, API servers too: nothing
// that they write is needed any more.
func (r *running) stop() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ours, others []func() error
	for _, one := range r.all {
		if _, is := one.(*deployment.Replica); is {
			ours = append(ours, one.Stop)
		} else {
			others = append(others, one.Stop)
		}
	}
	r.all = nil
	return errors.Join(together(ours...), together(others...))
}

// together does everything at the same time, and returns when all is done.
func together(all ...func() error) error {
	errs := make([]error, len(all))
	var wait sync.WaitGroup
	for i, do := range all {
		wait.Go(func() { errs[i] = do() })
	}
	wait.Wait()
	return errors.Join(errs...)
}

// poll asks until the answer is yes. An error is an answer only in the end.
func poll(ctx context.Context, what string, ask func(context.Context) (bool, error)) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, 5*time.Minute, true, func(ctx context.Context) (yes bool, _ error) {
		yes, last = ask(ctx)
		return yes && last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("await %s: %w", what, errors.Join(err, last))
	}
	return nil
}
