package rollout

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

func TestClustersGoBackFromARejectedRevision(t *testing.T) {
	const deadline = 10 * time.Minute
	policy, undone := canaryThenRest(), revisions("completed", "rejected")
	checkDecisions(t, map[string]decideTest{
		"to what they had":                       {policy, undone, []Row{clusterAt("canary", 2, before(1), failed), clusterAt("a", 1)}, decision{"canary I", "Undoing", "clusters go back from a rejected revision; revision 2 is rejected", deadline}, nil},
		"while paused":                           {canaryThenRest(paused), undone, []Row{clusterAt("canary", 2, before(1)), clusterAt("a", 1)}, decision{"canary I", "Undoing", "", deadline}, nil},
		"while what they go back to is halted":   {policy, undone, []Row{clusterAt("canary", 2, before(1)), clusterAt("a", 1, failed)}, decision{"canary I", "Undoing", "", deadline}, &v1alpha1.RolloutStatus{Revision: 1}},
		"while halted, and the wave is not open": {policy, undone, []Row{clusterAt("canary", 1, before(2), failed), clusterAt("a", 2, before(1))}, decision{"a I", "Undoing", "", deadline}, nil},
		"as many as have a place":                {policy, undone, []Row{clusterAt("canary", 1), clusterAt("a", 2), clusterAt("b", 2), clusterAt("c", 2)}, decision{"a I, b I", "Undoing", "", deadline}, nil},
		"one on the way keeps its place":         {policy, undone, []Row{clusterAt("canary", 1), clusterAt("a", 2, flying, recordedAgo(time.Minute)), clusterAt("b", 2, flying, recordedAgo(time.Minute)), clusterAt("c", 2)}, decision{"a I, b I", "Undoing", "", deadline}, nil},
		"though no wave selects them":            {canaryThenRest(noRest), undone, []Row{clusterAt("canary", 1), clusterAt("lost", 2, before(1))}, decision{"lost I", "Undoing", "", deadline}, nil},
		"not while they are paused":              {policy, undone, []Row{clusterAt("canary", 2, before(1), idleBy("paused")), clusterAt("a", 1)}, decision{"", "", "ClustersSkipped: clusters to which nothing is written now: org/canary (paused)", 0}, nil},
		"where nobody knows what they had":       {policy, revisions("completed", "old", "rejected"), []Row{clusterAt("canary", 3), clusterAt("a", 1)}, decision{"canary II", "Undoing", "", deadline}, nil},
		"where that is gone":                     {policy, append(revisions("completed"), revisions("", "", "rejected")[2]), []Row{clusterAt("canary", 3, before(2)), clusterAt("a", 1)}, decision{"canary I", "Undoing", "", deadline}, nil},
		"where that is rejected, too":            {policy, revisions("completed", "rejected", "rejected"), []Row{clusterAt("canary", 3, before(2)), clusterAt("a", 1)}, decision{"canary I", "Undoing", "", deadline}, nil},
		"never to a newer one":                   {policy, revisions("completed", "rejected", "accepted again"), []Row{clusterAt("canary", 2, before(3)), clusterAt("a", 1)}, decision{"canary I", "Undoing", "", deadline}, nil},
		"and then get the corrected one":         {policy, revisions("completed", "rejected", "new"), []Row{clusterAt("canary", 1, before(2)), clusterAt("a", 1)}, decision{"canary III", "RollingOut", "", deadline}, nil},
		"which halts if it fails, too":           {policy, revisions("completed", "rejected", "new"), []Row{clusterAt("canary", 3, before(1), failed), clusterAt("a", 1)}, decision{"", "Halted", "revision 3 failed", 0}, nil},
		"all are rejected":                       {policy, revisions("rejected", "rejected"), []Row{clusterAt("canary", 2, before(1)), clusterAt("a", 1)}, decision{"", "AllRejected", "every revision that is kept is rejected", 0}, nil},
		"the first one is corrected":             {policy, revisions("rejected", "new"), []Row{clusterAt("canary", 1), clusterAt("a", 1)}, decision{"canary II", "RollingOut", "", deadline}, nil},
		"the first one is corrected, in waves":   {policy, revisions("rejected", "new"), []Row{clusterAt("canary", 2, before(1), recordedAgo(time.Minute)), clusterAt("a", 1)}, decision{"", "Soaking", "", 29 * time.Minute}, nil},
		"the first one is corrected, but paused": {canaryThenRest(paused), revisions("rejected", "new"), []Row{clusterAt("canary", 1)}, decision{"", "Paused", "", 0}, nil},
	})
}

