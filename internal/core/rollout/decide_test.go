package rollout

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// noon is when these tests decide, unless they say otherwise.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func ago(d time.Duration) metav1.Time { return metav1.NewTime(noon.Add(-d)) }

// canaryThenRest has a wave of one label that soaks, and one of the rest, two at a time.
func canaryThenRest(changes ...func(*v1alpha1.Rollout)) Policy {
	spec := v1alpha1.Rollout{Waves: []v1alpha1.Wave{
		{Name: "canary", ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": "canary"}}, Soak: &metav1.Duration{Duration: 30 * time.Minute}},
		{Name: "rest", MaxParallel: number(2)},
	}}
	for _, change := range changes {
		change(&spec)
	}
	policy, err := ParsePolicy(spec)
	if err != nil {
		panic(err)
	}
	return policy
}

func paused(spec *v1alpha1.Rollout) { spec.Paused = true }
func noRest(spec *v1alpha1.Rollout) { spec.Waves = spec.Waves[:1] }

// revisions are numbered from 1. A word for each: old and new have nothing special.
func revisions(words ...string) []Revision {
	var all []Revision
	for i, word := range words {
		all = append(all, Revision{
			Number: int64(i + 1), Digest: digestOf(int64(i + 1)),
			Rejected: strings.Contains(word, "rejected"), Completed: strings.Contains(word, "completed"), Passed: strings.Contains(word, "passed"),
		})
	}
	return all
}

func digestOf(n int64) string { return strings.Repeat("d", int(n)) }

// has is a cluster that is done with a revision for two hours.
func clusterAt(name string, number int64, changes ...func(*Row)) Row {
	row := Row{Key: types.NamespacedName{Namespace: "org", Name: name}, Status: Status{State: Done, Since: noon.Add(-2 * time.Hour)}}
	if number > 0 {
		row.Record = &revision.Record{ReportedRevision: v1alpha1.ReportedRevision{Proxy: "corp", Number: number, Digest: digestOf(number)}, Since: ago(2 * time.Hour)}
	}
	if strings.HasPrefix(name, "canary") {
		row.Labels = map[string]string{"stage": "canary"}
	}
	for _, change := range changes {
		change(&row)
	}
	return row
}

// since says how long ago a record was made, and done.
func recordedAgo(d time.Duration) func(*Row) {
	return func(r *Row) { r.Record.Since, r.Status.Since = ago(d), noon.Add(-d) }
}

func flying(r *Row) { r.Status = Status{Message: "on the way"} }
func failed(r *Row) {
	r.Status = Status{State: Failed, Message: "Denied: no", Since: r.Status.Since, Failing: true}
}
func failing(r *Row)     { r.Status.Failing = true }
func tolerated(r *Row)   { r.Record.Tolerated = true }
func ownersFault(r *Row) { r.Status.OwnersFault = true }
func ownChanged(r *Row)  { r.Override = "another" }
func isNew(r *Row)       { r.New, r.Record, r.Status = true, nil, Status{} }
func moved(r *Row)       { r.Record.Digest = "of another key" }
func otherProxy(r *Row)  { r.Record.Proxy = "other" }

func idleBy(why string) func(*Row) { return func(r *Row) { r.Idle = why } }

func before(number int64) func(*Row) {
	return func(r *Row) { r.Record.Before = &revision.Before{Number: number, Digest: digestOf(number)} }
}

func settled(d time.Duration) func(*Row) {
	return func(r *Row) { at := ago(d); r.Record.Settled = &at }
}

// decision has the expectations of a table's row.
type decision struct {
	assigned string // "name number", separated by commas; a ! is after one that is tolerated
	reason   string // of Stalled, or of Progress; empty: complete
	message  string // is part of the message of the status, or of a problem
	look     time.Duration
}

func decided(d Decision) (assigned, reason, messages string) {
	var all []string
	for _, a := range d.Assigned {
		text := a.Key.Name + " " + strings.Repeat("I", int(a.Record.Number))
		if a.Record.Tolerated {
			text += "!"
		}
		all = append(all, text)
	}
	messages = d.Status.Message
	for _, p := range d.Problems {
		messages += "\n" + p.Reason + ": " + p.Message
	}
	switch {
	case d.Stalled != nil:
		reason = d.Stalled.Reason
	case d.Progress != nil:
		reason = d.Progress.Reason
	case !d.Complete:
		reason = "none, and not complete"
	}
	return strings.Join(all, ", "), reason, messages
}

type decideTest struct {
	policy    Policy
	revisions []Revision
	rows      []Row
	want      decision
	last      *v1alpha1.RolloutStatus
}

func checkDecisions(t *testing.T, tests map[string]decideTest) {
	t.Helper()
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			f := Fleet{Proxy: "corp", Policy: test.policy, Revisions: test.revisions, Rows: test.rows, Now: noon, Started: noon.Add(-time.Hour), Last: test.last}
			d := Decide(f)
			assigned, reason, messages := decided(d)
			if assigned != test.want.assigned || reason != test.want.reason || !strings.Contains(messages, test.want.message) || d.Look != test.want.look {
				t.Errorf("assigned %q, want %q\nreason %q, want %q\nlook %s, want %s\nmessage %q, want %q",
					assigned, test.want.assigned, reason, test.want.reason, d.Look, test.want.look, messages, test.want.message)
			}
			checkStable(t, f, d)
		})
	}
}

