package forward

import (
	"context"
	"net"
	"sync"
	"time"
)

const (
	lookupTimeout = time.Second      // what a slow DNS costs a request
	lookupLife    = 10 * time.Second // of an answer: a new Service is known after that
	maxLookups    = 4096             // that are remembered
)

// services knows which names of Services there are, and remembers the answers.
type services struct {
	resolve func(ctx context.Context, name string) bool
	now     func() time.Time
	mutex   sync.Mutex
	known   map[string]lookup
}

type lookup struct {
	exists bool
	until  time.Time
}

// newServices looks names up in DNS. Whatever that does not say is no Service.
func newServices() *services { return &services{resolve: resolves, now: time.Now} }

func resolves(ctx context.Context, name string) bool {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
	return err == nil && len(found) > 0
}

func (s *services) exists(ctx context.Context, name string) bool {
	s.mutex.Lock()
	known, found := s.known[name]
	s.mutex.Unlock()
	if found && s.now().Before(known.until) {
		return known.exists
	}
	exists := s.resolve(ctx, name)
	if ctx.Err() != nil {
		return exists
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.known == nil || len(s.known) >= maxLookups {
		s.known = map[string]lookup{}
	}
	s.known[name] = lookup{exists, s.now().Add(lookupLife)}
	return exists
}
