package probe

import (
	"context"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// parallel is how many attempts are under way at a time, of one place.
const parallel = 16

// retryAfter is how long after a failure it is tried once more, before it counts; with jitter.
const retryAfter = 2 * time.Second

// Round tries targets from this place.
type Round struct {
	Prober   *Prober
	Settings *upstream.Settings
	Client   string        // see [Options]
	Retry    time.Duration // how long after a failure it is tried once more; 0: never
}

// Try tries all targets, what failed once more, and says what holds. What the context leaves no time for is Unknown. The error
// says which clients there are.
func (r Round) Try(ctx context.Context, targets []probe.Target) ([]probe.TargetResult, error) {
	choose, err := newChooser(r.Client, r.Settings)
	if err != nil {
		return nil, err
	}
	tried := make([]probe.Tried, len(targets))
	all := make([]int, len(targets))
	for i, target := range targets {
		all[i], tried[i] = i, r.plan(target, choose)
	}
	r.try(ctx, tried, all)
	results := probe.Judge(tried)
	var again []int
	for i, result := range results {
		if worthRetry(result) {
			again = append(again, i)
		}
	}
	if r.Retry == 0 || len(again) == 0 || !pause(ctx, r.Retry+rand.N(r.Retry)) {
		return results, nil
	}
	r.try(ctx, tried, again)
	return probe.Judge(tried), nil
}

// worthRetry: it may have been a packet, or a proxy that restarts. Credentials that were refused rest, and what was reached was.
func worthRetry(result probe.TargetResult) bool {
	switch result.Reason {
	case probe.CredentialsRefused, probe.Reached, probe.WentAround, probe.WentThroughProxy, probe.NoControl:
		return false
	}
	return result.State != probe.Held
}

// pause reports whether the time passed before the context ended.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

func (r Round) plan(target probe.Target, choose chooser) probe.Tried {
	t := probe.Tried{Target: target}
	destination, err := probe.ParseURL(target.URL)
	if err != nil {
		t.Why = err.Error()
		return t
	}
	t.Host = destination.Host
	t.Chosen, t.Why = choose(destination)
	return t
}

// try fills in what is seen of some of them. What was seen earlier stays if there is no time. URLs with http wait for a
// moment until the proxy has answered the others: what it says there of a password counts for them, and it is sent once.
func (r Round) try(ctx context.Context, tried []probe.Tried, which []int) {
	var others, requests []int
	for _, i := range which {
		if strings.HasPrefix(tried[i].Target.URL, "http://") {
			requests = append(requests, i)
		} else {
			others = append(others, i)
		}
	}
	answered := make(chan struct{})
	var wait sync.WaitGroup
	wait.Go(func() {
		defer close(answered)
		r.tryAll(ctx, tried, others)
	})
	if r.Settings.HTTP.URL.Equal(r.Settings.HTTPS.URL) {
		select {
		case <-answered:
		case <-time.After(r.Prober.Stage):
		}
	}
	r.tryAll(ctx, tried, requests)
	wait.Wait()
}

func (r Round) tryAll(ctx context.Context, tried []probe.Tried, which []int) {
	workqueue.ParallelizeUntil(ctx, parallel, len(which), func(piece int) {
		t := &tried[which[piece]]
		destination, err := probe.ParseURL(t.Target.URL)
		if err != nil || t.Chosen == "" {
			return
		}
		var seen []probe.Seen
		for _, way := range probe.Ways(t.Target, t.Chosen, !r.Settings.Proxy(destination.Scheme).URL.IsZero()) {
			seen = append(seen, r.Prober.Try(ctx, r.Settings, destination, way))
		}
		if ctx.Err() == nil { // else it was cut short
			t.Seen = seen
		}
	})
}
