package controller

import (
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// The first waits for what is not watched; each further one is twice as long, up to the interval of the paced re-apply.
const (
	firstTaken   = time.Minute     // a name that is taken
	firstUnread  = time.Minute     // facts that cannot be read, while those of before stay
	firstRefused = 2 * time.Second // a write that is refused, as an API server does that has just started and knows no roles yet
	firstPending = 15 * time.Second
	firstOutage  = time.Second // an API server that does not answer
	firstSlow    = time.Minute // one that took too long for this cluster alone
)

// clusterBackOff spaces out the attempts for clusters that cannot be served for now. It begins anew where the circumstances,
// which are what the operator knows of that could change the answer, are others.
type clusterBackOff struct {
	mu sync.Mutex
	by map[types.NamespacedName]failures
}

type failures struct {
	circumstances string
	times         int
	until         time.Time // the next attempt
}

// next returns how long to wait after a failure, with a jitter of a fifth. One that comes before the wait is over, because
// something else happened to the cluster, does not count.
func (b *clusterBackOff) next(cluster types.NamespacedName, circumstances string, first, longest time.Duration, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by == nil {
		b.by = map[types.NamespacedName]failures{}
	}
	failed := b.by[cluster]
	if failed.circumstances != circumstances {
		failed = failures{circumstances: circumstances}
	}
	if rest := failed.until.Sub(now); rest > 0 {
		return rest
	}
	wait := first
	for range failed.times {
		if wait *= 2; wait >= longest {
			wait = longest
			break
		}
	}
	wait -= rand.N(wait/5 + 1)
	failed.times, failed.until = failed.times+1, now.Add(wait)
	b.by[cluster] = failed
	return wait
}

// over reports whether a wait has ended, and no attempt was made since.
func (b *clusterBackOff) over(cluster types.NamespacedName, now time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	failed, waits := b.by[cluster]
	return waits && !now.Before(failed.until)
}

func (b *clusterBackOff) forget(cluster types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.by, cluster)
}
