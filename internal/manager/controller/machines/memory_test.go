package machines

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

// The machines of a never come up, and its owner changes its settings more often
// than the deadline is long.
func TestAChangeOfAClusterUnderWayIsNoProgress(t *testing.T) {
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a", "b")...)
	f.settle()
	f.pass(0)
	f.pass(0)
	f.expectUnderWay("a")
	for range 3 {
		at := f.time.Unix()
		f.modify("a", func(r *v1alpha1.ProxyReport) { r.Status.Nodes.Since = since(at) })
		f.pass(0)
		f.pass(rollout.SettleTime)
		f.pass(ownerPollInterval)
		f.pass(50 * time.Minute)
	}
	f.expectUnderWay("b") // a was skipped, and has begun before, unlike b
}

func TestWhatIsProgressOfAClusterUnderWay(t *testing.T) {
	type step struct {
		since   int64
		owner   string
		reached int64
		want    bool
	}
	for name, steps := range map[string][]step{
		"a machine more":                {{1, "a", 2, true}, {1, "a", 3, true}},
		"none more":                     {{1, "a", 2, true}, {1, "a", 2, false}},
		"one comes and goes":            {{1, "a", 2, true}, {1, "a", 1, false}, {1, "a", 2, false}},
		"the next owner":                {{1, "a", 2, true}, {1, "b", 0, true}},
		"an owner comes back":           {{1, "a", 2, true}, {1, "b", 0, true}, {1, "a", 2, false}, {1, "b", 0, false}},
		"another change":                {{1, "a", 2, true}, {2, "a", 0, false}, {3, "a", 2, false}},
		"a machine after it":            {{1, "a", 2, true}, {2, "a", 0, false}, {2, "a", 1, true}},
		"an owner that comes with it":   {{1, "b", 2, true}, {2, "a", 0, false}, {2, "a", 0, false}, {2, "a", 1, true}},
		"owners that come with it, two": {{1, "c", 2, true}, {2, "a", 0, false}, {2, "b", 0, false}},
	} {
		t.Run(name, func(t *testing.T) {
			now, c := time.Unix(changedAt, 0), &rollout.MachineCluster{
				ReportUID: "uid-a", Wanted: true, Ready: true, Nodes: &v1alpha1.ReportedNodes{},
				Rollout: v1alpha1.ReportedRollout{After: since(changedAt), Started: since(changedAt)},
			}
			c.Nodes.Since, c.Nodes.Outdated = since(steps[0].since), 0
			var memory memory
			for i, s := range steps {
				now = now.Add(time.Minute)
				c.Nodes.Since = since(s.since)
				memory.recall([]*rollout.MachineCluster{c}, now)
				now = now.Add(time.Minute)
				object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"availableReplicas": s.reached}}}
				memory.progress(c, v1alpha1.ReportedOwner{Kind: rollout.MachineDeployment, Name: s.owner}, ownerState{object: object}, now)
				if got := memory.of(c).moved.Equal(now); got != s.want {
					t.Errorf("step %d: %t", i, got)
				}
			}
		})
	}
}
