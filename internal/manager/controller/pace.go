package controller

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Pace says when the Secrets of a cluster are next applied although nothing
// changed, which is how drift is mended without reading them. It lives in memory
// only: after a start, the first round is spread over one interval.
type Pace struct {
	Interval time.Duration

	mu   sync.Mutex
	next map[types.NamespacedName]time.Time
}

const maxDoublings = 5 // of the interval, for a Secret that a rival keeps reverting

// due returns how long it is until the Secrets of a cluster are applied again, at least a second.
func (p *Pace) due(cluster types.NamespacedName) time.Duration {
	return max(p.wait(cluster, time.Now()), time.Second)
}

// wait returns how long it is until the cluster's turn; 0 or less means now.
func (p *Pace) wait(cluster types.NamespacedName, now time.Time) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = map[types.NamespacedName]time.Time{}
	}
	next, known := p.next[cluster]
	if !known {
		next = now.Add(rand.N(p.Interval) + 1)
		p.next[cluster] = next
	}
	return next.Sub(now)
}

// applied sets the next turn: an interval from now, give or take a tenth, doubled
// for every time in a row that a rival reverted us beyond the first.
func (p *Pace) applied(cluster types.NamespacedName, now time.Time, reverts int32) {
	interval := p.Interval << min(max(reverts-1, 0), maxDoublings)
	interval += rand.N(interval/5+1) - interval/10
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = map[types.NamespacedName]time.Time{}
	}
	p.next[cluster] = now.Add(interval)
}

func (p *Pace) forget(cluster types.NamespacedName) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.next, cluster)
}
