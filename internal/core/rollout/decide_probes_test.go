package rollout

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func required(spec *v1alpha1.Rollout) { spec.HaltOn.Probes = v1alpha1.ProbesRequired }

func holds(r *Row)    { r.Holds = true }
func verified(r *Row) { r.Record.Verified = true }
func unproven(r *Row) {
	r.Status = Status{Message: "its probes say nothing since the change", Unproven: true}
}

// Who is waited for, by the record that is made.
func TestProbesThatHeldBeforeTheChangeMustHoldAfterIt(t *testing.T) {
	for name, test := range map[string]struct {
		policy    Policy
		revisions []Revision
		row       Row
		want      bool
	}{
		"they hold":                                 {canaryThenRest(required), revisions("completed", "new"), clusterAt("canary", 1, holds), true},
		"they hold, and nobody asks":                {canaryThenRest(), revisions("completed", "new"), clusterAt("canary", 1, holds), false},
		"they do not":                               {canaryThenRest(required), revisions("completed", "new"), clusterAt("canary", 1), false},
		"they did once":                             {canaryThenRest(required), revisions("completed", "new"), clusterAt("canary", 1, verified), false},
		"they did before one that was replaced":     {canaryThenRest(required), revisions("completed", "replaced", "new"), clusterAt("canary", 2, verified, failed), true},
		"they did before one that is rejected":      {canaryThenRest(required), revisions("completed", "rejected"), clusterAt("canary", 2, before(1), verified, failed), true},
		"they did not before one that is rejected":  {canaryThenRest(required), revisions("completed", "rejected"), clusterAt("canary", 2, before(1), failed), false},
		"it fails for another reason already":       {canaryThenRest(required), revisions("completed", "new"), clusterAt("canary", 1, verified, failed), false},
		"it comes from another management cluster":  {canaryThenRest(required), revisions("completed", "new"), clusterAt("canary", 1, moved, holds), true},
		"it has it already and only is recorded so": {canaryThenRest(required), revisions("new"), clusterAt("canary", 0, holds), false},
	} {
		t.Run(name, func(t *testing.T) {
			d := Decide(Fleet{Proxy: "corp", Policy: test.policy, Revisions: test.revisions, Rows: []Row{test.row}, Now: noon, Started: noon.Add(-time.Hour)})
			if len(d.Assigned) != 1 || d.Assigned[0].Record.Verified != test.want {
				t.Errorf("%+v", d.Assigned)
			}
		})
	}
}

func TestAWaveWaitsForProbesAndFailsWithoutThem(t *testing.T) {
	two, policy := revisions("completed", "new"), canaryThenRest(required)
	back := revisions("completed", "rejected")
	one := metav1.NewTime(noon.Add(-time.Minute))
	going := &v1alpha1.RolloutStatus{Revision: 1, Started: &one}
	three := func(spec *v1alpha1.Rollout) { required(spec); spec.HaltOn.FailedClusters = 3 }
	checkDecisions(t, map[string]decideTest{
		"they say nothing yet":               {policy, two, []Row{clusterAt("canary", 2, verified, unproven, recordedAgo(time.Minute)), clusterAt("a", 1)}, decision{"", "RollingOut", "wave canary gets revision 2, and waits until probes hold in org/canary (its probes say nothing since the change)", 9 * time.Minute}, nil},
		"they never do":                      {policy, two, []Row{clusterAt("canary", 2, verified, unproven, recordedAgo(time.Hour)), clusterAt("a", 1)}, decision{"", "Halted", "org/canary (no progress for 10m0s: its probes say nothing since the change)", 0}, nil},
		"who waits for them has a place":     {policy, two, []Row{clusterAt("canary", 2), clusterAt("a", 2, verified, unproven, recordedAgo(time.Minute)), clusterAt("b", 1), clusterAt("c", 1)}, decision{"b II", "RollingOut", "", 9 * time.Minute}, nil},
		"but keeps nobody from going back":   {policy, back, []Row{clusterAt("canary", 1, before(2), verified, unproven, recordedAgo(time.Minute)), clusterAt("a", 1, before(2), verified, unproven, recordedAgo(time.Minute)), clusterAt("b", 1, before(2), verified, unproven, recordedAgo(time.Minute)), clusterAt("c", 2, before(1), failed), clusterAt("d", 2, before(1), failed), clusterAt("e", 2, before(1), failed)}, decision{"c I, d I", "Undoing", "", 9 * time.Minute}, going},
		"who went back is done with them":    {policy, back, []Row{clusterAt("canary", 1, before(2), verified, unproven, recordedAgo(time.Minute)), clusterAt("a", 1)}, decision{"", "RollingOut", "revision 2 is rejected", 9 * time.Minute}, going},
		"and has failed without":             {policy, back, []Row{clusterAt("canary", 1, before(2), verified, unproven, recordedAgo(10*time.Minute)), clusterAt("a", 1)}, decision{"", "Halted", "its probes say nothing since the change", 0}, &v1alpha1.RolloutStatus{Revision: 1, Started: ptrTo(ago(time.Hour))}},
		"while others go back all the same":  {policy, back, []Row{clusterAt("canary", 1, before(2), verified, unproven, recordedAgo(10*time.Minute)), clusterAt("a", 2, before(1), failed)}, decision{"a I", "Undoing", "", 10 * time.Minute}, &v1alpha1.RolloutStatus{Revision: 1, Started: ptrTo(ago(time.Hour))}},
		"fewer than halt are named and left": {canaryThenRest(three), two, []Row{clusterAt("canary", 2, verified, unproven, recordedAgo(time.Hour)), clusterAt("a", 1)}, decision{"a II", "RollingOut", "clusters that failed with the revision: org/canary", 10 * time.Minute}, nil},
	})
}