// checkStable decides again a second later, when all records are written and nothing else has happened: nobody writes a status
// because time passes.
func checkStable(t *testing.T, f Fleet, d Decision) {
	t.Helper()
	if len(d.Assigned) > 0 {
		return
	}
	f.Last = &d.Status
	first := Decide(f)
	f.Last, f.Now = &first.Status, f.Now.Add(time.Second)
	later := Decide(f)
	later.Look = first.Look
	if diff := cmp.Diff(first, later); diff != "" {
		t.Errorf("a second later: %s", diff)
	}
}

func TestChangesGoThroughTheWaves(t *testing.T) {
	two, policy := revisions("completed", "new"), canaryThenRest()
	const deadline = 10 * time.Minute
	checkDecisions(t, map[string]decideTest{
		"the canary is first":                    {policy, two, []Row{clusterAt("canary", 1), clusterAt("a", 1)}, decision{"canary II", "RollingOut", "wave canary gets revision 2", deadline}, nil},
		"nobody else while it is on the way":     {policy, two, []Row{clusterAt("canary", 2, flying, recordedAgo(time.Minute)), clusterAt("a", 1)}, decision{"", "RollingOut", "wave canary", 9 * time.Minute}, nil},
		"nobody else while it soaks":             {policy, two, []Row{clusterAt("canary", 2, recordedAgo(10*time.Minute)), clusterAt("a", 1)}, decision{"", "Soaking", "wave canary has revision 2 and soaks until 2026-03-01T12:20:00Z", 20 * time.Minute}, nil},
		"then as many as have a place":           {policy, two, []Row{clusterAt("canary", 2, recordedAgo(30*time.Minute)), clusterAt("a", 1), clusterAt("b", 1), clusterAt("c", 1)}, decision{"a II, b II", "RollingOut", "wave rest", deadline}, nil},
		"one who is on the way has a place":      {policy, two, []Row{clusterAt("canary", 2), clusterAt("a", 2, flying, recordedAgo(time.Minute)), clusterAt("b", 1), clusterAt("c", 1)}, decision{"b II", "RollingOut", "", 9 * time.Minute}, nil},
		"who has used up the time has none":      {canaryThenRest(twoFail), two, []Row{clusterAt("canary", 2), clusterAt("a", 2, flying, recordedAgo(time.Hour)), clusterAt("b", 1), clusterAt("c", 1)}, decision{"b II, c II", "RollingOut", "org/a (no progress for 10m0s: on the way)", deadline}, nil},
		"all have it":                            {policy, two, []Row{clusterAt("canary", 2), clusterAt("a", 2)}, decision{"", "", "all clusters have revision 2", 0}, nil},
		"a new cluster counts nowhere":           {policy, two, []Row{clusterAt("canary", 2), clusterAt("a", 2), clusterAt("b", 0, isNew)}, decision{"", "", "all clusters", 0}, nil},
		"without waves all get it":               {mustParse(v1alpha1.Rollout{}), two, []Row{clusterAt("a", 1), clusterAt("b", 1), clusterAt("c", 1)}, decision{"a II, b II, c II", "RollingOut", "clusters get revision 2", deadline}, nil},
		"the first one is adopted by all":        {policy, revisions("new"), []Row{clusterAt("canary", 0), clusterAt("a", 0), clusterAt("b", 0), clusterAt("c", 0)}, decision{"canary I!, a I!, b I!, c I!", "RollingOut", "", deadline}, nil},
		"the second one is not adopted":          {policy, two, []Row{clusterAt("canary", 0), clusterAt("a", 0)}, decision{"canary II", "RollingOut", "", deadline}, nil},
		"no revision yet":                        {policy, nil, []Row{clusterAt("canary", 0)}, decision{"", "none, and not complete", "", 0}, nil},
		"no cluster at all":                      {policy, two, nil, decision{"", "", "WaveEmpty: wave canary selects no cluster that has Secrets; the next change stops there", 0}, nil},
		"a moved cluster waits for its wave":     {policy, two, []Row{clusterAt("canary", 1), clusterAt("a", 1, moved)}, decision{"canary II", "RollingOut", "", deadline}, nil},
		"moved ones take places":                 {policy, two, []Row{clusterAt("canary", 2), clusterAt("a", 7, moved, flying, recordedAgo(time.Minute)), clusterAt("b", 7, moved, flying, recordedAgo(time.Minute)), clusterAt("c", 7, moved, flying, recordedAgo(time.Minute))}, decision{"a II, b II", "RollingOut", "", deadline}, nil},
		"one of another proxy is as a moved":     {policy, two, []Row{clusterAt("canary", 2), clusterAt("a", 1, otherProxy)}, decision{"a II", "RollingOut", "", deadline}, nil},
		"a newer one takes the place":            {policy, revisions("completed", "old", "new"), []Row{clusterAt("canary", 2, flying, recordedAgo(time.Minute)), clusterAt("a", 1)}, decision{"canary III", "RollingOut", "Superseded: clusters that have or had a revision which was replaced before all had it: org/canary (2)", deadline}, nil},
		"a newer one while the one before soaks": {policy, revisions("completed", "old", "new"), []Row{clusterAt("canary", 2, recordedAgo(time.Minute)), clusterAt("a", 1)}, decision{"canary III", "RollingOut", "org/canary (2)", deadline}, nil},
		"who saw the one between is named":       {policy, revisions("completed", "old", "new"), []Row{clusterAt("canary", 3, before(2), flying, recordedAgo(time.Minute)), clusterAt("a", 1)}, decision{"", "RollingOut", "org/canary (2)", 9 * time.Minute}, nil},
	})
}

