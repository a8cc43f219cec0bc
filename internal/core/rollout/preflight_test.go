package rollout

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// answered returns an answer about revision 2 of a minute ago, to be tried again after so long.
func answered(state probe.State, reason probe.Reason, again time.Duration) *probe.Answer {
	next := noon.Add(again)
	return &probe.Answer{Revision: 2, Digest: digestOf(2), State: state, Reason: reason, Message: "https://a.example: because", Time: noon.Add(-time.Minute), Next: &next}
}

func TestTheFirstClusterWaitsForThePreflight(t *testing.T) {
	two := revisions("completed", "new")
	asked := func(ago time.Duration) *Preflight { return &Preflight{Asked: digestOf(2), Since: noon.Add(-ago)} }
	with := func(a *probe.Answer) *Preflight {
		return &Preflight{Answer: a, Asked: digestOf(2), Since: noon.Add(-time.Hour)}
	}
	other := answered(probe.Held, "", 0)
	other.Digest = digestOf(3)
	said := &metav1.Condition{Type: v1alpha1.ConditionProxyReachable, Status: metav1.ConditionTrue, Reason: v1alpha1.ReasonReached, Message: "revision 2 was tried"}
	off := &metav1.Condition{Type: v1alpha1.ConditionProxyReachable, Status: metav1.ConditionUnknown, Reason: v1alpha1.ReasonNotTried, Message: "revision 2 is not tried: preflight.enabled is false"}
	fresh := []Row{clusterAt("canary", 1), clusterAt("a", 1)}
	for name, test := range map[string]struct {
		preflight *Preflight
		policy    Policy
		revisions []Revision
		rows      []Row
		last      int64 // revision of the last status
		assigned  string
		reason    string // of Stalled or Progress
		condition string // status, reason and part of the message
		try       bool
		look      time.Duration
	}{
		"nobody asks":                     {nil, canaryThenRest(), two, fresh, 2, "canary II", "RollingOut", "", false, 10 * time.Minute},
		"it is off":                       {&Preflight{Off: "beforeChange is Never"}, canaryThenRest(), two, fresh, 2, "canary II", "RollingOut", "Unknown NotTried beforeChange is Never", false, 10 * time.Minute},
		"it is asked for":                 {&Preflight{}, canaryThenRest(), two, fresh, 1, "", "Preflight", "Unknown Trying revision 2 is tried", true, 2 * time.Minute},
		"another revision was asked for":  {&Preflight{Asked: digestOf(1), Since: noon.Add(-time.Hour)}, canaryThenRest(), two, fresh, 1, "", "Preflight", "Unknown Trying ", true, 2 * time.Minute},
		"no answer yet":                   {asked(time.Minute), canaryThenRest(), two, fresh, 2, "", "Preflight", "Unknown Trying ", true, time.Minute},
		"no answer":                       {asked(2 * time.Minute), canaryThenRest(), two, fresh, 2, "", "PreflightNoAnswer", "Unknown NoAnswer does not answer", true, 0},
		"no room":                         {&Preflight{Asked: digestOf(2), Since: noon.Add(-2 * time.Minute), Full: true}, canaryThenRest(), two, fresh, 2, "", "PreflightNoRoom", "Unknown NoRoom the Secret fairlead-preflight has no room", true, 0},
		"an answer about another":         {&Preflight{Answer: other, Asked: digestOf(2), Since: noon}, canaryThenRest(), two, fresh, 2, "", "Preflight", "Unknown Trying ", true, 2 * time.Minute},
		"reached":                         {with(answered(probe.Held, "", 0)), canaryThenRest(), two, fresh, 2, "canary II", "RollingOut", "True Reached https://a.example", true, 10 * time.Minute},
		"reached an hour ago":             {with(answered(probe.Held, "", -time.Hour)), canaryThenRest(), two, fresh, 2, "canary II", "RollingOut", "True Reached ", true, 10 * time.Minute},
		"refused":                         {with(answered(probe.Failed, probe.CredentialsRefused, 9*time.Minute)), canaryThenRest(), two, fresh, 2, "", "PreflightFailed", "False CredentialsRefused https://a.example: because", true, 11 * time.Minute},
		"refused, and silent since":       {with(answered(probe.Failed, probe.CredentialsRefused, -2*time.Minute)), canaryThenRest(), two, fresh, 2, "", "PreflightNoAnswer", "Unknown NoAnswer ", true, 0},
		"the place does not reach it":     {with(answered(probe.Unknown, probe.ProxyTimeout, 0)), canaryThenRest(), two, fresh, 2, "canary II", "RollingOut", "Unknown NotReachableFromHere (ProxyTimeout)", true, 10 * time.Minute},
		"paused":                          {with(answered(probe.Failed, probe.ProxyTimeout, 0)), canaryThenRest(paused), two, fresh, 2, "", "Paused", "False ProxyTimeout ", true, 2 * time.Minute},
		"a cluster has it":                {&Preflight{Last: said}, canaryThenRest(), two, []Row{clusterAt("canary", 2), clusterAt("a", 1)}, 2, "a II", "RollingOut", "True Reached revision 2 was tried", false, 10 * time.Minute},
		"it failed before":                {&Preflight{Last: &metav1.Condition{Status: metav1.ConditionFalse, Reason: "CredentialsRefused", Message: "revision 2 failed"}}, canaryThenRest(), two, []Row{clusterAt("canary", 2), clusterAt("a", 1)}, 2, "a II", "RollingOut", "Unknown NotTried clusters have it already", false, 10 * time.Minute},
		"and it was off then":             {&Preflight{Last: off}, canaryThenRest(), two, []Row{clusterAt("canary", 2), clusterAt("a", 1)}, 2, "a II", "RollingOut", "Unknown NotTried clusters have it already", false, 10 * time.Minute},
		"a cluster has it, and is paused": {with(answered(probe.Failed, probe.ProxyTimeout, 0)), canaryThenRest(), two, []Row{clusterAt("canary", 2, idleBy("paused")), clusterAt("canary-2", 1)}, 2, "canary-2 II", "RollingOut", "Unknown NotTried clusters have it already", false, 10 * time.Minute},
		"back to what all others have":    {&Preflight{Last: said}, canaryThenRest(), revisions("completed", "rejected"), []Row{clusterAt("canary", 2, before(1)), clusterAt("a", 1)}, 2, "canary I", "Undoing", "Unknown NotTried revision 1 is not", false, 10 * time.Minute},
		"back, and the next is refused":   {with(answered(probe.Failed, probe.CredentialsRefused, 0)), canaryThenRest(), []Revision{two[0], {Number: 2, Digest: digestOf(2)}}, []Row{clusterAt("canary", 3, moved), clusterAt("a", 1)}, 2, "", "PreflightFailed", "False CredentialsRefused ", true, 2 * time.Minute},
		"all have the first one already":  {&Preflight{}, canaryThenRest(), revisions("new"), []Row{clusterAt("canary", 0), clusterAt("a", 0)}, 0, "canary I!, a I!", "RollingOut", "Unknown NotTried clusters have it already", false, 10 * time.Minute},
		"no cluster":                      {with(answered(probe.Failed, probe.CredentialsRefused, 0)), canaryThenRest(), two, nil, 2, "", "PreflightFailed", "False CredentialsRefused ", true, 2 * time.Minute},
		"all are rejected":                {&Preflight{}, canaryThenRest(), revisions("rejected", "rejected"), fresh, 2, "", "AllRejected", "", false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			f := Fleet{
				Proxy: "corp", Policy: test.policy, Revisions: test.revisions, Rows: test.rows, Now: noon, Started: noon.Add(-2 * time.Hour),
				Last: &v1alpha1.RolloutStatus{Revision: test.last}, Preflight: test.preflight,
			}
			d := Decide(f)
			assigned, reason, _ := decided(d)
			condition := ""
			if c := d.Reachable; c != nil {
				condition = string(c.Status) + " " + c.Reason + " "
			}
			words := strings.SplitN(test.condition, " ", 3)
			if assigned != test.assigned || reason != test.reason || d.Try != test.try || d.Look != test.look || condition != strings.Join(words[:min(2, len(words))], " ")+strings.Repeat(" ", len(words)/2) {
				t.Errorf("assigned %q, reason %q, condition %q, try %v, look %s", assigned, reason, condition, d.Try, d.Look)
			}
			if d.Reachable != nil && !strings.HasPrefix(d.Reachable.Message, "revision ") { // its time may be that of an earlier one
				t.Errorf("it does not say of what: %q", d.Reachable.Message)
			}
			if len(words) == 3 && !strings.Contains(d.Reachable.Message, words[2]) {
				t.Errorf("%q", d.Reachable.Message)
			}
			if reason == v1alpha1.ReasonPreflightFailed && (d.Passed || d.Complete || !strings.Contains(d.Status.Message, "correct the user") || len(test.revisions) > 1 && d.ForNew.Number != 1) {
				t.Errorf("%+v", d)
			}
			if d.Try && f.Preflight.Asked != d.Target.Digest {
				asked := *f.Preflight
				asked.Asked, asked.Since = d.Target.Digest, f.Now // as the caller notes it
				f.Preflight = &asked
			}
			checkStable(t, f, d)
		})
	}
}

func TestTheControlIsWhatClustersHave(t *testing.T) {
	for want, all := range map[int64][]Revision{0: revisions("", ""), 1: revisions("completed", "rejected passed", ""), 2: revisions("completed", "passed", "", "")} {
		d := Decide(Fleet{Proxy: "corp", Policy: canaryThenRest(), Revisions: all, Rows: []Row{clusterAt("a", 0)}, Now: noon, Preflight: &Preflight{}})
		if !d.Try || want == 0 && d.Control != nil || want > 0 && (d.Control == nil || d.Control.Number != want) {
			t.Errorf("%+v of %+v", d.Control, all)
		}
	}
}
