package rollout

import (
	"testing"
	"time"
)

func inPool(name string, places, wave int) func(*MachineCluster) {
	return func(c *MachineCluster) { c.Pool = Pool{Name: name, Places: places, Wave: wave} }
}

func TestSeveralClustersAreRolledAtATime(t *testing.T) {
	const now = changedAt + 3600
	two, three := func(wave int) func(*MachineCluster) { return inPool("corp", 2, wave) }, inPool("corp", 3, 0)
	under := beganAt(now - 900)
	deleting := func(c *MachineCluster) { c.Deleting = true }
	notReady := func(c *MachineCluster) { c.Ready = false }
	failed := func(times int) func(*MachineCluster) { return func(c *MachineCluster) { c.Failures = times } }
	stopped := func(c *MachineCluster) { c.Stopped = "paused" }
	paused := func(c *MachineCluster) { c.Paused = true }
	for name, tc := range map[string]struct {
		fleet      []*MachineCluster
		going, try string
	}{
		"a place is free":               {[]*MachineCluster{outdatedCluster("a", two(0), under), outdatedCluster("b", two(0)), outdatedCluster("c", two(0))}, "a", "b c"},
		"none is free":                  {[]*MachineCluster{outdatedCluster("a", two(0), under), outdatedCluster("b", two(0), under), outdatedCluster("c", two(0))}, "a b", ""},
		"a stuck one has its place":     {[]*MachineCluster{outdatedCluster("a", two(0), under, paused), outdatedCluster("b", two(0))}, "a", "b"},
		"a claim beside another":        {[]*MachineCluster{outdatedCluster("a", two(0), under), outdatedCluster("b", two(0), under, claimed)}, "a b", ""},
		"a claim too many yields":       {[]*MachineCluster{outdatedCluster("a", two(0), under), outdatedCluster("b", two(0), under), outdatedCluster("c", two(0), under, claimed)}, "a b", ""},
		"fewer places than there are":   {[]*MachineCluster{outdatedCluster("a", two(0), under), outdatedCluster("b", two(0), under), outdatedCluster("c", two(0), under)}, "a b c", ""},
		"another pool":                  {[]*MachineCluster{outdatedCluster("a", inPool("x", 1, 0), under), outdatedCluster("b", three)}, "a", "b"},
		"without spec.rollout":          {[]*MachineCluster{outdatedCluster("a", under), outdatedCluster("b"), outdatedCluster("c", three)}, "a", "c"},
		"the earlier wave first":        {[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0))}, "", "b"},
		"while it is under way":         {[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0), under)}, "b", ""},
		"not for one that is skipped":   {[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0), skippedAt(changedAt))}, "", "a"},
		"nor for one that is paused":    {[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0), paused)}, "", "a"},
		"nor for one that is not Ready": {[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0), notReady)}, "", "a"},
		"nor for one that goes":         {[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0), deleting)}, "", "a"},
		"nor for one that is done":      {[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0), isDone)}, "", "a"},
		"nor for one that is under way and paused": {
			[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0), under, paused)}, "b", "a",
		},
		"for one that could not begin once": {
			[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0), failed(1), retryAt(now+60))}, "", "",
		},
		"not for one that could not several times": {
			[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0), failed(4), retryAt(now+60))}, "", "a",
		},
		"which is tried before": {
			[]*MachineCluster{outdatedCluster("a", two(1)), outdatedCluster("b", two(0), failed(4), startedAt(now-900))}, "", "b a",
		},
		"one to be released has its place": {
			[]*MachineCluster{outdatedCluster("a", three, under, deleting), outdatedCluster("b", three), outdatedCluster("c", inPool("x", 1, 0), under, deleting), outdatedCluster("d", inPool("x", 1, 0))},
			"", "b",
		},
		"none while a claim yields": {
			[]*MachineCluster{outdatedCluster("a", inPool("x", 1, 0), under), outdatedCluster("b", inPool("x", 1, 0), under, claimed), outdatedCluster("c", three)}, "a", "",
		},
		"the pool that waits longest first": {
			[]*MachineCluster{outdatedCluster("a", three), outdatedCluster("b", three, ended(now-900)), outdatedCluster("c", inPool("x", 1, 0), startedAt(now-1000))}, "", "c a",
		},
		"a pool whose clock was wrong waits for nobody": {
			[]*MachineCluster{outdatedCluster("a", three), outdatedCluster("b", three, ended(now+1e9)), outdatedCluster("c", inPool("x", 1, 0), startedAt(now-1000))}, "", "a c",
		},
		"none while it is stopped": {[]*MachineCluster{outdatedCluster("a", two(0), stopped), outdatedCluster("b", two(0), under, stopped)}, "b", ""},
	} {
		t.Run(name, func(t *testing.T) {
			p := NextMachines(tc.fleet, time.Unix(now, 0), time.Time{}, time.Minute)
			if names(p.Going) != tc.going || names(p.Try) != tc.try {
				t.Errorf("under way %q, then %q", names(p.Going), names(p.Try))
			}
		})
	}
}

func TestInACrowdedPoolWhoGivesBackMakesRoomForTheOthers(t *testing.T) {
	const now = changedAt + 3600
	two := inPool("corp", 2, 0)
	fleet := []*MachineCluster{
		outdatedCluster("a", two, beganAt(now-900)), outdatedCluster("b", two, beganAt(now-700)), outdatedCluster("c", two, beganAt(now-800)),
		outdatedCluster("d", beganAt(now-900)),
	}
	p := NextMachines(fleet, time.Unix(now, 0), time.Time{}, time.Minute)
	if got := names(p.Going); got != "b c a d" {
		t.Errorf("%q: the last that began is to be the first that gives back", got)
	}
	if !p.Crowded(fleet[0]) || !p.Crowded(fleet[1]) || p.Crowded(fleet[3]) {
		t.Error("three have two places, and one has one")
	}
	p.GaveBack(fleet[1])
	if p.Crowded(fleet[0]) {
		t.Error("two have two places")
	}
	fleet[1].Claimed = true
	if p := NextMachines(fleet, time.Unix(now, 0), time.Time{}, time.Minute); p.Crowded(fleet[0]) || names(p.Rest) != "b" {
		t.Error("the claim alone is what is too many")
	}
}
