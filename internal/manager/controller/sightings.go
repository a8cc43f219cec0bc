package controller

import (
	"sync"
	"time"
)

// sightings remember when this process first saw something. A creationTimestamp is by the clock of the API server, which may
// be minutes off this one, and is that of the object alone.
type sightings[K comparable] struct {
	mu    sync.Mutex
	since map[K]time.Time
}

// left returns how much of a period since the first sight is left at a time, which is the first one if there was none;
// 0 or less: nothing.
func (s *sightings[K]) left(of K, period time.Duration, now time.Time) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	since, known := s.since[of]
	if !known {
		if s.since == nil {
			s.since = map[K]time.Time{}
		}
		since, s.since[of] = now, now
	}
	return period - now.Sub(since)
}

func (s *sightings[K]) forget(of K) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.since, of)
}
