package controller

import (
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
)

// endClock is the clock by which entries and ProxyOverrides end. It never goes back, so that what has ended does not come back
// with a clock that is set back.
type endClock struct {
	mu     sync.Mutex
	latest time.Time
	since  map[string]time.Time // by CorporateProxy: what had ended then has ended, as the revision of then says
}

// at is the time for a CorporateProxy; of an empty name, for nobody's.
func (c *endClock) at(proxy string, now time.Time) time.Time {
	now = now.Round(0) // its monotonic part knows of no clock that is set
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = later(c.latest, now)
	return later(c.latest, c.since[proxy])
}

// recorded notes when the newest revision of a CorporateProxy was recorded, perhaps by an earlier process.
func (c *endClock) recorded(proxy string, since, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = later(c.latest, now.Round(0))
	if c.since == nil {
		c.since = map[string]time.Time{}
	}
	c.since[proxy] = later(c.since[proxy], believed(since, c.latest))
}

func (c *endClock) forget(proxy string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.since, proxy)
}

// believed is when something was decided; zero if that is so far in the future that it is by a clock that was wrong. What it would
// end would have ended for as long.
func believed(since, now time.Time) time.Time {
	const skew = 5 * time.Minute // between the clocks of two machines
	if since.Sub(now) > skew {
		return time.Time{}
	}
	return since
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// untilEnd is how long nothing ends; 0 if nothing ever does.
func untilEnd(next, now time.Time) time.Duration {
	if next.IsZero() {
		return 0
	}
	return min(max(next.Sub(now.Round(0)), time.Millisecond), longestLook)
}

// endOverride takes what has ended out of the ProxyOverride of a cluster. What was decided about the cluster was decided by
// a clock that may have been set back since.
func (r *ClusterReconciler) endOverride(s *state) {
	now := r.Proxies.ends.at("", s.now)
	if s.record != nil {
		now = later(now, believed(s.record.Since.Time, now))
	}
	s.overrideEnds, s.overrideNow = inputs.EndsOfOverride(s.override), now
	s.override = inputs.OverrideInEffect(s.override, now)
}

// reportedOverride is what a report says of ends.
func reportedOverride(s state) *v1alpha1.ReportedOverride {
	if len(s.overrideEnds) == 0 {
		return nil
	}
	reported := &v1alpha1.ReportedOverride{}
	for _, end := range s.overrideEnds {
		if end.What == inputs.WholeOverride && s.override == nil {
			reported.Ended = ptrTime(end.Time)
		}
	}
	next, comes := inputs.Next(s.overrideEnds, s.overrideNow)
	if comes {
		reported.Ends, reported.What, reported.Owner, reported.Reason = ptrTime(next.Time), next.What, next.Owner, next.Reason
	}
	if reported.Ended == nil && reported.Ends == nil { // of entries alone, and the owner sees them
		return nil
	}
	return reported
}

func ptrTime(t time.Time) *metav1.Time {
	at := metav1.NewTime(t.UTC().Truncate(time.Second))
	return &at
}

// nextEndStatus says when the next entry of a CorporateProxy ends.
func nextEndStatus(status *v1alpha1.CorporateProxyStatus, next time.Time) {
	status.NextEnd = nil
	if !next.IsZero() {
		status.NextEnd = ptrTime(next)
	}
}