func TestPausedAndHaltedMeansThatNobodyGetsTheTarget(t *testing.T) {
	two, policy := revisions("completed", "new"), canaryThenRest()
	completed := metav1.NewTime(noon.Add(-time.Hour))
	checkDecisions(t, map[string]decideTest{
		"paused":                                 {canaryThenRest(paused), two, []Row{clusterAt("canary", 1)}, decision{"", "Paused", "the rollout is paused", 0}, nil},
		"paused, and nothing to do":              {canaryThenRest(paused), two, []Row{clusterAt("canary", 2)}, decision{"", "", "all clusters", 0}, nil},
		"paused with a change of its own":        {canaryThenRest(paused), two, []Row{clusterAt("canary", 2, ownChanged)}, decision{"", "Paused", "", 0}, nil},
		"its own change, before it is written":   {canaryThenRest(paused), two, []Row{clusterAt("canary", 2, flying, recordedAgo(time.Minute), ownChanged), clusterAt("a", 1)}, decision{"canary II", "Paused", "", 9 * time.Minute}, nil},
		"its owner cannot put the deadline off":  {policy, two, []Row{clusterAt("canary", 2, flying, recordedAgo(time.Minute), ownChanged), clusterAt("a", 1)}, decision{"canary II", "RollingOut", "", 9 * time.Minute}, nil},
		"what only its owner can have broken":    {policy, two, []Row{clusterAt("canary", 2, failed, ownersFault), clusterAt("a", 1)}, decision{"a II", "RollingOut", "org/canary (Denied: no)", 10 * time.Minute}, nil},
		"a canary failed":                        {policy, two, []Row{clusterAt("canary", 2, failed), clusterAt("a", 1)}, decision{"", "Halted", "revision 2 failed in org/canary (Denied: no)", 0}, nil},
		"a canary was late":                      {policy, two, []Row{clusterAt("canary", 2, flying), clusterAt("a", 1)}, decision{"", "Halted", "revision 2 failed in org/canary (no progress for 10m0s: on the way)", 0}, nil},
		"a change of its own while halted":       {policy, two, []Row{clusterAt("canary", 2, failed), clusterAt("canary-2", 2, ownChanged), clusterAt("a", 1)}, decision{"", "Halted", "", 0}, nil},
		"halted, and the canary recovers":        {policy, two, []Row{clusterAt("canary", 2, recordedAgo(10*time.Minute)), clusterAt("a", 1)}, decision{"", "Soaking", "", 20 * time.Minute}, haltedStatus()},
		"one failure of two that halt":           {canaryThenRest(twoFail), two, []Row{clusterAt("canary", 2, failed), clusterAt("a", 1)}, decision{"a II", "RollingOut", "ClustersSkipped: clusters that failed with the revision: org/canary (Denied: no)", 10 * time.Minute}, nil},
		"one that failed before is tolerated":    {policy, two, []Row{clusterAt("canary", 2, failed, tolerated), clusterAt("a", 1)}, decision{"a II", "RollingOut", "for another reason than the revision: org/canary (Denied: no)", 10 * time.Minute}, nil},
		"one fails that has an older one":        {policy, two, []Row{clusterAt("canary", 2), clusterAt("a", 1, failed)}, decision{"a II!", "RollingOut", "", 10 * time.Minute}, nil},
		"a failed one loses its wave":            {canaryThenRest(noRest), two, []Row{clusterAt("canary", 1), clusterAt("lost", 2, failed)}, decision{"", "Halted", "org/lost", 0}, nil},
		"a failed one is paused":                 {policy, two, []Row{clusterAt("canary", 2, failed, idleBy("paused")), clusterAt("canary-2", 1)}, decision{"", "Halted", "org/canary", 0}, nil},
		"it fails after all had it":              {policy, revisions("completed", "completed"), []Row{clusterAt("canary", 2, failed), clusterAt("a", 2)}, decision{"", "", "for another reason than the revision: org/canary", 0}, &v1alpha1.RolloutStatus{Revision: 2, Completed: &completed}},
		"one that came later fails":              {policy, revisions("completed", "completed"), []Row{clusterAt("canary", 2), clusterAt("a", 2, failed, recordedAgo(time.Minute))}, decision{"", "Halted", "org/a", 0}, &v1alpha1.RolloutStatus{Revision: 2, Completed: &completed}},
		"it failed while the next one was tried": {policy, revisions("completed", "rejected"), []Row{clusterAt("canary", 1, before(2), flying, recordedAgo(time.Minute)), clusterAt("a", 1, failed)}, decision{"", "RollingOut", "for another reason than the revision: org/a", 9 * time.Minute}, &v1alpha1.RolloutStatus{Revision: 1, Started: ptrTo(ago(time.Minute))}},
		"two that lack a place while one failed": {policy, two, []Row{clusterAt("canary", 2), clusterAt("a", 2, failed), clusterAt("b", 2, flying, recordedAgo(time.Minute)), clusterAt("c", 1)}, decision{"", "Halted", "org/a", 9 * time.Minute}, nil},
	})
}

func twoFail(spec *v1alpha1.Rollout) { spec.HaltOn.FailedClusters = 2 }

func ptrTo[T any](v T) *T { return &v }

func haltedStatus() *v1alpha1.RolloutStatus {
	return &v1alpha1.RolloutStatus{Revision: 2, Halted: true, HaltedSince: ptrTo(ago(time.Hour)), Started: ptrTo(ago(time.Hour))}
}

func mustParse(spec v1alpha1.Rollout) Policy {
	policy, err := ParsePolicy(spec)
	if err != nil {
		panic(err)
	}
	return policy
}
