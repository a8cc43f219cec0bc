package cluster

import (
	"context"
	"sync"
	"time"
)

// newcomers are clusters that get their first Secrets. Machines wait for those, so what other clusters are sent meanwhile
// waits a moment.
type newcomers struct {
	most int // that wait at a time: the other workers are for the next newcomer

	mu      sync.Mutex
	present int
	newest  time.Time // when the last of them came
	waiting int
	gone    chan struct{} // is closed when the last of those that are present has its Secrets
}

// patience is how long a newcomer is waited for at most, so that one that is stuck, or many of them, do not hold up a fan-out.
const patience = 200 * time.Millisecond

// arrive counts a newcomer. The caller calls leave when the newcomer has its Secrets.
func (n *newcomers) arrive() (leave func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.newest = time.Now()
	if n.present++; n.present == 1 {
		n.gone = make(chan struct{})
	}
	return sync.OnceFunc(func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		if n.present--; n.present == 0 {
			close(n.gone)
		}
	})
}

// letPass waits for the newcomers that are present.
func (n *newcomers) letPass(ctx context.Context) {
	n.mu.Lock()
	left := patience - time.Since(n.newest)
	if n.present == 0 || n.waiting >= n.most || left <= 0 {
		n.mu.Unlock()
		return
	}
	n.waiting++
	gone := n.gone
	n.mu.Unlock()
	timer := time.NewTimer(left)
	select {
	case <-gone:
	case <-timer.C:
	case <-ctx.Done():
	}
	timer.Stop()
	n.mu.Lock()
	n.waiting--
	n.mu.Unlock()
}