func TestOnlyWhatFailedBeforeIsTolerated(t *testing.T) {
	const deadline = 10 * time.Minute
	policy := canaryThenRest()
	checkDecisions(t, map[string]decideTest{
		"it was not Ready with what all had":           {policy, revisions("completed", "new"), []Row{clusterAt("canary", 1, failed)}, decision{"canary II!", "RollingOut", "", deadline}, nil},
		"it was Ready":                                 {policy, revisions("completed", "new"), []Row{clusterAt("canary", 1)}, decision{"canary II", "RollingOut", "", deadline}, nil},
		"nobody knows what it had":                     {policy, revisions("completed", "new"), []Row{clusterAt("canary", 1, moved, failed)}, decision{"canary II!", "RollingOut", "", deadline}, nil},
		"it failed with a revision that was replaced":  {policy, revisions("completed", "old", "new"), []Row{clusterAt("canary", 2, before(1), failed)}, decision{"canary III", "RollingOut", "", deadline}, nil},
		"it failed with that, and before":              {policy, revisions("completed", "old", "new"), []Row{clusterAt("canary", 2, before(1), failed, tolerated)}, decision{"canary III!", "RollingOut", "", deadline}, nil},
		"it failed with a rejected one":                {policy, revisions("completed", "rejected"), []Row{clusterAt("canary", 2, before(1), failed)}, decision{"canary I", "Undoing", "", deadline}, nil},
		"it is not back yet from a rejected one":       {policy, revisions("completed", "rejected", "new"), []Row{clusterAt("canary", 1, before(2), flying, failing, recordedAgo(time.Minute))}, decision{"canary III", "RollingOut", "", deadline}, nil},
		"it never recovered from a rejected one":       {policy, revisions("completed", "rejected", "new"), []Row{clusterAt("canary", 1, before(2), failed)}, decision{"canary III", "RollingOut", "", deadline}, nil},
		"what was seen of it is older than the record": {policy, revisions("completed", "rejected", "new"), []Row{clusterAt("canary", 1, before(2), failing)}, decision{"canary III", "RollingOut", "", deadline}, nil},
		"only its own settings change":                 {policy, revisions("completed", "new"), []Row{clusterAt("canary", 2, ownChanged)}, decision{"canary II!", "RollingOut", "", deadline}, nil},
		"they change before it is done":                {policy, revisions("completed", "new"), []Row{clusterAt("canary", 2, flying, ownChanged, recordedAgo(time.Minute))}, decision{"canary II", "RollingOut", "", 9 * time.Minute}, nil},
		"they change after it failed":                  {canaryThenRest(twoFail), revisions("completed", "new"), []Row{clusterAt("canary", 2, failed, ownChanged)}, decision{"canary II", "RollingOut", "", deadline}, nil},
	})
}

