package rollout

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// checker judges a decision from the fleet as it was, with rules of its own: it shares no code with the engine but the
// selectors of the waves, the size of a wave's limit, and StatusOf.
type checker struct {
	fleet  Fleet
	target *Revision
	rows   map[types.NamespacedName]*Row
	waves  [][]*Row
	waveOf map[types.NamespacedName]int
}

func newChecker(f Fleet) *checker {
	c := &checker{fleet: f, rows: map[types.NamespacedName]*Row{}, waves: make([][]*Row, len(f.Policy.waves)), waveOf: map[types.NamespacedName]int{}}
	for i := range f.Revisions {
		if !f.Revisions[i].Rejected {
			c.target = &f.Revisions[i]
		}
	}
	for i := range f.Rows {
		row := &f.Rows[i]
		c.rows[row.Key] = row
		at, _ := f.Policy.waveOf(row.Labels)
		c.waveOf[row.Key] = at
		if at >= 0 && !row.New && row.Idle == "" {
			c.waves[at] = append(c.waves[at], row)
		}
	}
	return c
}

func (c *checker) revision(r *revision.Record) *Revision {
	if r == nil || r.Number < 1 || r.Number > int64(len(c.fleet.Revisions)) || c.fleet.Revisions[r.Number-1].Digest != r.Digest {
		return nil
	}
	return &c.fleet.Revisions[r.Number-1]
}

// flying: its Secrets are on the way, and it is not late.
func (c *checker) flying(row *Row, deadline time.Duration) bool {
	// One that went back keeps nobody from going back until its probes hold.
	if before := row.Record; before != nil && before.Before != nil && before.Before.Number > before.Number && row.Status.Unproven {
		return false
	}
	return c.revision(row.Record) != nil && row.Status.State == Progressing && c.fleet.Now.Before(row.Record.Since.Add(deadline))
}

func (c *checker) check(d Decision) error {
	for _, one := range []func(Decision) error{c.nobodyGoesBack, c.nothingWhileStopped, c.inTheOrderOfWaves, c.withinTheLimit, c.afterThePreflight, c.onlyThoseThatCount, c.saysSomething} {
		if err := one(d); err != nil {
			return err
		}
	}
	return nil
}

func (c *checker) isUndo(a Assignment) bool {
	before := c.revision(c.rows[a.Key].Record)
	return before != nil && before.Rejected && a.Record.Number < before.Number
}

// isOwn: only the cluster's own settings change.
func (c *checker) isOwn(a Assignment) bool {
	before := c.rows[a.Key].Record
	return before != nil && before.Number == a.Record.Number && before.Digest == a.Record.Digest
}

// isProof: nothing changes for the cluster.
func (c *checker) isProof(a Assignment) bool {
	before := c.rows[a.Key].Record
	return before != nil && before.ReportedRevision == a.Record.ReportedRevision && before.Since.Equal(&a.Record.Since) && a.Record.Proven != nil
}

func (c *checker) nobodyGoesBack(d Decision) error {
	for _, a := range d.Assigned {
		before, after := c.revision(c.rows[a.Key].Record), c.revision(&a.Record)
		if c.isProof(a) {
			continue
		}
		if after == nil || after.Rejected {
			return fmt.Errorf("%s gets revision %d, which is rejected or unknown", a.Key, a.Record.Number)
		}
		if before != nil && after.Number < before.Number && !before.Rejected {
			return fmt.Errorf("%s goes from %d back to %d, and nobody rejected that", a.Key, before.Number, after.Number)
		}
		if !c.isUndo(a) && after.Number != c.target.Number {
			return fmt.Errorf("%s gets revision %d, and the target is %d", a.Key, after.Number, c.target.Number)
		}
	}
	return nil
}

func (c *checker) nothingWhileStopped(d Decision) error {
	for _, a := range d.Assigned {
		// Secrets that are not written yet cannot be written with what the owner wanted before.
		own := c.isOwn(a) && c.rows[a.Key].Status.State == Progressing
		if (d.Status.Halted || c.fleet.Policy.Paused) && !c.isUndo(a) && !own && !c.isProof(a) {
			return fmt.Errorf("%s gets revision %d while halted or paused", a.Key, a.Record.Number)
		}
	}
	return nil
}

func (c *checker) inTheOrderOfWaves(d Decision) error {
	late := map[types.NamespacedName]bool{} // nobody waits for who comes to a wave that had the target
	for _, a := range d.Assigned {
		late[a.Key] = a.Record.Settled != nil && !c.isOwn(a)
	}
	over := make([]func() error, len(c.waves)) // each wave is judged once
	for k, rows := range c.waves {
		over[k] = sync.OnceValue(func() error { return c.over(k, rows, late) })
	}
	for _, a := range d.Assigned {
		adopted := c.rows[a.Key].Record == nil && len(c.fleet.Revisions) == 1
		if c.isOwn(a) || adopted || c.isUndo(a) {
			continue
		}
		if c.waveOf[a.Key] < 0 {
			return fmt.Errorf("%s is in no wave and gets revision %d", a.Key, a.Record.Number)
		}
		for _, over := range over[:c.waveOf[a.Key]] {
			if err := over(); err != nil {
				return fmt.Errorf("%s of wave %d gets revision %d: %w", a.Key, c.waveOf[a.Key], a.Record.Number, err)
			}
		}
	}
	return nil
}

