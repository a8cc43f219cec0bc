package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// Revision is a revision of a CorporateProxy.
type Revision struct {
	Number    int64
	Digest    string
	Rejected  bool
	Passed    bool // it has passed its first wave
	Completed bool // all clusters had it, before the next one came
}

// Row is a cluster in the rollout of a CorporateProxy.
type Row struct {
	Key      types.NamespacedName
	Labels   map[string]string
	New      bool             // nothing was ever written for it
	Idle     string           // why nothing is written for it now, such as "paused"; empty: it is
	Record   *revision.Record // what it is to have; nil: nobody has decided that
	Override string           // hash of its ProxyOverride, as it is
	Facts    string           // hash of its provider's facts, as they are
	Holds    bool             // its probes held of late, and did not fail since
	Status   Status
}

// Status says how a cluster does with its record.
type Status struct {
	State   State
	Message string    // why it failed, or is not done
	Since   time.Time // of State
	Failing bool      // the cluster is not Ready, or does not get out, whatever the record is

	OwnersFault bool // it failed for something that no revision can cause
	Unproven    bool // its Secrets have it, and its probes do not say yet that they hold with it
}

// State is a state of a row.
type State int

// The states of a row that has a record. Failed is final for as long as nobody changes anything.
const (
	Progressing State = iota
	Done
	Failed
)

// passing are reasons of the condition Ready that time may mend.
var passing = []string{
	v1alpha1.ReasonWriteFailed, v1alpha1.ReasonPaused, string(resolve.ReasonEndpointUnknown), string(resolve.ReasonFactsPending),
}

// ownersFaults are reasons of the condition Ready that come from the Cluster or its ProxyOverride alone. They halt no rollout:
// a tenant could halt the fleet with them.
var ownersFaults = []string{string(resolve.ReasonInvalidOverride), string(resolve.ReasonInvalidCluster)}

// StatusOf returns what a report says of a record; nil is none. A cluster that was not Ready when the record was made has time until
// the deadline to become it: nobody knows for what it failed. Probes is spec.rollout.haltOn.probes.
func StatusOf(report v1alpha1.ProxyReportStatus, record *revision.Record, probes string) Status {
	ready := meta.FindStatusCondition(report.Conditions, v1alpha1.ConditionReady)
	seen := report.Observed
	if probes == v1alpha1.ProbesIgnored {
		seen = nil
	}
	s := Status{Failing: seen != nil && seen.Egress == v1alpha1.EgressFailed || ready != nil && ready.Status != metav1.ConditionTrue}
	if record == nil {
		return s
	}
	has := report.Revision != nil && *report.Revision == record.ReportedRevision
	if !has || seen == nil || !isAbout(seen, report, record) {
		seen = &v1alpha1.Observed{} // it says nothing about the record
	}
	switch { // since when it fails nobody says; the time of the last observation would let no wave soak that has such a cluster
	case seen.Egress == v1alpha1.EgressFailed:
		s.State, s.Message, s.Since = Failed, "its egress check failed: "+cmp.Or(seen.Message, "no detail is given"), writtenAt(report, record)
	case ready == nil:
		s.Message = "its ProxyReport has no status yet"
	case ready.Status == metav1.ConditionTrue && has && record.Verified && record.Proven == nil && probes == v1alpha1.ProbesRequired && seen.Egress != v1alpha1.EgressVerified:
		s.Unproven, s.Message = true, unsaid(report.Observed, seen, writtenAt(report, record))
	case ready.Status == metav1.ConditionTrue && has:
		s.State, s.Since = Done, later(ready.LastTransitionTime.Time, record.Since.Time)
		if record.Proven != nil {
			s.Since = later(s.Since, record.Proven.Time)
		}
	case ready.Status == metav1.ConditionTrue:
		s.Message = notWritten
	default:
		s.Message = ready.Reason + ": " + ready.Message
		stale := !record.Tolerated && ready.LastTransitionTime.Time.Before(record.Since.Time) // then it may be about the previous revision
		if !stale && !slices.Contains(passing, ready.Reason) {
			s.State, s.Since = Failed, later(ready.LastTransitionTime.Time, record.Since.Time)
			s.OwnersFault = slices.Contains(ownersFaults, ready.Reason)
		}
	}
	return s
}

// slowClock is how far the clock of a probe may be behind.
const slowClock = 15 * time.Minute

// isAbout reports whether somebody observed what a record says, since it was written. What says so itself may come from a slow
// clock, and not from long before: a cluster may go back to settings that it had.
func isAbout(seen *v1alpha1.Observed, report v1alpha1.ProxyReportStatus, record *revision.Record) bool {
	written := writtenAt(report, record)
	if seen.Revision != "" {
		return seen.Revision == revision.Identity(record.ReportedRevision) && seen.Time.After(written.Add(-slowClock))
	}
	return seen.Time.After(written)
}

// NotObservedSince begins the message of a cluster that nobody has looked into since its Secrets were written.
const NotObservedSince = "not observed since "

// unsaid says why nobody knows whether probes hold. last is the last observation, counts the part of it about the record.
func unsaid(last, counts *v1alpha1.Observed, written time.Time) string {
	if counts.Message != "" {
		return "its probes do not say whether they hold: " + counts.Message
	}
	text := "its probes say nothing since the change"
	switch {
	case last == nil:
		return text
	case last.Time.IsZero():
	case last.Time.After(written):
		text = fmt.Sprintf("its probe still tries other settings (%s): upgrade fairlead-policies in the cluster with its newest values", last.Revision)
	default:
		if text = NotObservedSince + last.Time.UTC().Format(time.RFC3339); last.Period != nil {
			text += ", and looked into every " + last.Period.Duration.String()
		}
	}
	if last.Egress == v1alpha1.EgressUnknown && last.Message != "" {
		text += ": " + last.Message
	}
	return text
}

// writtenAt returns when the Secrets of a cluster got what its record says. A later repair of them is no change.
func writtenAt(report v1alpha1.ProxyReportStatus, record *revision.Record) time.Time {
	at := record.Since.Time
	if report.RevisionSince != nil {
		return later(at, report.RevisionSince.Time)
	}
	for _, secret := range report.Secrets { // the report is of an earlier version
		if secret.Written != nil {
			at = later(at, secret.Written.Time)
		}
	}
	return at
}

// Holds reports whether the probes of a cluster hold: it was seen within two periods, or ten minutes, and nothing failed since.
// Who cannot tell for a moment takes nothing back, and nobody waits for somebody who does not observe any more.
func Holds(seen *v1alpha1.Observed, now time.Time) bool {
	if seen == nil || seen.Egress == v1alpha1.EgressFailed {
		return false
	}
	held := seen.LastVerifiedTime
	if held == nil && seen.Egress == v1alpha1.EgressVerified { // an earlier version says no time
		held = &seen.Time
	}
	old := 10 * time.Minute
	if seen.Period != nil {
		old = max(old, 2*seen.Period.Duration)
	}
	return held != nil && now.Sub(held.Time) <= old
}

const notWritten = "its Secrets are not written yet"

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Assignment is a decision about a cluster: what it is to have from now on.
type Assignment struct {
	Key    types.NamespacedName
	Record revision.Record
}
