package forward

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestANameIsLookedUpOnceInAWhile(t *testing.T) {
	now, asked := time.Unix(0, 0), 0
	s := &services{now: func() time.Time { return now }, resolve: func(_ context.Context, name string) (bool, bool) {
		asked++
		return name == "backend.shop.svc.cluster.local", true
	}}
	for range 100 {
		if !s.exists(t.Context(), "backend.shop.svc.cluster.local") || s.exists(t.Context(), "github.com.svc.cluster.local") {
			t.Fatal("another answer")
		}
	}
	if asked != 2 {
		t.Errorf("DNS was asked %d times", asked)
	}
	now = now.Add(lookupLife)
	if s.exists(t.Context(), "github.com.svc.cluster.local"); asked != 3 {
		t.Errorf("an old answer counts after %d questions", asked)
	}
	for i := range 3 * maxLookups {
		s.exists(t.Context(), strconv.Itoa(i))
	}
	if len(s.known) > maxLookups {
		t.Errorf("%d names are remembered", len(s.known))
	}
}

// DNS that is slow or broken has not said no, and many that ask are one question.
func TestWhatDNSDoesNotSayIsAskedAgainAndOnceForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var asked atomic.Int32
		s := &services{now: time.Now, resolve: func(context.Context, string) (bool, bool) {
			time.Sleep(lookupTimeout)
			return asked.Add(1) > 1, asked.Load() > 1
		}}
		for _, want := range []bool{false, true, true} {
			var running sync.WaitGroup
			for range 100 {
				running.Go(func() {
					if got := s.exists(t.Context(), "backend.shop.svc.cluster.local"); got != want {
						t.Errorf("%v, want %v", got, want)
					}
				})
			}
			running.Wait()
		}
		if asked.Load() != 2 {
			t.Errorf("DNS was asked %d times", asked.Load())
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if s.exists(gone, "other.shop.svc.cluster.local") {
			t.Error("a client that is gone has an answer")
		}
		time.Sleep(lookupTimeout)
	})
}
