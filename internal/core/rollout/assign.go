package rollout

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// assign goes through the waves in their order.
func (e *engine) assign() {
	open := true
	for _, w := range e.waves {
		limit, _ := places(w.parallel, len(w.rows)) // checked when it was parsed
		e.assignWave(w, limit, open)
		e.settle(w, open)
		open = open && w.state == v1alpha1.WavePassed
	}
	e.assignWave(e.unplaced, max(len(e.unplaced.rows), 1), false)
	for _, w := range e.groups() {
		e.remain(w)
	}
}

// remain notes what is still to be done in a wave, and until when.
func (e *engine) remain(w *waveRows) {
	for _, row := range w.rows {
		e.behind = e.behind || !e.has(row)
		e.waiting = e.waiting || e.lacks(row)
		if e.inFlight(row) {
			e.within(e.past(row.Record.Since.Time).Add(w.deadline).Sub(e.Now))
		}
	}
}

func (e *engine) assignWave(w *waveRows, limit int, open bool) {
	soaksSince := e.soaksSince(w)
	for _, row := range w.rows {
		goal, undo := e.goal(row)
		e.undoing = e.undoing || undo
		if goal == nil || !e.allowed(w, row, goal, undo, open) {
			continue
		}
		if !e.takesPlace(row) {
			if w.busy >= limit && !e.adopts(row) {
				continue
			}
			w.busy++
		}
		if !e.inFlight(row) {
			w.flying++
		}
		e.give(row, goal, undo, soaksSince)
	}
}

// soaksSince is since when a wave soaks that had the target already when this was last decided; nil: it had not.
func (e *engine) soaksSince(w *waveRows) *metav1.Time {
	if state := e.lastState(w); state != v1alpha1.WaveSoaking && state != v1alpha1.WavePassed {
		return nil
	}
	var last time.Time
	for _, row := range w.rows {
		if at, ok := e.settled(row); ok && e.has(row) {
			last = later(last, at)
		}
	}
	if last.IsZero() {
		return nil
	}
	return &metav1.Time{Time: last.Truncate(time.Second)}
}

// lastState returns the state of a wave when this was last decided for the same target.
func (e *engine) lastState(w *waveRows) string {
	if e.Last == nil || e.target == nil || e.Last.Revision != e.target.Number || w.name == "" {
		return ""
	}
	for _, last := range e.Last.Waves {
		if last.Name == w.name {
			return last.State
		}
	}
	return ""
}

// goal returns the revision that a cluster is to have, at once or some day; undo: it goes back.
func (e *engine) goal(row *Row) (goal *Revision, undo bool) {
	has := e.known(row.Record)
	if has == nil || !has.Rejected {
		return e.target, false
	}
	lower := func(r Revision) bool { return r.Number < has.Number && !r.Rejected }
	if before := row.Record.Before; before != nil {
		goal = e.revision(before.Number, before.Digest)
	}
	if goal == nil || !lower(*goal) {
		goal = e.newest(lower)
	}
	if goal == nil {
		return e.target, false
	}
	return goal, true
}

func (e *engine) allowed(w *waveRows, row *Row, goal *Revision, undo, open bool) bool {
	has := e.known(row.Record)
	switch {
	case undo:
		return true
	case has != nil && has.Number == goal.Number && e.inFlight(row):
		return ownChange(row) // its Secrets are not written yet, and cannot be with what its owner wanted before
	case e.Policy.Paused || e.halted || w == e.unplaced:
		return false
	case e.shut() && !e.adopts(row):
		return false
	case has == nil || has.Number != goal.Number:
		return open || e.adopts(row)
	}
	return ownChange(row)
}

// adopts reports whether a cluster without a record gets the very first revision: its settings are those already.
func (e *engine) adopts(row *Row) bool {
	return row.Record == nil && len(e.Revisions) == 1 && e.Revisions[0].Number == 1
}

// give decides that a cluster is to have a revision, with its own settings as they are now.
func (e *engine) give(row *Row, goal *Revision, undo bool, soaksSince *metav1.Time) {
	next := revision.Record{
		ReportedRevision: v1alpha1.ReportedRevision{Proxy: e.Proxy, Number: goal.Number, Digest: goal.Digest, Override: row.Override, Facts: row.Facts},
		Since:            metav1.NewTime(e.Now.Truncate(time.Second)), // as it will be read again
		Tolerated:        e.tolerates(row, goal, undo),
	}
	switch has := e.known(row.Record); {
	case has != nil && has.Number == goal.Number: // a change of its own
		next.Before = row.Record.Before
		if e.inFlight(row) {
			next.Since = row.Record.Since // its owner cannot put the deadline off
		}
		if at, ok := e.settled(row); ok && !at.IsZero() {
			next.Settled = &metav1.Time{Time: at.Truncate(time.Second)}
		}
	case has != nil:
		next.Before = &revision.Before{Number: has.Number, Digest: has.Digest}
		fallthrough
	default:
		if !undo {
			next.Settled = soaksSince
		}
	}
	next.Verified = e.verified(row, goal, next.Tolerated)
	row.Record, row.Status = &next, Status{Message: notWritten, Failing: row.Status.Failing}
	e.assigned = append(e.assigned, Assignment{row.Key, next})
}