func TestNobodyWaitsForWhoComesLater(t *testing.T) {
	const deadline = 10 * time.Minute
	two, policy := revisions("completed", "new"), canaryThenRest()
	last := func(state string) *v1alpha1.RolloutStatus {
		return &v1alpha1.RolloutStatus{Revision: 2, Waves: []v1alpha1.WaveStatus{{Name: "canary", State: state}}}
	}
	checkDecisions(t, map[string]decideTest{
		"a canary's own change does not stop the rest":     {policy, two, []Row{clusterAt("canary", 2, ownChanged), clusterAt("a", 1)}, decision{"canary II!, a II", "RollingOut", "", deadline}, nil},
		"nor while it is on the way":                       {policy, two, []Row{clusterAt("canary", 2, flying, recordedAgo(time.Minute), settled(time.Hour)), clusterAt("a", 1)}, decision{"a II", "RollingOut", "", 9 * time.Minute}, nil},
		"but it does not end the soak":                     {policy, two, []Row{clusterAt("canary", 2, flying, recordedAgo(time.Minute), settled(10*time.Minute)), clusterAt("a", 1)}, decision{"", "Soaking", "12:20:00Z", 9 * time.Minute}, nil},
		"a canary that comes late does not stop the rest":  {policy, two, []Row{clusterAt("canary", 2), clusterAt("canary-2", 1), clusterAt("a", 1)}, decision{"canary-2 II, a II", "RollingOut", "", deadline}, last(v1alpha1.WavePassed)},
		"nor does it begin the soak again":                 {policy, two, []Row{clusterAt("canary", 2, recordedAgo(10*time.Minute)), clusterAt("canary-2", 1), clusterAt("a", 1)}, decision{"canary-2 II", "Soaking", "12:20:00Z", deadline}, last(v1alpha1.WaveSoaking)},
		"the last canary of several is not late":           {policy, two, []Row{clusterAt("canary", 2), clusterAt("canary-2", 1), clusterAt("a", 1)}, decision{"canary-2 II", "RollingOut", "", deadline}, last(v1alpha1.WaveProgressing)},
		"a cluster that was built with it":                 {policy, two, []Row{clusterAt("canary", 2), clusterAt("canary-2", 2, tolerated, flying, recordedAgo(time.Minute)), clusterAt("a", 1)}, decision{"a II", "RollingOut", "", 9 * time.Minute}, nil},
		"the only canary is deleted after its wave passed": {policy, two, []Row{clusterAt("a", 1)}, decision{"a II", "RollingOut", "", deadline}, last(v1alpha1.WavePassed)},
		"the only canary is deleted before":                {policy, two, []Row{clusterAt("a", 1)}, decision{"", "WaveEmpty", "wave canary selects no cluster that has Secrets", 0}, last(v1alpha1.WaveSoaking)},
		"the only canary is paused":                        {policy, two, []Row{clusterAt("canary", 1, idleBy("paused")), clusterAt("a", 1)}, decision{"", "WaveEmpty", "wave canary has no cluster that can be changed: org/canary (paused)", 0}, nil},
		"one of two canaries is paused":                    {policy, two, []Row{clusterAt("canary", 1, idleBy("paused")), clusterAt("canary-2", 2), clusterAt("a", 1)}, decision{"a II", "RollingOut", "org/canary (paused)", deadline}, nil},
		"a cluster loses its wave in the middle":           {canaryThenRest(noRest), two, []Row{clusterAt("canary", 2, flying, recordedAgo(time.Minute)), clusterAt("lost", 1)}, decision{"", "RollingOut", "ClustersInNoWave: no wave selects org/lost", 9 * time.Minute}, nil},
		"and is named at the end":                          {canaryThenRest(noRest), two, []Row{clusterAt("canary", 2), clusterAt("lost", 1)}, decision{"", "ClustersInNoWave", "no wave selects org/lost; add a wave without clusterSelector", 0}, nil},
		"it has its own change held, too":                  {canaryThenRest(noRest), two, []Row{clusterAt("canary", 2), clusterAt("lost", 2, ownChanged)}, decision{"", "ClustersInNoWave", "org/lost", 0}, nil},
	})
}

