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
	firstRefused = 2 * time.Second // a write that is refused, as an API server does that has just started and knows no roles yet
	firstPending = 15 * time.Second
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
}

// next returns how long to wait after one more failure, with a jitter of a fifth.
func (b *clusterBackOff) next(cluster types.NamespacedName, circumstances string, first, longest time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.by == nil {
		b.by = map[types.NamespacedName]failures{}
	}
	failed := b.by[cluster]
	if failed.circumstances != circumstances {
		failed = failures{circumstances: circumstances}
	}
	wait := first
	for range failed.times {
		if wait *= 2; wait >= longest {
			wait = longest
			break
		}
	}
	failed.times++
	b.by[cluster] = failed
	return wait - rand.N(wait/5+1)
}

func (b *clusterBackOff) forget(cluster types.NamespacedName) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.by, cluster)
}
