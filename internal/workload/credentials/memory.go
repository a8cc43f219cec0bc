package credentials

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// maxSeen is how many credentials are told of: as many as a report has room for. Those that are in use come first, then those
// that were used last.
const maxSeen = 20

// memory has the recent observations: that nobody has credentials any more counts only after a while.
type memory struct {
	of     map[string]*probe.CredentialsSeen // what was last said of each
	unseen []string                          // the latest that was not empty
	at     time.Time                         // and when that was
}

func (m *memory) restore(previous probe.Result) {
	for _, s := range previous.Credentials {
		if s.LastUsed != nil {
			s.Namespaces, s.Relays, s.Pods = 0, 0, 0
			m.of[s.Fingerprint] = &s
		}
	}
	if len(previous.Unseen) > 0 {
		m.unseen, m.at = previous.Unseen, previous.Time
	}
}

// learn adds a round, and returns the credentials to report. Credentials that somebody has now count as used now.
func (m *memory) learn(r *round, now time.Time) []probe.CredentialsSeen {
	for fingerprint, last := range m.of {
		s := r.seen(fingerprint)
		s.LastUsed, s.Refused = last.LastUsed, last.Refused
	}
	var all []probe.CredentialsSeen
	for fingerprint, s := range r.of {
		accepted, refused := r.accepted[fingerprint], r.refused[fingerprint]
		if accepted != nil && accepted.After(now) { // by another clock
			accepted = &now
		}
		s.LastUsed = later(s.LastUsed, accepted)
		if inUse(*s) || r.used[fingerprint] {
			s.LastUsed = later(s.LastUsed, &now)
		}
		if accepted != nil || refused != nil {
			s.Refused = refused != nil && (accepted == nil || refused.After(*accepted))
		}
		all = append(all, *s)
	}
	slices.SortFunc(all, func(a, b probe.CredentialsSeen) int {
		return cmp.Or(rank(a)-rank(b), -timeOf(a).Compare(timeOf(b)), strings.Compare(a.Fingerprint, b.Fingerprint))
	})
	all = all[:min(len(all), maxSeen)]
	m.of = map[string]*probe.CredentialsSeen{}
	for _, s := range all {
		m.of[s.Fingerprint] = &s
	}
	return all
}

func inUse(s probe.CredentialsSeen) bool { return s.Namespaces+s.Relays+s.Pods > 0 }

func rank(s probe.CredentialsSeen) int {
	if inUse(s) {
		return 0
	}
	return 1
}

func timeOf(s probe.CredentialsSeen) time.Time { return ptr.Deref(s.LastUsed, time.Time{}) }

// linger returns unseen, or, for a round more, the last list that was not empty: so soon after it, one look says
// little.
func (m *memory) linger(unseen []string, now time.Time, period time.Duration) []string {
	if len(unseen) > 0 {
		m.unseen, m.at = slices.Compact(slices.Sorted(slices.Values(unseen))), now
	}
	if now.Sub(m.at) < period*3/2 {
		return m.unseen
	}
	return nil
}
