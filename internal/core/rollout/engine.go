package rollout

import (
	"cmp"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// Fleet is all that the rollout of one CorporateProxy is decided from.
type Fleet struct {
	Proxy     string
	Policy    Policy
	Revisions []Revision // in the order of their numbers
	Rows      []Row
	Now       time.Time
	Started   time.Time               // of this process; a record of later than now counts from then
	Last      *v1alpha1.RolloutStatus // what the last decision said; nil: nothing
	Preflight *Preflight              // nil: without spec.probes
}

// Decision says what to do for a fleet.
type Decision struct {
	Target   *Revision // what clusters are to have; nil: all revisions are rejected, or there is none
	ForNew   *Revision // what new clusters get; nil: there is none
	Assigned []Assignment
	Status   v1alpha1.RolloutStatus
	Passed   bool // the target has passed its first wave
	Complete bool // every cluster has it
	Stalled  *Problem
	Progress *Problem      // what goes on; nil: nothing does
	Problems []Problem     // that stop nothing
	Look     time.Duration // until the next look is worth it; 0: an event will tell

	Try       bool              // the target is to be tried in the management cluster
	Control   *Revision         // then: what clusters have, to compare with; nil: there is none
	Reachable *metav1.Condition // ProxyReachable; nil: nothing is said
}

// Problem is the reason of a condition, with its message.
type Problem struct{ Reason, Message string }

// Decide decides what each cluster is to have. Nothing is remembered between two calls but what the records of the rows
// and the last status say, so a new process decides the same.
//
//   - The target is the newest revision that is not rejected. No cluster gets another one, but for those that go back.
//   - A cluster with a rejected revision goes back to what it had, at once as far as its wave has places.
//   - Any other gets the target once every earlier wave has it and has soaked, as far as its wave has places.
//   - While too many clusters fail with the target, or the rollout is paused, nobody gets the target.
//   - A change of a cluster's own (ProxyOverride, facts) needs a place of its wave, and no rollout that is halted or paused.
//   - Nobody waits for a cluster that came to its wave when this had the target already, or for its own change: clusters come
//     and change all the time, and no later wave would ever get the target.
//   - The first cluster gets the target once it was tried in the management cluster, if somebody asks for that.
//   - A cluster in no wave keeps what it has, unless that is rejected.
func Decide(f Fleet) Decision {
	e := &engine{Fleet: f, unplaced: &waveRows{wave: wave{deadline: defaultProgressDeadline}}}
	for _, w := range f.Policy.waves {
		e.waves = append(e.waves, &waveRows{wave: w})
	}
	e.Rows = slices.Clone(f.Rows) // they are the caller's, and are sorted and judged here
	slices.SortFunc(e.Rows, func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	e.target = e.newest(func(r Revision) bool { return !r.Rejected })
	e.place()
	e.judge()
	e.gate()
	proven := e.prove()
	e.assign()
	e.record(proven)
	return e.conclude()
}

type engine struct {
	Fleet
	target *Revision
	waves  []*waveRows

	unplaced    *waveRows // in no wave
	overlapping []string
	idle        []*Row
	failed      []*Row // with the target, and not tolerated
	tolerated   []string
	halted      bool
	assigned    []Assignment
	look        time.Duration
	undoing     bool     // a cluster is to go back
	behind      bool     // a cluster is to get the target
	try         bool     // the target, in the management cluster
	hold, stop  *Problem // why the first cluster waits: until something happens, or until somebody does something
	reachable   *metav1.Condition
	waiting     bool // the same, or its own settings are not those that it has
}

// waveRows are the clusters of a wave.
type waveRows struct {
	wave
	rows    []*Row // that count
	idle    []*Row
	state   string
	updated int
	busy    int       // places that are taken
	flying  int       // clusters that are not done
	soaks   time.Time // until when
}

// groups returns the waves, and the clusters in none.
func (e *engine) groups() []*waveRows { return append(slices.Clip(e.waves), e.unplaced) }

// newest returns the newest revision of which something is true.
func (e *engine) newest(is func(Revision) bool) *Revision {
	for i, r := range slices.Backward(e.Revisions) {
		if is(r) {
			return &e.Revisions[i]
		}
	}
	return nil
}

// known returns the revision of a record; nil: it has none, or one that is not known here.
func (e *engine) known(r *revision.Record) *Revision {
	if r == nil || r.Proxy != e.Proxy {
		return nil
	}
	return e.revision(r.Number, r.Digest)
}

func (e *engine) revision(number int64, digest string) *Revision {
	return e.newest(func(r Revision) bool { return r.Number == number && r.Digest == digest })
}

// has reports whether a cluster is to have the target already.
func (e *engine) has(row *Row) bool {
	r := e.known(row.Record)
	return r != nil && e.target != nil && r.Number == e.target.Number
}

// lacks reports whether a cluster is to have something else, now or some day.
func (e *engine) lacks(row *Row) bool { return !e.has(row) || ownChange(row) }

// ownChange reports whether a cluster's own settings are not those of its record.
func ownChange(row *Row) bool {
	return row.Record != nil && (row.Record.Override != row.Override || row.Record.Facts != row.Facts)
}

// inFlight reports whether a cluster takes a place of its wave. With an unknown record it is held, and takes none.
func (e *engine) inFlight(row *Row) bool {
	return row.Status.State == Progressing && e.known(row.Record) != nil
}

// takesPlace reports whether another cluster of the wave has to wait for a cluster. One that went back, and whose probes have
// not said so yet, keeps nobody from going back.
func (e *engine) takesPlace(row *Row) bool {
	return e.inFlight(row) && (!row.Status.Unproven || !goneBack(row.Record))
}

// place puts every cluster into its wave. New ones are in none: they get what has passed.
func (e *engine) place() {
	for i := range e.Rows {
		row := &e.Rows[i]
		if row.New {
			continue
		}
		at, selecting := e.Policy.waveOf(row.Labels)
		if len(selecting) > 1 {
			e.overlapping = append(e.overlapping, row.Key.String()+" ("+strings.Join(selecting, ", ")+")")
		}
		w := e.unplaced
		if at >= 0 {
			w = e.waves[at]
		}
		if row.Idle == "" {
			w.rows = append(w.rows, row)
			continue
		}
		w.idle = append(w.idle, row)
		e.idle = append(e.idle, row)
	}
}

// judge turns what took too long into a failure, and decides whether the rollout is halted.
func (e *engine) judge() {
	for _, w := range e.groups() {
		e.judgeWave(w)
	}
	e.halted = e.Policy.failedClusters > 0 && len(e.failed) >= e.Policy.failedClusters // 0: there is no policy
}

func (e *engine) judgeWave(w *waveRows) {
	for _, row := range w.rows {
		e.expire(w, row)
		if e.inFlight(row) {
			w.flying++
		}
		if e.takesPlace(row) {
			w.busy++
		}
		e.count(w, row)
	}
	for _, row := range w.idle {
		e.count(w, row)
	}
}

// count counts what became of the target in a cluster.
func (e *engine) count(w *waveRows, row *Row) {
	switch {
	case !e.has(row):
	case row.Status.State == Done:
		w.updated++
	case row.Status.State == Failed && (row.Record.Tolerated || row.Status.OwnersFault || e.completedBefore(row.Record)):
		e.tolerated = append(e.tolerated, describe(row))
	case row.Status.State == Failed:
		e.failed = append(e.failed, row)
	}
}

func describe(row *Row) string { return row.Key.String() + " (" + row.Status.Message + ")" }

// completedBefore reports whether all clusters had the target when a cluster already had it: what fails since then fails
// for another reason. The target may be an old revision to which clusters go back: then those that had it all the time are
// older than its second start.
func (e *engine) completedBefore(record *revision.Record) bool {
	switch {
	case !e.target.Completed:
		return false
	case e.Last == nil || e.Last.Revision != e.target.Number:
		return true
	case e.Last.Completed != nil && !record.Since.After(e.Last.Completed.Time):
		return true
	}
	return e.Last.Started != nil && record.Since.Time.Before(e.Last.Started.Time)
}

// expire makes a failure of a cluster that has used up its time.
func (e *engine) expire(w *waveRows, row *Row) {
	if !e.inFlight(row) {
		return
	}
	end := e.past(row.Record.Since.Time).Add(w.deadline)
	if end.After(e.Now) {
		return
	}
	row.Status.State, row.Status.Since = Failed, end
	row.Status.Message = "no progress for " + w.deadline.String() + ": " + row.Status.Message
}

// past returns the time of something that has happened. What is in the future is by a clock that was wrong.
func (e *engine) past(t time.Time) time.Time {
	if t.After(e.Now) {
		return e.Started
	}
	return t
}

func (e *engine) within(wait time.Duration) {
	if wait > 0 && (e.look == 0 || wait < e.look) {
		e.look = wait
	}
}