// over: a wave has the target, all of it, and for long enough.
func (c *checker) over(k int, rows []*Row, late map[types.NamespacedName]bool) error {
	w := c.fleet.Policy.waves[k]
	for _, row := range rows {
		if late[row.Key] {
			if was := c.fleet.Last; was == nil || was.Revision != c.target.Number || was.Waves[k].State != v1alpha1.WavePassed && was.Waves[k].State != v1alpha1.WaveSoaking {
				return fmt.Errorf("%s is taken for one that came late to wave %d", row.Key, k)
			}
			continue
		}
		if row.Record == nil && len(c.fleet.Revisions) == 1 && !row.Status.Failing {
			continue // it adopts the first revision, which is what it has
		}
		if r := row.Record; c.revision(r) == nil || r.Number != c.target.Number {
			return fmt.Errorf("%s of wave %d does not have it", row.Key, k)
		}
		exempt := row.Record.Settled != nil || row.Record.Before == nil && row.Record.Tolerated && !row.Status.Failing
		if exempt {
			continue
		}
		if c.flying(row, w.deadline) {
			return fmt.Errorf("%s of wave %d is not done", row.Key, k)
		}
		since := row.Status.Since
		if row.Status.State == Progressing {
			since = row.Record.Since.Add(w.deadline)
		}
		if since.Add(w.soak).After(c.fleet.Now) {
			return fmt.Errorf("%s of wave %d soaks until %s", row.Key, k, since.Add(w.soak))
		}
	}
	return nil
}

// afterThePreflight checks that the first cluster gets a revision only after the preflight found it good or could not
// tell.
func (c *checker) afterThePreflight(d Decision) error {
	p := c.fleet.Preflight
	if p == nil || c.target == nil || len(c.fleet.Revisions) == 1 {
		return nil
	}
	for _, row := range c.rows {
		if r := c.revision(row.Record); r != nil && r.Number == c.target.Number && !row.New {
			return nil
		}
	}
	good := p.Answer != nil && p.Answer.Digest == c.target.Digest && p.Answer.State != probe.Failed
	for _, a := range d.Assigned {
		if a.Record.Number == c.target.Number && !c.isUndo(a) && !good {
			return fmt.Errorf("%s gets revision %d, and it is not known to lead out: %+v", a.Key, a.Record.Number, p.Answer)
		}
	}
	if !good && (d.Passed || d.Complete) {
		return fmt.Errorf("revision %d has passed, and nobody has it", c.target.Number)
	}
	return nil
}

func (c *checker) withinTheLimit(d Decision) error {
	gets := map[types.NamespacedName]bool{}
	begins := make([]int, len(c.waves))
	for _, a := range d.Assigned {
		row := c.rows[a.Key]
		if row.Record == nil && len(c.fleet.Revisions) == 1 || c.isProof(a) { // adoption changes nothing
			continue
		}
		gets[a.Key] = true
		if k := c.waveOf[a.Key]; k >= 0 && !c.flying(row, c.fleet.Policy.waves[k].deadline) {
			begins[k]++
		}
	}
	for k, rows := range c.waves {
		limit, _ := places(c.fleet.Policy.waves[k].parallel, len(rows))
		flying := 0
		for _, row := range rows {
			if gets[row.Key] || c.flying(row, c.fleet.Policy.waves[k].deadline) {
				flying++
			}
		}
		if begins[k] > 0 && flying > limit {
			return fmt.Errorf("%d clusters of wave %d are in flight after %d more; the limit is %d", flying, k, begins[k], limit)
		}
	}
	return nil
}

func (c *checker) onlyThoseThatCount(d Decision) error {
	seen := map[types.NamespacedName]bool{}
	for _, a := range d.Assigned {
		row := c.rows[a.Key]
		if row.New || row.Idle != "" || seen[a.Key] {
			return fmt.Errorf("%s is new (%v), idle (%s) or assigned twice", a.Key, row.New, row.Idle)
		}
		seen[a.Key] = true
	}
	return nil
}

func (c *checker) saysSomething(d Decision) error {
	switch {
	case d.Stalled != nil && d.Stalled.Message == "", d.Progress != nil && d.Progress.Message == "", d.Status.Message == "":
		return fmt.Errorf("says nothing: %+v", d)
	case d.Stalled == nil && d.Progress == nil && !d.Complete:
		return fmt.Errorf("neither stalled, nor going on, nor complete: %+v", d.Status)
	case d.Complete && (d.Stalled != nil || d.Status.Halted):
		return fmt.Errorf("complete and stalled: %+v", d.Status)
	}
	return nil
}

// sameInAnyOrder decides again with the rows in another order, and with what is written and read again.
func sameInAnyOrder(f Fleet, d Decision, seed uint64) error {
	f.Rows = append([]Row(nil), f.Rows...)
	rand.New(rand.NewPCG(seed, 1)).Shuffle(len(f.Rows), func(i, j int) { f.Rows[i], f.Rows[j] = f.Rows[j], f.Rows[i] })
	if other := Decide(f); !reflect.DeepEqual(d, other) {
		return fmt.Errorf("another order of rows, another decision: %s", cmp.Diff(d, other))
	}
	return nil
}

// visible returns what people see of a decision, but for the time of the next look.
func visible(d Decision) string {
	s := d.Status
	s.Next = nil
	text := fmt.Sprint(s, d.Complete, d.Stalled, d.Progress)
	if d.Reachable != nil {
		text += d.Reachable.Reason
	}
	return text
}
