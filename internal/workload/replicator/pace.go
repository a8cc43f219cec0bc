package replicator

import (
	"sync"
	"time"

	"k8s.io/client-go/util/flowcontrol"
)

// So many writes go to one namespace at once; from then on, one in so long. Whoever answers each write of ours with
// one of their own, as a controller does, would keep the API server busy otherwise.
const (
	burst = 10
	pace  = 10 * time.Second
)

// paces bounds the writes of each namespace.
type paces struct {
	mu sync.Mutex
	of map[string]flowcontrol.RateLimiter
}

// allow reports whether a write may be made now, and counts it.
func (p *paces) allow(namespace string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = map[string]flowcontrol.RateLimiter{}
	}
	if p.of[namespace] == nil {
		p.of[namespace] = flowcontrol.NewTokenBucketRateLimiter(float32(time.Second)/float32(pace), burst)
	}
	return p.of[namespace].TryAccept()
}

func (p *paces) forget(namespace string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.of, namespace)
}
