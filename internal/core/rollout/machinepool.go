package rollout

import (
	"math"
	"time"
)

// Pool names the clusters that share places. All CorporateProxies without spec.rollout share the zero value.
type Pool struct {
	Name   string // of the CorporateProxy
	Places int    // clusters that are rolled at a time; 0: one
	Wave   int    // of the cluster, from 0
}

// poolState is how a pool stands.
type poolState struct {
	places  int
	holders int             // clusters under way, less the surplus
	taken   int             // places that reports have, also those that are to be released
	surplus *MachineCluster // the claim of this process, if others have all places
	wave    int             // the earliest one that later ones wait for
	last    time.Time       // when the last cluster began
}

func (s *poolState) hasPlace() bool { return s.taken < s.places }

// poolsOf leaves out beginnings later than the latest that can be.
func poolsOf(fleet []*MachineCluster, latest time.Time) map[string]*poolState {
	pools := map[string]*poolState{}
	for _, c := range fleet {
		pool := pools[c.Pool.Name]
		if pool == nil {
			pool = &poolState{wave: math.MaxInt}
			pools[c.Pool.Name] = pool
		}
		pool.add(c)
		if began := c.started(); !began.After(latest) {
			pool.last = later(pool.last, began)
		}
	}
	for _, pool := range pools {
		if pool.holders <= pool.places {
			pool.surplus = nil
		} else if pool.surplus != nil {
			pool.holders--
		}
	}
	return pools
}

func (s *poolState) add(c *MachineCluster) {
	s.places = max(s.places, c.Pool.Places, 1)
	if c.Rollout.After != nil {
		s.taken++
	}
	if c.Holds() {
		s.holders++
		if c.Claimed {
			s.surplus = c
		}
	}
	if c.goesFirst() {
		s.wave = min(s.wave, c.Pool.Wave)
	}
}
