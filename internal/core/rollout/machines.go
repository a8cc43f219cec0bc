// Package rollout decides how what changes reaches a fleet, with little at a time. It is pure: it is given the time and the
// fleet.
//
//   - Of revisions ([Decide]): which one each cluster is to have, wave after wave.
//   - Of machines ([NextMachines]): in which clusters the outdated ones are replaced next, and what the reports of all
//     clusters say meanwhile.
package rollout

import (
	"cmp"
	"slices"
	"time"
)

// MachinePlan says what to do next for the fleet.
type MachinePlan struct {
	Going []*MachineCluster // under way: each takes its next step, the last that began first
	Try   []*MachineCluster // to be tried in order: the first that can begins, and no other
	Rest  []*MachineCluster // only to be described
	Wait  time.Duration     // until the next look is worth it; 0 if an event will tell

	Unsettled time.Time // since when some change goes round without a pause; zero: none does

	pools map[string]*poolState
}

// Within has the next look after this wait, or before; 0 is no look.
func (p *MachinePlan) Within(wait time.Duration) {
	if p.Wait == 0 || wait != 0 && wait < p.Wait {
		p.Wait = wait
	}
}

// SettleTime is how long since has been seen before a rollout begins: Cluster API
// compares spec.rollout.after with a clock of its own, and does nothing while it is in
// the future. The operator's clock is compared with itself alone.
const SettleTime = 3 * time.Second

// longestSettling is how long a change may go round before clusters begin all the same: a tenant can change the settings of a
// cluster again and again.
const longestSettling = 2 * time.Minute

// NextMachines plans the next step of replacing machines in the fleet: which clusters under way go on, and which may
// begin. A cluster is under way while its report has status.rollout.after. unsettled is Unsettled of the last plan, and
// interval the shortest time between two beginnings in the whole fleet.
//
// A cluster begins if its [Pool] has a place and the interval is over. Of the pools, the one that waited longest comes
// first. Within a pool, the order is: the wave, and no cluster of a later wave before the earlier one is done; clusters that
// never began; those that began longest ago; names. So a cluster that changes all the time does not get ahead of others.
// Nothing begins while a report holds a place that its cluster must not have: that one is released first.
func NextMachines(fleet []*MachineCluster, now, unsettled time.Time, interval time.Duration) MachinePlan {
	slices.SortFunc(fleet, func(a, b *MachineCluster) int {
		return cmp.Or(cmp.Compare(a.Key.Namespace, b.Key.Namespace), cmp.Compare(a.Key.Name, b.Key.Name))
	})
	// A beginning that is later than now can be is left out: a clock was wrong, which must not halt the fleet.
	p := MachinePlan{pools: poolsOf(fleet, now.Add(interval))}
	yields := false
	var settling time.Duration // the change that is, to those that come first
	for _, c := range fleet {
		pool, wait := p.pools[c.Pool.Name], c.waits(now)
		switch {
		case c == pool.surplus: // nothing else is claimed before it is released
			yields = true
		case c.Holds():
			if p.Within(wait); wait == 0 {
				p.Going = append(p.Going, c)
			}
			continue
		case c.Rollout.After != nil || !pool.hasPlace() || c.Pool.Wave > pool.wave || !c.mayBegin():
		default:
			settling = max(settling, c.settles(now))
			if wait == 0 {
				p.Try = append(p.Try, c)
				continue
			}
			p.Within(wait)
		}
		p.Rest = append(p.Rest, c)
	}
	slices.SortStableFunc(p.Going, func(a, b *MachineCluster) int { return b.started().Compare(a.started()) })
	slices.SortStableFunc(p.Try, p.order)
	settling = p.bound(settling, unsettled, now)
	pause := max(p.lastBeginning().Add(interval).Sub(now), settling)
	if len(p.Try) > 0 && (pause > 0 || yields) {
		p.Rest, p.Try = append(p.Rest, p.Try...), nil
		p.Within(pause)
	}
	return p
}

// bound is for how long nothing begins while a change goes round. unsettled is since when one does.
func (p *MachinePlan) bound(settling time.Duration, unsettled, now time.Time) time.Duration {
	if settling == 0 {
		return 0
	}
	if p.Unsettled = unsettled; unsettled.IsZero() {
		p.Unsettled = now
	}
	if now.Sub(p.Unsettled) >= longestSettling {
		return 0
	}
	return settling
}

// order is that in which clusters begin; those that are equal are in the order of their names.
func (p *MachinePlan) order(a, b *MachineCluster) int {
	if a.Pool.Name != b.Pool.Name {
		return cmp.Or(p.pools[a.Pool.Name].last.Compare(p.pools[b.Pool.Name].last), cmp.Compare(a.Pool.Name, b.Pool.Name))
	}
	return cmp.Or(cmp.Compare(a.Pool.Wave, b.Pool.Wave), a.started().Compare(b.started()))
}

func (p *MachinePlan) lastBeginning() time.Time {
	var last time.Time
	for _, pool := range p.pools {
		last = later(last, pool.last)
	}
	return last
}

// Crowded reports whether too many clusters of a pool are under way: it has fewer places than before, or a process ended
// between its claim and the look that would have shown it another. Which one that is nobody knows then, so none of them
// begins with an owner: who would gives its place back instead ([MachinePlan.GaveBack]), with no machine half-way. Those
// whose machines are being replaced go on.
func (p *MachinePlan) Crowded(c *MachineCluster) bool {
	pool := p.pools[c.Pool.Name]
	return pool.holders > pool.places
}

// GaveBack notes that a cluster under way is so no more.
func (p *MachinePlan) GaveBack(c *MachineCluster) { p.pools[c.Pool.Name].holders-- }