func TestAClockThatJumpsStopsNothing(t *testing.T) {
	two, policy := revisions("completed", "new"), canaryThenRest()
	future := func(r *Row) {
		r.Record.Since = metav1.NewTime(noon.Add(24 * 365 * time.Hour))
		r.Status.Since = r.Record.Since.Time
	}
	checkDecisions(t, map[string]decideTest{ // the process started an hour ago
		"a record of the future counts from the start of the process": {policy, two, []Row{clusterAt("canary", 2, flying, future), clusterAt("a", 1)}, decision{"", "Halted", "no progress for 10m0s", 0}, nil},
		"and so does a soak":                  {policy, two, []Row{clusterAt("canary", 2, future), clusterAt("a", 1)}, decision{"a II", "RollingOut", "", 10 * time.Minute}, nil},
		"a record of long ago is out of time": {policy, two, []Row{clusterAt("canary", 2, flying, recordedAgo(24*365*time.Hour)), clusterAt("a", 1)}, decision{"", "Halted", "no progress", 0}, nil},
	})
	f := Fleet{Proxy: "corp", Policy: policy, Revisions: two, Rows: []Row{clusterAt("canary", 2, flying, future)}, Now: noon, Started: noon.Add(-time.Minute)}
	if d := Decide(f); d.Look != 9*time.Minute || d.Status.Halted {
		t.Errorf("just started: look in %s, %+v", d.Look, d.Status)
	}
}

func TestWhatNewClustersGet(t *testing.T) {
	policy := canaryThenRest()
	for name, test := range map[string]struct {
		policy    Policy
		revisions []Revision
		rows      []Row
		want      int64
	}{
		"the target, once its first wave has passed": {policy, revisions("passed", ""), []Row{clusterAt("canary", 2), clusterAt("a", 1)}, 2},
		"the last that passed until then":            {policy, revisions("passed", "passed", "", ""), []Row{clusterAt("canary", 4, flying, recordedAgo(time.Minute)), clusterAt("a", 1)}, 2},
		"not one that is rejected":                   {policy, revisions("passed", "passed rejected", ""), []Row{clusterAt("canary", 1)}, 1},
		"the first":                                  {policy, revisions(""), []Row{clusterAt("canary", 0)}, 1},
		"the oldest where none has passed":           {policy, revisions("rejected", "", ""), []Row{clusterAt("canary", 1)}, 2},
		"the newest in a fleet without clusters":     {policy, revisions("", "", ""), nil, 3},
		"the newest without waves":                   {mustParse(v1alpha1.Rollout{}), revisions("", "", ""), []Row{clusterAt("a", 1)}, 3},
		"nothing where all are rejected":             {policy, revisions("rejected"), nil, 0},
	} {
		d := Decide(Fleet{Proxy: "corp", Policy: test.policy, Revisions: test.revisions, Rows: test.rows, Now: noon})
		var got int64
		if d.ForNew != nil {
			got = d.ForNew.Number
		}
		if got != test.want {
			t.Errorf("%s: %d, want %d", name, got, test.want)
		}
	}
}

func TestDecideLeavesTheRowsOfTheCallerAlone(t *testing.T) {
	rows := []Row{clusterAt("canary-2", 1), clusterAt("canary", 2, flying)}
	Decide(Fleet{Proxy: "corp", Policy: canaryThenRest(), Revisions: revisions("completed", "new"), Rows: rows, Now: noon})
	if rows[0].Key.Name != "canary-2" || rows[0].Record.Number != 1 || rows[1].Status.State != Progressing {
		t.Errorf("%+v", rows)
	}
}

// Whoever compares the two would write it again and again.
func TestARecordIsWhatWillBeReadAgain(t *testing.T) {
	f := Fleet{Proxy: "corp", Policy: canaryThenRest(), Revisions: revisions("completed", "new"), Now: noon.Add(700 * time.Millisecond)}
	f.Rows = []Row{clusterAt("canary", 2, ownChanged), clusterAt("canary-2", 1), clusterAt("canary-3", 0)}
	f.Rows[0].Status.Since = noon.Add(300 * time.Millisecond)
	for _, a := range Decide(f).Assigned {
		read, is, err := revision.ParseRecord(a.Record.String())
		if diff := cmp.Diff(a.Record, read); !is || err != nil || diff != "" {
			t.Errorf("%s: %v, %s", a.Key, err, diff)
		}
	}
}

