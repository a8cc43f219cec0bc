package cli

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

func at(second int) *metav1.Time {
	t := metav1.NewTime(time.Date(2026, 11, 22, 10, 0, second, 0, time.UTC))
	return &t
}

// halted returns a CorporateProxy whose rollout is halted and paused twice.
func halted() *v1alpha1.CorporateProxy {
	p := &v1alpha1.CorporateProxy{Spec: v1alpha1.CorporateProxySpec{Rollout: &v1alpha1.Rollout{Paused: true}}}
	p.Name = "corp"
	p.Status.Revisions = []v1alpha1.RevisionStatus{{Number: 8, Digest: "h", Clusters: 2}, {Number: 7, Digest: "g", Clusters: 4}, {Number: 6, Digest: "f", Clusters: 1}}
	p.Status.Rollout = &v1alpha1.RolloutStatus{
		Revision: 8, Wave: "canary", Updated: 1, Of: 7, Progress: "1/7", InProgress: 1, Failed: 1, Paused: true, Halted: true, HaltedSince: at(5), Next: at(9),
		Failures: []string{"org/c1: Refused: not\x1b[2J this"},
		Waves:    []v1alpha1.WaveStatus{{Name: "canary", State: v1alpha1.WaveProgressing, Updated: 1, Of: 2}, {Name: "rest", State: v1alpha1.WavePending, Of: 5}},
	}
	p.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonHalted, Message: "revision 8 failed in org/c1"},
		{Type: v1alpha1.ConditionRolloutProblem, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonSuperseded, Message: "org/c9 (7)"},
	}
	return p
}

func row(name string, number int64) rollout.Row {
	return rollout.Row{
		Key:    types.NamespacedName{Namespace: "org", Name: name},
		Record: &revision.Record{ReportedRevision: v1alpha1.ReportedRevision{Proxy: "corp", Number: number}},
	}
}

func compared(t *testing.T, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("it says\n%s\nwant\n%s", got, want)
	}
}

func TestTheStatusOfARolloutSaysAllThatIsKnown(t *testing.T) {
	r := reportOf(halted(), &revision.Control{Paused: true})
	other := row("c5", 5)
	other.Record.Proxy = "another"
	r.addOthers([]rollout.Row{row("c4", 7), row("c6", 6), other, row("c3", 7), row("c2", 7), row("c1", 8), row("c9", 7)})
	compared(t, string(statusText(terminal.Style{}, r)), `CorporateProxy corp: revision 8, Halted since 2026-11-22T10:00:05Z
1 of 7 clusters updated, 1 in progress, 1 failed

WAVE     STATE     UPDATED   OF
canary   Halted    1         2
rest     Pending   0         5

revision 8 failed in org/c1
Paused by spec.rollout.paused and ConfigMap fairlead-rollout-corp
Failed: org/c1: Refused: not [2J this
Next: repair the clusters, and the rollout continues; or go back: fairlead rollout undo corp
Superseded: org/c9 (7)
Revision 7: 4 clusters (org/c2,org/c3,org/c4,+1)
Revision 6: 1 cluster (org/c6)
`)
	if !r.stuck() || !r.ended() || !r.hasOthers() {
		t.Errorf("%+v", r)
	}
}

