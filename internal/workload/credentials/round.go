package credentials

import (
	"fmt"
	"regexp"
	"slices"
	"time"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/proxysecret"
	"github.com/fairlead-io/fairlead/internal/workload/upstream"
)

// round is the result of one look at the whole cluster.
type round struct {
	of       map[string]*probe.CredentialsSeen
	accepted map[string]*time.Time
	refused  map[string]*time.Time
	used     map[string]bool       // by us
	unknown  probe.CredentialsSeen // credentials that nobody knows by a fingerprint of the management cluster
	unseen   []string
}

func (r *round) miss(format string, args ...any) {
	r.unseen = append(r.unseen, fmt.Sprintf(format, args...))
}

func (r *round) seen(fingerprint string) *probe.CredentialsSeen {
	if fingerprint == proxysecret.Unknown {
		return &r.unknown
	}
	if r.of[fingerprint] == nil {
		r.of[fingerprint] = &probe.CredentialsSeen{Fingerprint: fingerprint}
	}
	return r.of[fingerprint]
}

// copies adds what a replica of the replicator counts.
func (r *round) copies(m metrics) {
	for fingerprint, n := range m["fairlead_credentials_copies"] {
		s := r.seen(fingerprint)
		s.Namespaces = max(s.Namespaces, int(n))
	}
	for fingerprint, n := range m["fairlead_credentials_pods"] {
		s := r.seen(fingerprint)
		s.Pods = max(s.Pods, int(n))
	}
}

// ofTheRelay is a fingerprint that a relay has made itself: the settings came without one.
var ofTheRelay = regexp.MustCompile(`^[0-9a-f]{16}$`)

// The metrics of a relay.
const (
	relayConfigured = "fairlead_relay_credential_configured"
	relayTunnels    = "fairlead_relay_credential_tunnels"
	relayRequests   = "fairlead_relay_credential_requests"
	relayAccepted   = "fairlead_relay_credential_last_accepted_timestamp_seconds"
	relayRefused    = "fairlead_relay_credential_last_refused_timestamp_seconds"
)

// relay adds what a relay says. It has credentials that are configured, and those of open tunnels and requests under way.
func (r *round) relay(m metrics) {
	has, unknown := map[string]bool{}, false
	for _, name := range []string{relayConfigured, relayTunnels, relayRequests} {
		for fingerprint, value := range m[name] {
			switch {
			case value <= 0:
			case ofTheRelay.MatchString(fingerprint):
				unknown = true
			default:
				has[fingerprint] = true
			}
		}
	}
	for fingerprint := range has {
		r.seen(fingerprint).Relays++
	}
	if unknown {
		r.unknown.Relays++
	}
	for name, times := range map[string]map[string]*time.Time{relayAccepted: r.accepted, relayRefused: r.refused} {
		for fingerprint := range m[name] {
			if !ofTheRelay.MatchString(fingerprint) {
				times[fingerprint] = later(times[fingerprint], m.at(name, fingerprint))
				r.seen(fingerprint)
			}
		}
	}
}

// own adds what the probe itself tries targets with: it is no relay, and it uses them.
func (r *round) own(settings *upstream.Settings) {
	for _, c := range settings.Configured(settings) {
		if !ofTheRelay.MatchString(c.Fingerprint) {
			r.seen(c.Fingerprint)
			r.used[c.Fingerprint] = true
		}
	}
}

// missing returns what could not be looked at, and what nobody can tell.
func (r *round) missing() []string {
	missing := slices.Clone(r.unseen)
	for _, part := range []struct {
		n    int
		text string
	}{
		{r.unknown.Namespaces, "namespaces with a copy whose credentials nobody noted: %d"},
		{r.unknown.Pods, "pods that started before anybody noted their credentials, and are to be restarted: %d"},
		{r.unknown.Relays, "relays with credentials, or tunnels from before, whose fingerprint did not come with the settings: %d"},
	} {
		if part.n > 0 {
			missing = append(missing, fmt.Sprintf(part.text, part.n))
		}
	}
	return missing
}