func TestTheTimesOfAStatusGoOnUntilAnotherRevisionComes(t *testing.T) {
	f := Fleet{Proxy: "corp", Policy: canaryThenRest(), Revisions: revisions("completed", "new"), Rows: []Row{clusterAt("canary", 2, failed)}, Now: noon}
	f.Last = ptrTo(Decide(f).Status)
	f.Now = noon.Add(time.Hour)
	later := Decide(f).Status
	if !later.HaltedSince.Time.Equal(noon) || !later.Started.Time.Equal(noon) || later.Completed != nil {
		t.Errorf("halted: %+v", later)
	}
	f.Last, f.Rows = &later, []Row{clusterAt("canary", 2)}
	done := Decide(f).Status
	if done.HaltedSince != nil || !done.Started.Time.Equal(noon) || !done.Completed.Time.Equal(f.Now) {
		t.Errorf("done: %+v", done)
	}
	f.Last, f.Now, f.Revisions = &done, noon.Add(2*time.Hour), revisions("completed", "completed", "new")
	if next := Decide(f).Status; !next.Started.Time.Equal(f.Now) || next.Completed != nil {
		t.Errorf("the next revision: %+v", next)
	}
}

// What spec.rollout says is impossible, so there is no policy: nobody gets the target, and clusters still go back.
func TestWithoutAPolicyNobodyGetsTheTarget(t *testing.T) {
	for name, spec := range map[string]v1alpha1.Rollout{
		"maxParallel 0": {Waves: []v1alpha1.Wave{{Name: "w", MaxParallel: number(0)}}},
		"an operator": {Waves: []v1alpha1.Wave{{Name: "w", ClusterSelector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "x", Operator: "Inn", Values: []string{"y"}}},
		}}}},
	} {
		policy, err := ParsePolicy(spec)
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		policy.Paused = true
		d := Decide(Fleet{Proxy: "corp", Policy: policy, Revisions: revisions("completed", "new"), Rows: []Row{clusterAt("a", 1)}, Now: noon, Started: noon})
		if len(d.Assigned) != 0 || d.Passed || d.Complete || d.Status.Halted || d.ForNew.Number != 1 {
			t.Errorf("%s: %+v", name, d)
		}
		d = Decide(Fleet{Proxy: "corp", Policy: policy, Revisions: revisions("completed", "rejected"), Rows: []Row{clusterAt("a", 2)}, Now: noon, Started: noon})
		if len(d.Assigned) != 1 || d.Assigned[0].Record.Number != 1 {
			t.Errorf("%s: it does not go back: %+v", name, d)
		}
	}
}

// A canary that went back a minute ago would soak for half an hour, and nobody waits for that.
func TestNoWaveSoaksOnceAnUndoHasCompleted(t *testing.T) {
	f := Fleet{Proxy: "corp", Policy: canaryThenRest(), Revisions: revisions("completed", "rejected"), Now: noon, Started: noon.Add(-time.Hour)}
	f.Rows = []Row{clusterAt("canary", 1, before(2), recordedAgo(time.Minute)), clusterAt("a", 1)}
	d := Decide(f)
	if !d.Complete || d.Look != 0 || len(d.Status.Waves) != 2 || d.Status.Waves[0].State != v1alpha1.WavePassed {
		t.Errorf("complete %t, look in %s, %+v", d.Complete, d.Look, d.Status.Waves)
	}
}

func TestOneIsNotMany(t *testing.T) {
	var said []string
	for _, s := range Steps(nil, &v1alpha1.RolloutStatus{Revision: 1, Of: 1, Updated: 1, Completed: &metav1.Time{}}) {
		said = append(said, s.Message)
	}
	if want := []string{"revision 1 for 1 cluster", "revision 1: 1 of 1 cluster"}; !cmp.Equal(said, want) {
		t.Errorf("it says %q, want %q", said, want)
	}
}
