package rollout

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// observed says that a cluster is observed every ten minutes, for so long, until so long ago.
func observed(during, until time.Duration, seen ...v1alpha1.ObservedCredentials) *v1alpha1.Observed {
	return &v1alpha1.Observed{
		Time: ago(until), Since: ptrTo(ago(until + during)), Period: &metav1.Duration{Duration: 10 * time.Minute}, Credentials: seen,
	}
}

func well(seen ...v1alpha1.ObservedCredentials) *v1alpha1.Observed {
	return observed(time.Hour, time.Minute, append(seen, v1alpha1.ObservedCredentials{Fingerprint: "of nobody"})...)
}

// wantedCredentials has "counts of what the status lists", the condition's status, and a part of
// its message.
type wantedCredentials struct {
	list, status, message string
}

func TestWhereCredentialsAreInUse(t *testing.T) {
	one := []Account{{1, "old", ""}}
	two := []Account{{1, "old", ""}, {2, "new", ""}}
	next := []Account{{1, "old", ""}, {2, "new", "old"}, {3, "new", ""}}
	in := func(revisions ...int64) Holder { return Holder{Proxied: true, Revisions: revisions, Observed: well()} }
	with := func(h Holder, change func(*Holder)) Holder { change(&h); return h }
	for name, test := range map[string]struct {
		target   int64
		accounts []Account
		holders  []Holder
		last     []v1alpha1.CredentialsStatus
		unseen   bool
		want     wantedCredentials
	}{
		"nothing old":             {1, one, []Holder{in(1)}, nil, false, wantedCredentials{"old@1:1", "", ""}},
		"no credentials":          {1, []Account{{1, "", ""}}, []Holder{in(1)}, nil, false, wantedCredentials{"", "", ""}},
		"no revision":             {0, nil, []Holder{in()}, nil, false, wantedCredentials{"", "", ""}},
		"the same again":          {2, []Account{{1, "old", ""}, {2, "old", ""}}, []Holder{in(1), in(2)}, nil, false, wantedCredentials{"old@2:2", "", ""}},
		"old in Secrets":          {2, two, []Holder{in(1), in(2), in(1)}, nil, false, wantedCredentials{"new@2:1 old@1:2", "False", "older credentials are in use: Secrets of 2 clusters"}},
		"while one is changed":    {2, two, []Holder{in(2, 1)}, nil, false, wantedCredentials{"new@2:1 old@1:1", "False", "Secrets of 1 cluster"}},
		"as previous ones":        {2, next[:2], []Holder{in(2)}, nil, false, wantedCredentials{"new@2:1 old@2:1", "False", "Secrets of 1 cluster"}},
		"two old in one Secret":   {4, append(next[:2:2], Account{4, "newest", ""}), []Holder{in(2)}, nil, false, wantedCredentials{"newest@4:0 new@2:1 old@2:1", "False", "Secrets of 1 cluster;"}},
		"no previous any more":    {3, next, []Holder{in(3)}, nil, false, wantedCredentials{"new@3:1 old@2:0", "True", "no cluster, machine, namespace, relay or pod"}},
		"machines":                {3, next, []Holder{with(in(3), func(h *Holder) { h.Outdated = 4 })}, nil, false, wantedCredentials{"new@3:1 old@2:0m4", "False", "up to 4 machines"}},
		"machines of Relay":       {3, next, []Holder{with(in(3), func(h *Holder) { h.Outdated, h.Relay = 4, true })}, nil, false, wantedCredentials{"new@3:1 old@2:0", "Unknown", "not seen: outdated machines of 1 cluster (org/c0) with Relay"}},
		"MachinePools":            {3, next, []Holder{with(in(3), func(h *Holder) { h.MachinePools = 2 })}, nil, false, wantedCredentials{"new@3:1 old@2:0", "Unknown", "instances of outdated MachinePools in 1 cluster"}},
		"without a proxy now":     {3, next, []Holder{{Revisions: []int64{1}, Observed: well()}}, nil, false, wantedCredentials{"new@3:0 old@2:0", "True", ""}},
		"and not observed":        {3, next, []Holder{{Revisions: []int64{1}}}, nil, false, wantedCredentials{"new@3:0 old@2:0", "Unknown", "pods, relays and copies in namespaces of 1 cluster"}},
		"the Secrets are new":     {3, next, []Holder{with(in(3), func(h *Holder) { h.Since = noon.Add(-15 * time.Minute) })}, nil, false, wantedCredentials{"new@3:1 old@2:0", "Unknown", "pods, relays and copies in namespaces of 1 cluster"}},
		"two looks at them":       {3, next, []Holder{with(in(3), func(h *Holder) { h.Since = noon.Add(-16 * time.Minute) })}, nil, false, wantedCredentials{"new@3:1 old@2:0", "True", ""}},
		"seen elsewhere":          {3, next, []Holder{in(3), {Elsewhere: true, Observed: well(v1alpha1.ObservedCredentials{Fingerprint: "old", Pods: 2})}}, nil, false, wantedCredentials{"new@3:1 old@2:0", "False", "2 pods"}},
		"others elsewhere":        {3, next, []Holder{in(3), {Elsewhere: true}, {Elsewhere: true, Observed: well(v1alpha1.ObservedCredentials{Fingerprint: "theirs", Pods: 2})}}, nil, false, wantedCredentials{"new@3:1 old@2:0", "True", ""}},
		"but with machines":       {3, next, []Holder{{Revisions: []int64{1}, Outdated: 1, Observed: well()}}, nil, false, wantedCredentials{"new@3:0 old@2:0m1", "False", "up to 1 machine"}},
		"but with MachinePools":   {3, next, []Holder{{MachinePools: 1, Observed: well()}}, nil, false, wantedCredentials{"new@3:0 old@2:0", "Unknown", "MachinePools"}},
		"an unknown revision":     {3, next, []Holder{in()}, nil, false, wantedCredentials{"new@3:0 old@2:0", "Unknown", "the Secrets of 1 cluster (org/c0) whose revision is unknown"}},
		"not observed":            {3, next, []Holder{in(3), with(in(3), func(h *Holder) { h.Observed = nil })}, nil, false, wantedCredentials{"new@3:2 old@2:0", "Unknown", "not seen: pods, relays and copies in namespaces of 1 cluster (org/c1), by status.observed"}},
		"many not observed":       {3, next, []Holder{{Revisions: []int64{1}}, {Revisions: []int64{1}}, {Revisions: []int64{1}}, {Revisions: []int64{1}}}, nil, false, wantedCredentials{"new@3:0 old@2:0", "Unknown", "of 4 clusters (org/c0, org/c1, org/c2, …), by status.observed"}},
		"not observed, and False": {3, next, []Holder{in(1), with(in(3), func(h *Holder) { h.Observed = nil })}, nil, false, wantedCredentials{"new@3:1 old@2:1", "False", "not seen: pods"}},
		"now without credentials": {4, append(next[:3:3], Account{4, "", ""}), []Holder{in(3)}, nil, false, wantedCredentials{"new@3:1 old@2:0", "False", "Secrets of 1 cluster"}},
		"after undo":              {1, two, []Holder{in(1)}, nil, false, wantedCredentials{"old@1:1 new@2:0", "True", ""}},
		"before undo is done":     {1, two, []Holder{in(2)}, nil, false, wantedCredentials{"old@1:0 new@2:1", "False", "Secrets of 1 cluster"}},
		"no longer kept":          {2, two[1:], []Holder{with(in(2), func(h *Holder) { h.Observed = nil })}, []v1alpha1.CredentialsStatus{{Fingerprint: "old", Revision: 1, Clusters: 7}}, false, wantedCredentials{"new@2:1 old@1:0", "Unknown", "pods"}},
		"no longer in question":   {2, two[1:], []Holder{with(in(2), func(h *Holder) { h.Observed = nil })}, []v1alpha1.CredentialsStatus{{Fingerprint: "old", Revision: 1}}, true, wantedCredentials{"new@2:1", "", ""}},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range test.holders {
				test.holders[i].Cluster = fmt.Sprintf("org/c%d", i)
			}
			list, condition := Credentials(test.target, test.accounts, test.holders, test.last, test.unseen, noon)
			checkCredentials(t, list, condition, test.want)
		})
	}
}

