package rollout

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// conclude says what was decided.
func (e *engine) conclude() Decision {
	d := Decision{Target: e.target, Assigned: e.assigned, Look: e.look, Try: e.try, Reachable: e.reachable}
	if d.Try {
		d.Control = e.control()
	}
	d.Passed = e.target != nil && !e.shut() && len(e.waves) > 0 && (e.waves[0].name == "" || e.waves[0].state == v1alpha1.WavePassed)
	d.Status = e.status()
	d.Complete = e.target != nil && !e.shut() && !e.waiting && !e.halted && d.Status.InProgress == 0
	d.Passed = d.Passed || d.Complete // a fleet without clusters builds none with an old password
	if d.Complete {                   // nothing is in flight, so a soak is all that a look would be for
		d.Look = 0
		nobodyWaits(d.Status.Waves)
	}
	d.ForNew = e.forNew(d.Passed)
	d.Stalled = e.stalled()
	d.Problems = e.problems(d)
	if d.Stalled == nil && !d.Complete && e.target != nil {
		d.Progress = e.progress(d.Status)
	}
	e.times(&d)
	d.Status.Message = e.message(d)
	return d
}

// forNew returns the newest revision that has passed its first wave. Where none has, it is the oldest: no cluster could be built
// otherwise.
func (e *engine) forNew(targetPassed bool) *Revision {
	if e.target != nil && targetPassed {
		return e.target
	}
	if passed := e.newest(func(r Revision) bool { return r.Passed && !r.Rejected }); passed != nil {
		return passed
	}
	if oldest := slices.IndexFunc(e.Revisions, func(r Revision) bool { return !r.Rejected }); oldest >= 0 {
		return &e.Revisions[oldest]
	}
	return nil
}

// nobodyWaits says of waves that soak that they have passed: there is no cluster that waits for it, as after an undo.
func nobodyWaits(waves []v1alpha1.WaveStatus) {
	for i := range waves {
		if waves[i].State == v1alpha1.WaveSoaking {
			waves[i].State = v1alpha1.WavePassed
		}
	}
}

const maxFailures = 10 // the bound of the CRD's schema

func (e *engine) status() v1alpha1.RolloutStatus {
	s := v1alpha1.RolloutStatus{Paused: e.Policy.Paused, Halted: e.halted, Failed: int32(len(e.failed))}
	if e.target != nil {
		s.Revision = e.target.Number
	}
	for _, row := range e.failed[:min(len(e.failed), maxFailures)] {
		s.Failures = append(s.Failures, shorten(row.Key.String()+": "+row.Status.Message))
	}
	for i := range e.Rows {
		if !e.Rows[i].New {
			s.Of++
		}
	}
	s.Updated, s.InProgress = int32(e.unplaced.updated), int32(e.unplaced.flying)
	for _, w := range e.waves {
		s.Updated += int32(w.updated)
		s.InProgress += int32(w.flying)
		if w.name == "" {
			continue
		}
		s.Waves = append(s.Waves, v1alpha1.WaveStatus{Name: w.name, State: w.state, Updated: int32(w.updated), Of: int32(len(w.rows) + len(w.idle))})
		if s.Wave == "" && w.state != v1alpha1.WavePassed && (e.behind || e.halted) {
			s.Wave = w.name
		}
	}
	s.Progress = fmt.Sprintf("%d/%d", s.Updated, s.Of)
	return s
}

// shorten keeps a text within what the status is for.
func shorten(text string) string {
	const most = 512
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}

// stalled says why no further cluster gets the target unless somebody changes something; nil: it is not so.
func (e *engine) stalled() *Problem {
	switch {
	case len(e.Revisions) == 0:
		return nil
	case e.target == nil:
		return &Problem{v1alpha1.ReasonAllRejected, "every revision that is kept is rejected; clusters keep what they have"}
	case e.halted && !e.undoing:
		return &Problem{v1alpha1.ReasonHalted, fmt.Sprintf("revision %d failed in %s", e.target.Number, some(e.failures()))}
	case e.undoing:
		return nil
	case e.waiting && e.Policy.Paused:
		return &Problem{v1alpha1.ReasonRolloutPaused, "the rollout is paused"}
	case e.shut():
		return e.stop
	case !e.waiting:
		return nil
	case !e.behind:
		return e.inNoWave()
	}
	for _, w := range e.waves {
		if w.state == v1alpha1.WaveEmpty {
			return &Problem{v1alpha1.ReasonWaveEmpty, emptyWave(w)}
		}
		if w.state != v1alpha1.WavePassed {
			return nil
		}
	}
	return e.inNoWave()
}

// inNoWave names the clusters that lack something and that no wave selects.
func (e *engine) inNoWave() *Problem {
	var names []string
	for _, row := range e.unplaced.rows {
		if e.lacks(row) {
			names = append(names, row.Key.String())
		}
	}
	if len(names) == 0 {
		return nil
	}
	return &Problem{v1alpha1.ReasonClustersInNoWave, "no wave selects " + some(names) + "; add a wave without clusterSelector for the rest"}
}

func emptyWave(w *waveRows) string {
	if len(w.idle) > 0 {
		return fmt.Sprintf("wave %s has no cluster that can be changed: %s", w.name, some(idle(w.idle)))
	}
	return fmt.Sprintf("wave %s selects no cluster that has Secrets", w.name)
}