func TestHaltOnProbesIsOneOfThree(t *testing.T) {
	if _, err := ParsePolicy(v1alpha1.Rollout{HaltOn: v1alpha1.HaltOn{Probes: "Sometimes"}}); err == nil || err.Error() != `spec.rollout.haltOn.probes: "Sometimes" is none of Ignored, Failed and Required` {
		t.Error(err)
	}
}

// What is seen once is recorded, with which the soak begins; it changes nothing for the cluster, and so it needs no place.
func TestThatProbesHoldIsRecordedOnce(t *testing.T) {
	proven := func(r *Row) {
		r.Record.Proven = ptrTo(ago(10 * time.Minute))
		r.Status.Since = r.Record.Proven.Time
	}
	for name, test := range map[string]struct {
		policy   Policy
		rows     []Row
		assigned string
		recorded bool // of the canary
		reason   string
		look     time.Duration
	}{
		"first":                    {canaryThenRest(required), []Row{clusterAt("canary", 2, verified), clusterAt("a", 1)}, "canary II", true, "Soaking", 30 * time.Minute},
		"then":                     {canaryThenRest(required), []Row{clusterAt("canary", 2, verified, proven), clusterAt("a", 1)}, "", false, "Soaking", 20 * time.Minute},
		"nobody asks any more":     {canaryThenRest(), []Row{clusterAt("canary", 2, verified), clusterAt("a", 1)}, "a II", false, "RollingOut", 10 * time.Minute},
		"paused":                   {canaryThenRest(required, paused), []Row{clusterAt("canary", 2, verified), clusterAt("a", 1)}, "canary II", true, "Paused", 30 * time.Minute},
		"it was not waited for":    {canaryThenRest(required), []Row{clusterAt("canary", 2), clusterAt("a", 1)}, "a II", false, "RollingOut", 10 * time.Minute},
		"its owner changes it now": {canaryThenRest(required), []Row{clusterAt("canary", 2, verified, ownChanged), clusterAt("a", 1)}, "canary II!", false, "Soaking", 10 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			f := Fleet{Proxy: "corp", Policy: test.policy, Revisions: revisions("completed", "new"), Rows: test.rows, Now: noon, Started: noon.Add(-3 * time.Hour)}
			d := Decide(f)
			assigned, reason, _ := decided(d)
			if recorded := len(d.Assigned) > 0 && d.Assigned[0].Record.Proven != nil; assigned != test.assigned || reason != test.reason || recorded != test.recorded || d.Look != test.look {
				t.Errorf("assigned %q, recorded %v, reason %q, look %s", assigned, recorded, reason, d.Look)
			}
			checkStable(t, f, d)
		})
	}
}