func checkCredentials(t *testing.T, list []v1alpha1.CredentialsStatus, condition *metav1.Condition, want wantedCredentials) {
	t.Helper()
	var all []string
	for _, s := range list {
		text := fmt.Sprintf("%s@%d:%d", s.Fingerprint, s.Revision, s.Clusters)
		if s.Machines > 0 {
			text += fmt.Sprintf("m%d", s.Machines)
		}
		all = append(all, text)
	}
	got := wantedCredentials{list: strings.Join(all, " ")}
	if condition != nil {
		got.status, got.message = string(condition.Status), condition.Message
		reason := map[string]string{"True": v1alpha1.ReasonUnseen, "False": v1alpha1.ReasonStillInUse, "Unknown": v1alpha1.ReasonNotObserved}[got.status]
		if condition.Reason != reason || !strings.HasSuffix(got.message, "; nobody sees bootstrap data, Helm's history and programs of others") {
			t.Errorf("%+v", condition)
		}
	}
	if got.list != want.list || got.status != want.status || !strings.Contains(got.message, want.message) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

func TestOldCredentialsAreUnseenAfterTwoPeriodsWithoutThem(t *testing.T) {
	use := func(fingerprint string, used time.Duration, pods int32) v1alpha1.ObservedCredentials {
		return v1alpha1.ObservedCredentials{Fingerprint: fingerprint, Pods: pods, LastUsed: ptrTo(ago(used))}
	}
	noPeriod, zero, blind := well(), well(), well()
	blind.Unseen = []string{"pods"}
	noPeriod.Period, zero.Period = nil, &metav1.Duration{}
	zero.Time = metav1.NewTime(noon)
	for name, test := range map[string]struct {
		observed *v1alpha1.Observed
		status   string
		message  string
	}{
		"something is not seen":         {blind, "Unknown", "not seen: what is named in status.observed.unseen of 1 cluster (org/c), as pods; nobody"},
		"long enough":                   {well(), "True", ""},
		"exactly long enough":           {observed(20*time.Minute, 20*time.Minute, use("new", time.Hour, 9)), "True", ""},
		"nobody counts":                 {observed(time.Hour, time.Minute), "Unknown", "copies, relays and pods of 1 cluster (org/c) have: nobody counts there"},
		"not long enough":               {observed(20*time.Minute-time.Second, 0), "Unknown", "1 cluster (org/c), by status.observed"},
		"not since the last time":       {observed(time.Hour, 20*time.Minute+time.Second), "Unknown", "1 cluster"},
		"since nobody knows when":       {&v1alpha1.Observed{Time: ago(0), Period: &metav1.Duration{Duration: time.Minute}}, "Unknown", "1 cluster"},
		"no period":                     {noPeriod, "Unknown", "1 cluster"},
		"a period of nothing":           {zero, "Unknown", "1 cluster"},
		"only the current ones":         {well(use("new", time.Minute, 9)), "True", ""},
		"pods with old ones":            {well(use("old", time.Minute, 9)), "False", "9 pods"},
		"relays and copies":             {well(v1alpha1.ObservedCredentials{Fingerprint: "old", Relays: 2, Namespaces: 3}), "False", "copies in 3 namespaces, 2 relays"},
		"they were used a moment ago":   {well(use("old", 2*time.Minute, 0)), "False", "seen or used until a moment ago"},
		"not in the last look":          {well(use("old", 15*time.Minute, 0)), "False", "seen or used until a moment ago"},
		"not in the last two":           {well(use("old", 16*time.Minute, 0)), "True", ""},
		"they were used long ago":       {well(use("old", 21*time.Minute, 0)), "True", ""},
		"of nobody knows which":         {well(use("stranger", time.Hour, 1)), "Unknown", "whose are credentials in 1 cluster (org/c) that no revision has which is kept"},
		"of nobody knows which, before": {well(use("stranger", time.Hour, 0)), "True", ""},
	} {
		accounts := []Account{{1, "old", ""}, {2, "new", ""}}
		_, c := Credentials(2, accounts, []Holder{{Cluster: "org/c", Proxied: true, Revisions: []int64{2}, Observed: test.observed}}, nil, false, noon)
		if string(c.Status) != test.status || !strings.Contains(c.Message, test.message) {
			t.Errorf("%s: %s, %s; want %s, %s", name, c.Status, c.Message, test.status, test.message)
		}
	}
}

func TestWhatIsSeenInsideClustersIsAddedUp(t *testing.T) {
	seen := v1alpha1.ObservedCredentials{Fingerprint: "old", Namespaces: 1, Relays: 2, Pods: 3}
	refused := seen
	refused.Refused = true
	holders := []Holder{{Proxied: true, Revisions: []int64{2}, Observed: well(seen)}, {Proxied: true, Revisions: []int64{2}, Observed: well(seen)}}
	holders = append(holders, Holder{Elsewhere: true, Observed: well(v1alpha1.ObservedCredentials{Fingerprint: "old", Refused: true})}) // or anybody hinders an undo
	list, _ := Credentials(2, []Account{{1, "old", ""}, {2, "new", ""}}, holders, nil, false, noon)
	if list[1].Refused {
		t.Errorf("refused in a cluster of another CorporateProxy: %+v", list)
	}
	holders[1].Observed = well(refused)
	list, _ = Credentials(2, []Account{{1, "old", ""}, {2, "new", ""}}, holders, nil, false, noon)
	want := v1alpha1.CredentialsStatus{Fingerprint: "old", Revision: 1, Namespaces: 2, Relays: 4, Pods: 6, Refused: true}
	if list[1] != want {
		t.Errorf("%+v", list)
	}
}

func TestTheStatusKeepsTheCredentialsThatAreInUse(t *testing.T) {
	var accounts []Account
	for i := range int64(30) {
		accounts = append(accounts, Account{i + 1, fmt.Sprint("account-", i+1), ""})
	}
	list, condition := Credentials(30, accounts, []Holder{{Proxied: true, Revisions: []int64{1}, Observed: well()}}, nil, false, noon)
	if len(list) != 20 || list[0].Revision != 30 || list[1].Revision != 1 || list[2].Revision != 29 || condition.Status != metav1.ConditionFalse {
		t.Errorf("%+v, %+v", list, condition)
	}
}
