package forward

import (
	"context"
	"errors"
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
	resolve func(ctx context.Context, name string) (exists, sure bool)
	now     func() time.Time
	mutex   sync.Mutex
	known   map[string]*lookup
}

// lookup is one that goes on, until it is done, or its answer.
type lookup struct {
	done   chan struct{}
	exists bool
	until  time.Time // zero while it goes on
}

// resolves asks DNS, and is sure if that has said yes or no. It may be slow, or broken: whatever it does not say is no Service.
func resolves(ctx context.Context, name string) (exists, sure bool) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", name+".")
	var said *net.DNSError
	return err == nil && len(found) > 0, err == nil || errors.As(err, &said) && said.IsNotFound
}

// exists asks once for all that want to know.
func (s *services) exists(ctx context.Context, name string) bool {
	s.mutex.Lock()
	known := s.known[name]
	if known == nil || !known.until.IsZero() && !s.now().Before(known.until) {
		known = &lookup{done: make(chan struct{})}
		s.remember(name, known)
		go s.look(context.WithoutCancel(ctx), name, known)
	}
	s.mutex.Unlock()
	select {
	case <-known.done:
		return known.exists
	case <-ctx.Done():
		return false
	}
}

func (s *services) look(ctx context.Context, name string, into *lookup) {
	exists, sure := s.resolve(ctx, name)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	into.exists, into.until = exists, s.now()
	if sure {
		into.until = into.until.Add(lookupLife)
	}
	close(into.done)
}

// remember makes room by any one: who asks for names without end must not have all others forgotten.
func (s *services) remember(name string, one *lookup) {
	if s.known == nil {
		s.known = map[string]*lookup{}
	}
	for other := range s.known {
		if len(s.known) < maxLookups {
			break
		}
		delete(s.known, other)
	}
	s.known[name] = one
}
