package observation

import (
	"cmp"
	"regexp"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

var fingerprint = regexp.MustCompile(`^[A-Za-z0-9+/=._-]{1,64}$`)

// credentials returns the credentials that were seen, each once, those in use first. What does not fit counts as not seen.
func credentials(seen []probe.CredentialsSeen, o *v1alpha1.Observed, now time.Time) []v1alpha1.ObservedCredentials {
	var all []v1alpha1.ObservedCredentials
	at := map[string]int{}
	unreadable := false
	for _, s := range seen {
		if !fingerprint.MatchString(s.Fingerprint) {
			unreadable = true
			continue
		}
		i, ok := at[s.Fingerprint]
		if !ok {
			i = len(all)
			at[s.Fingerprint] = i
			all = append(all, v1alpha1.ObservedCredentials{Fingerprint: s.Fingerprint})
		}
		add(&all[i], s, now)
	}
	slices.SortStableFunc(all, func(a, b v1alpha1.ObservedCredentials) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Fingerprint, b.Fingerprint))
	})
	if unreadable {
		o.Unseen = append(o.Unseen, "credentials whose fingerprint cannot be read")
	}
	if len(all) > maxCredentials {
		o.Unseen = append(o.Unseen, "more than 20 credentials")
		all = all[:maxCredentials]
	}
	return all
}

func add(c *v1alpha1.ObservedCredentials, s probe.CredentialsSeen, now time.Time) {
	c.Namespaces = min(c.Namespaces+count(s.Namespaces), maxCount)
	c.Relays = min(c.Relays+count(s.Relays), maxCount)
	c.Pods = min(c.Pods+count(s.Pods), maxCount)
	c.Refused = c.Refused || s.Refused
	if s.LastUsed == nil || s.LastUsed.IsZero() {
		return
	}
	if used := seconds(*s.LastUsed, now); c.LastUsed == nil || c.LastUsed.Before(&used) {
		c.LastUsed = &used
	}
}

func rank(c v1alpha1.ObservedCredentials) int {
	if c.Namespaces+c.Relays+c.Pods > 0 {
		return 0
	}
	return 1
}