// tolerates reports whether a cluster that fails with what it gets now would have failed anyway.
func (e *engine) tolerates(row *Row, goal *Revision, undo bool) bool {
	has, done := e.known(row.Record), row.Status.State == Done
	switch {
	case e.adopts(row):
		return true
	case has == nil:
		return row.Status.Failing
	case has.Number == goal.Number && done: // the revision is not at fault, but the change of its own
		return true
	case row.Status.State == Failed && has.Completed && !undo && !goneBack(row.Record):
		return true
	}
	// It may fail because of a revision that was replaced or rejected. What was seen of that says nothing about before.
	return row.Record.Tolerated && row.Status.Failing
}

// proof shows that the probes of a cluster hold with what it has.
type proof struct {
	row    *Row
	record *revision.Record
}

// prove finds the clusters whose probes are first seen to hold with what they have.
func (e *engine) prove() (all []proof) {
	for i := range e.Rows {
		row := &e.Rows[i]
		if !e.Policy.probes || row.New || row.Idle != "" || row.Record == nil || !row.Record.Verified || row.Record.Proven != nil || row.Status.State != Done {
			continue
		}
		next := *row.Record
		next.Proven = &metav1.Time{Time: e.Now.Truncate(time.Second)}
		row.Record, row.Status.Since = &next, later(row.Status.Since, next.Proven.Time)
		all = append(all, proof{row, &next})
	}
	return all
}

// record has it recorded, unless the cluster gets something else.
func (e *engine) record(proven []proof) {
	for _, p := range proven {
		if p.row.Record == p.record {
			e.assigned = append(e.assigned, Assignment{p.row.Key, *p.record})
		}
	}
}

// verified reports whether the cluster's probes held before it gets this revision. Probes may fail because of a
// revision that was replaced or rejected. Then the verdict from before that revision counts.
func (e *engine) verified(row *Row, goal *Revision, tolerated bool) bool {
	if !e.Policy.probes || e.adopts(row) || tolerated && row.Status.Failing {
		return false
	}
	has := e.known(row.Record)
	before := has != nil && row.Record.Verified && (has.Number == goal.Number || !has.Completed || has.Rejected)
	return row.Holds || before
}

// goneBack reports whether a cluster had a newer revision before.
func goneBack(record *revision.Record) bool {
	return record.Before != nil && record.Before.Number > record.Number
}

// settle says how a wave stands.
func (e *engine) settle(w *waveRows, open bool) {
	var last time.Time
	have, settled := 0, 0
	for _, row := range w.rows {
		if !e.has(row) {
			continue
		}
		have++
		if at, ok := e.settled(row); ok {
			settled++
			last = later(last, at)
		}
	}
	switch all := have == len(w.rows) && settled == have; {
	case len(w.rows) == 0 && w.name != "" && e.lastState(w) != v1alpha1.WavePassed:
		w.state = v1alpha1.WaveEmpty
	case e.halted && slices.ContainsFunc(e.failed, func(row *Row) bool { return slices.Contains(w.rows, row) }):
		w.state = v1alpha1.WaveProgressing
	case all && (w.name == "" || !last.Add(w.soak).After(e.Now)):
		w.state = v1alpha1.WavePassed
	case all:
		w.state, w.soaks = v1alpha1.WaveSoaking, last.Add(w.soak)
		e.within(w.soaks.Sub(e.Now))
	case open || have > 0:
		w.state = v1alpha1.WaveProgressing
	default:
		w.state = v1alpha1.WavePending
	}
}

// settled reports whether a wave does not wait for a cluster any more, and since when.
func (e *engine) settled(row *Row) (time.Time, bool) {
	switch {
	case row.Record == nil:
		return time.Time{}, false
	case row.Record.Settled != nil:
		return e.past(row.Record.Settled.Time), true
	case row.Record.Before == nil && row.Record.Tolerated && !row.Status.Failing: // adopted, or built with it
		return time.Time{}, true
	}
	return e.past(row.Status.Since), row.Status.State != Progressing
}