func TestTheStatusOfARolloutThatGoesOn(t *testing.T) {
	p := halted()
	p.Spec.Rollout.Paused = false
	p.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReconciling, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonRollingOut}}
	p.Status.Rollout.Halted, p.Status.Rollout.Paused, p.Status.Rollout.Failed, p.Status.Rollout.Failures = false, false, 0, nil
	p.Status.Rollout.Started, p.Status.Rollout.Message = at(0), "wave canary gets revision 8"
	r := reportOf(p, &revision.Control{})
	compared(t, string(statusText(terminal.Style{}, r)), `CorporateProxy corp: revision 8, Progressing since 2026-11-22T10:00:00Z
1 of 7 clusters updated, 1 in progress

WAVE     STATE         UPDATED   OF
canary   Progressing   1         2
rest     Pending       0         5

wave canary gets revision 8
Deadline (progressDeadline): 2026-11-22T10:00:09Z
`)
	for what, change := range map[string]func(*v1alpha1.CorporateProxy){
		"nothing is in progress": func(p *v1alpha1.CorporateProxy) { p.Status.Rollout.InProgress = 0 },
		"a wave soaks":           func(p *v1alpha1.CorporateProxy) { p.Status.Rollout.Waves[0].State = v1alpha1.WaveSoaking },
		"it is tried":            func(p *v1alpha1.CorporateProxy) { p.Status.Conditions[0].Reason = v1alpha1.ReasonPreflight },
	} {
		other := p.DeepCopy()
		change(other)
		if text := string(statusText(terminal.Style{}, reportOf(other, &revision.Control{}))); !strings.Contains(text, "\nNext check: 2026") {
			t.Errorf("%s: %s", what, text)
		}
	}
	compared(t, watchLine(r), "revision 8, Progressing, 1 of 7 clusters updated, 1 in progress; wave canary gets revision 8\n")
	if r.stuck() || r.ended() {
		t.Errorf("%+v", r)
	}
	dead := r
	dead.Operator = "the operator does not run"
	compared(t, watchLine(dead), "revision 8, Progressing, 1 of 7 clusters updated, 1 in progress; wave canary gets revision 8; the operator does not run\n")
	if text := string(statusText(terminal.Style{}, dead)); !strings.Contains(text, "\n\nthe operator does not run\nwave canary gets revision 8\n") {
		t.Error(text)
	}

	p.Status.Rollout, p.Status.Revisions = nil, nil
	waiting := reportOf(p, nil)
	compared(t, string(statusText(terminal.Style{}, waiting)), "CorporateProxy corp: Waiting\n\nno revision is recorded yet\n")
	compared(t, string(statusesText(terminal.Style{}, []rolloutReport{r, waiting})), `NAME   REVISION   PHASE         WAVE     UPDATED   MESSAGE
corp   8          Progressing   canary   1/7       wave canary gets revision 8
corp   -          Waiting       -        -         no revision is recorded yet
`)
}

// Of a cluster that nobody has looked into, nothing is known to be wrong.
func TestWhatHasAHaltedRolloutContinue(t *testing.T) {
	const unseen, refused = "org/c1: no progress for 10m0s: not observed since 2026-11-22T10:00:00Z", "org/c2: Refused: no"
	for want, failures := range map[string][]string{
		"repair the clusters": {refused},
		"see that fairlead-observe runs, and reaches the clusters":                                         {unseen},
		"repair the clusters, and see that fairlead-observe runs and reaches those that were not observed": {refused, unseen},
	} {
		compared(t, repairText(&v1alpha1.RolloutStatus{Failures: failures}), want)
	}
}

func TestWhyThePreflightFailedIsSaidBelow(t *testing.T) {
	p := halted()
	p.Status.Conditions = []metav1.Condition{
		{Type: v1alpha1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonPreflightFailed, Message: "revision 8 failed"},
		{Type: v1alpha1.ConditionProxyReachable, Status: metav1.ConditionFalse, Reason: "CredentialsRefused", Message: "https://a.example: 407"},
	}
	if text := string(statusText(terminal.Style{}, reportOf(p, nil))); !strings.Contains(text, "\nProxyReachable: https://a.example: 407\n") {
		t.Error(text)
	}
}

