package settings

import (
	"sync"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// LongestLook is how long a change of validity is waited for without a look: a
// timer does not run while a machine sleeps.
const LongestLook = 24 * time.Hour

// Clock is the clock by which entries and ProxyOverrides end. It never goes back: so an ended entry does not come back
// with a clock that is set back.
type Clock struct {
	mu     sync.Mutex
	latest time.Time
	since  map[string]time.Time // by CorporateProxy: when its newest revision was recorded: what had ended then stays so
}

// At returns the time for a CorporateProxy; of an empty name, for nobody's.
func (c *Clock) At(proxy string, now time.Time) time.Time {
	now = now.Round(0) // its monotonic part knows of no clock that is set
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = later(c.latest, now)
	return later(c.latest, c.since[proxy])
}

// Recorded notes when the newest revision of a CorporateProxy was recorded, perhaps by an earlier process.
func (c *Clock) Recorded(proxy string, since, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = later(c.latest, now.Round(0))
	if c.since == nil {
		c.since = map[string]time.Time{}
	}
	c.since[proxy] = later(c.since[proxy], believed(since, c.latest))
}

func (c *Clock) forget(proxy string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.since, proxy)
}

// believed returns the time of a decision. It returns zero if that time is so far in the future that the clock was
// wrong. Otherwise, entries that end before that time would count as ended.
func believed(since, now time.Time) time.Time {
	const skew = 5 * time.Minute // between the clocks of two machines
	if since.Sub(now) > skew {
		return time.Time{}
	}
	return since
}

// OverrideClock returns the time by which the ProxyOverride of a cluster ends: what was decided about the cluster was decided by a
// clock that may have been set back since. record may be nil.
func OverrideClock(now time.Time, record *revision.Record) time.Time {
	if record == nil {
		return now
	}
	return later(now, believed(record.Since.Time, now))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// UntilEnd returns how long nothing ends; 0 if nothing ever does.
func UntilEnd(next, now time.Time) time.Duration {
	if next.IsZero() {
		return 0
	}
	return min(max(next.Sub(now.Round(0)), time.Millisecond), LongestLook)
}