func (e *engine) failures() []string {
	var all []string
	for _, row := range e.failed {
		all = append(all, describe(row))
	}
	return all
}

func idle(rows []*Row) []string {
	var all []string
	for _, row := range rows {
		all = append(all, row.Key.String()+" ("+row.Idle+")")
	}
	return all
}

// problems returns the problems that stop nothing.
func (e *engine) problems(d Decision) []Problem {
	var all []Problem
	if p := e.inNoWave(); p != nil && (d.Stalled == nil || d.Stalled.Reason != p.Reason) {
		all = append(all, *p)
	}
	add := func(reason, text string, names []string) {
		if len(names) > 0 {
			all = append(all, Problem{reason, text + some(names)})
		}
	}
	add(v1alpha1.ReasonWavesOverlap, "several waves select a cluster, and the first counts: ", e.overlapping)
	add(v1alpha1.ReasonClustersSkipped, "clusters to which nothing is written now: ", idle(e.idle))
	add(v1alpha1.ReasonClustersSkipped, "clusters that do not count, since they fail for another reason than the revision: ", e.tolerated)
	if !e.halted {
		add(v1alpha1.ReasonClustersSkipped, "clusters that failed with the revision: ", e.failures())
	}
	if !e.behind {
		for _, w := range e.waves {
			if len(w.rows) == 0 && w.name != "" {
				all = append(all, Problem{v1alpha1.ReasonWaveEmpty, emptyWave(w) + "; the next change stops there"})
			}
		}
	}
	if !d.Complete {
		add(v1alpha1.ReasonSuperseded, "clusters that have or had a revision which was replaced before all had it: ", e.superseded())
	}
	return all
}

// superseded returns the clusters that saw a revision between the last one that all had and the target: they have it, or had it
// before they got the target.
func (e *engine) superseded() []string {
	var names []string
	for i := range e.Rows {
		row := &e.Rows[i]
		r := e.known(row.Record)
		if r != nil && e.has(row) && row.Record.Before != nil {
			r = e.revision(row.Record.Before.Number, row.Record.Before.Digest)
		}
		if r != nil && e.target != nil && r.Number < e.target.Number && !r.Completed && !r.Rejected && e.Revisions[0].Number < r.Number {
			names = append(names, fmt.Sprintf("%s (%d)", row.Key, r.Number))
		}
	}
	return names
}

// some names at most five, and says how many more there are.
func some(names []string) string {
	const most = 5
	if more := len(names) - most; more > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), more)
	}
	return strings.Join(names, ", ")
}

// times carries on what the last decision about the same revision said.
func (e *engine) times(d *Decision) {
	s, last, now := &d.Status, ptr.Deref(e.Last, v1alpha1.RolloutStatus{}), metav1.NewTime(e.Now.Truncate(time.Second))
	if last.Revision == s.Revision {
		s.Started, s.Completed = last.Started, last.Completed
	}
	if s.Started == nil && d.Target != nil {
		s.Started = &now
	}
	if s.Completed == nil && d.Complete {
		s.Completed = &now
	}
	if s.Halted {
		s.HaltedSince = cmp.Or(last.HaltedSince, &now)
	}
	if e.look > 0 && !d.Complete {
		next := metav1.NewTime(e.Now.Add(e.look).Truncate(time.Second))
		s.Next = &next
	}
}

// progress says what goes on.
func (e *engine) progress(s v1alpha1.RolloutStatus) *Problem {
	if e.undoing {
		return &Problem{v1alpha1.ReasonUndoing, "clusters go back from a rejected revision"}
	}
	if e.hold != nil {
		return e.hold
	}
	for _, w := range e.waves {
		if w.state == v1alpha1.WaveSoaking && e.behind {
			return &Problem{v1alpha1.ReasonSoaking, fmt.Sprintf("wave %s has revision %d and soaks until %s", w.name, s.Revision, w.soaks.UTC().Format(time.RFC3339))}
		}
	}
	text := fmt.Sprintf("clusters get revision %d", s.Revision)
	if s.Wave != "" {
		text = fmt.Sprintf("wave %s gets revision %d", s.Wave, s.Revision)
	}
	return &Problem{v1alpha1.ReasonRollingOut, text + e.awaited()}
}

// awaited names the clusters that have the target, and whose probes are waited for; and why, of the first.
func (e *engine) awaited() string {
	var names []string
	for i := range e.Rows {
		row := &e.Rows[i]
		switch {
		case !e.has(row) || !e.inFlight(row) || !row.Status.Unproven:
		case names == nil:
			names = append(names, describe(row))
		default:
			names = append(names, row.Key.String())
		}
	}
	if names == nil {
		return ""
	}
	return ", and waits until probes hold in " + some(names)
}

// message says in one line how the rollout stands.
func (e *engine) message(d Decision) string {
	var text string
	switch {
	case d.Stalled != nil:
		text = d.Stalled.Message
	case d.Progress != nil:
		text = d.Progress.Message
	case d.Complete:
		text = fmt.Sprintf("all clusters have revision %d", d.Status.Revision)
		if rest := d.Status.Of - d.Status.Updated; rest > 0 {
			text += fmt.Sprintf("; %d of %d are not Ready with it", rest, d.Status.Of)
		}
	}
	if last := e.newest(func(Revision) bool { return true }); last != nil && last.Rejected && e.target != nil {
		text += fmt.Sprintf("; revision %d is rejected", last.Number)
	}
	return shorten(text)
}