func TestTheHistorySaysWhoChangedWhat(t *testing.T) {
	stored := []revision.Public{
		{Proxy: "corp", Number: 9, Digest: "9", Since: *at(9), HTTP: "http://b:3128", SourceEntries: []string{"x.example", "a.example"}, Credentials: "f2"},
		{
			Proxy: "corp", Number: 6, Digest: "0123456789abcdef", Since: *at(6), HTTP: "http://a:3128", SourceEntries: []string{"a.example", "b.example"}, Credentials: "f1",
			Changes: []revision.Change{{Object: "CorporateProxy corp", Manager: "kustomize-controller", Time: at(6)}, {Object: "Secret proxy", Manager: "kubectl", Time: at(1)}},
		},
		{
			Proxy: "corp", Number: 8, Digest: "8", Since: *at(8), HTTP: "http://b:3128", SourceEntries: []string{"a.example", "x.example"}, Credentials: "f2",
			Changes: []revision.Change{{Object: "CorporateProxy corp", Manager: "kustomize-controller", Time: at(6)}, {Object: "Secret proxy", Manager: "kubectl", Time: at(8)}},
		},
		{
			Proxy: "corp", Number: 7, Digest: "7", Since: *at(7), HTTP: "http://a:3128", SourceEntries: []string{"a.example", "b.example"}, Credentials: "f1",
			Spec: v1alpha1.CorporateProxySpec{Form: "Exact"},
		},
		{Proxy: "corp", Number: 10, Digest: "10", Since: *at(10), HTTP: "http://b:3128", SourceEntries: []string{"x.example", "a.example"}, Credentials: "f2"},
	}
	status := []v1alpha1.RevisionStatus{{Number: 8, Digest: "8", Clusters: 3}, {Number: 6, Digest: "0123456789abcdef", Passed: true, Clusters: 4}}
	rows := historyOf(stored, status, revision.Control{Rejected: []string{"10"}})
	compared(t, string(historyText(terminal.Style{}, "corp", rows)), `REVISION   SINCE                  DIGEST         STATE        CLUSTERS   CHANGED-BY
10         2026-11-22T10:00:10Z   10             rejected     0          -
9          2026-11-22T10:00:09Z   9              current      0          -
8          2026-11-22T10:00:08Z   8              superseded   3          kustomize-controller (CorporateProxy corp), kubectl (Secret proxy)
7          2026-11-22T10:00:07Z   7              superseded   0          -
6          2026-11-22T10:00:06Z   0123456789ab   passed       4          kustomize-controller (CorporateProxy corp), kubectl (Secret proxy)

Revision 10 against 9:
  nothing but the order or the notes of entries

Revision 9 against 8:
  nothing but the order or the notes of entries

Revision 8 against 7:
  + x.example
  - b.example
  http: http://a:3128 -> http://b:3128
  credentials changed
  spec.form: Exact -> -

Revision 7 against 6:
  spec.form: - -> Exact
`)
	compared(t, string(historyText(terminal.Style{}, "corp", nil)), "No revision of CorporateProxy corp is recorded yet.\n")
}

func TestAnUndoSaysWhatItWillDo(t *testing.T) {
	for want, undo := range map[string]rollout.Undo{
		"2 clusters will go back from revision 8 to revision 7: a,b\n": {
			Reject: rollout.Revision{Number: 8}, Target: rollout.Revision{Number: 7}, Back: []rollout.Return{{To: 7, Clusters: []string{"a", "b"}}},
		},
		"1 cluster will go back from revision 8 to revision 7: a\n4 clusters will go back from revision 8 to revision 6: b,c,d,+1\nAfter that, revision 7 will go through the waves.\n": {
			Reject: rollout.Revision{Number: 8}, Target: rollout.Revision{Number: 7},
			Back: []rollout.Return{{To: 7, Clusters: []string{"a"}}, {To: 6, Clusters: []string{"b", "c", "d", "e"}}},
		},
		"No cluster has revision 8.\n":                                  {Reject: rollout.Revision{Number: 8}, Target: rollout.Revision{Number: 7}},
		"Revision 8 is rejected already.\nNo cluster has revision 8.\n": {Reject: rollout.Revision{Number: 8}, Already: true},
	} {
		compared(t, string(undoText(undo)), want)
	}
}
