package forward

import (
	"context"
	"strconv"
	"testing"
	"time"
)

func TestANameIsLookedUpOnceInAWhile(t *testing.T) {
	now, asked := time.Unix(0, 0), 0
	s := &services{now: func() time.Time { return now }, resolve: func(_ context.Context, name string) bool {
		asked++
		return name == "backend.shop.svc.cluster.local"
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
