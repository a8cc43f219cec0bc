package upstream

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Directories lock an account after 3 to 10 wrong passwords within 15 to 30 minutes. So after a refusal nobody asks for firstPause,
// as it may have been a moment's, and after a second one in a row not before longPause; each half as long again or twice as long at
// most, since a fleet has thousands of relays. A proxy may let some destinations pass without a look at the password: that many
// refusals within longPause are as good as two in a row. docs/reference/relay.md has the arithmetic.
const (
	firstPause = 5 * time.Second
	longPause  = 30 * time.Minute
	many       = 4
)

// While nobody knows whether a credential is accepted, one request tries it, after a turn another one, and no more of the same
// account: the proxy may have refused them, and be slow to say so. After patience it is the destination that is slow, and they do
// not count.
const (
	turn     = 2 * time.Second
	patience = 10 * time.Second
)

// account is a user at a proxy. It is the unit that a directory locks.
type account struct {
	refused int         // times in a row, whatever the password was
	recent  []time.Time // refusals within longPause
	tries   []*try      // that were not answered yet, the oldest first
}

// try is a request with a credential that may be refused.
type try struct {
	of     *attempt
	began  time.Time
	client string
}

// room returns when the account may be tried once more: at once if that is not after now. A client that waits for an answer lets others
// go first: one with a thousand requests to destinations that are silent must not have all turns.
func (c *account) room(now time.Time, client string) time.Time {
	var young []*try
	for _, t := range c.tries {
		if own := t.began.Add(patience + turn); t.client == client && client != "" && own.After(now) {
			return own
		}
		if t.began.Add(patience).After(now) {
			young = append(young, t)
		}
	}
	switch {
	case len(young) == 0:
		return now
	case len(young) == 1 && c.refused == 0:
		return later(now, young[0].began.Add(turn))
	}
	return young[0].began.Add(patience)
}

func (s *attempt) begin(now time.Time, client string) *try {
	t := &try{s, now, client}
	s.tries = append(s.tries, t)
	return t
}

func (c *account) end(t *try) {
	c.tries = slices.DeleteFunc(c.tries, func(other *try) bool { return other == t })
}

// refuse notes a refusal, and reports whether it is one of many.
func (c *account) refuse(now time.Time) bool {
	c.refused++
	c.recent = append(slices.DeleteFunc(c.recent, func(at time.Time) bool { return now.Sub(at) > longPause }), now)
	return c.refused > 1 || len(c.recent) >= many
}

// rest is since how many refusals in a row, and until when, something is not tried.
type rest struct {
	refused int
	until   time.Time
}

// refuse notes one more refusal; long: it is known to be one of many.
func (r *rest) refuse(now time.Time, long bool) {
	r.refused++
	r.until = now.Add(firstPause + rand.N(firstPause/2))
	if long || r.refused > 1 {
		r.long(now)
	}
}

func (r *rest) long(now time.Time) { r.until = later(r.until, now.Add(longPause+rand.N(longPause))) }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
