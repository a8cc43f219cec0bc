package observation

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

func observed(change ...func(*v1alpha1.Observed)) *v1alpha1.Observed {
	o := Observed(good(), nil, period, now)
	for _, c := range change {
		c(o)
	}
	return o
}

func TestWhatIsSaidOfAnObservation(t *testing.T) {
	uses := func(fingerprint string, namespaces, relays, pods int32) func(*v1alpha1.Observed) {
		return func(o *v1alpha1.Observed) {
			o.Credentials = append(o.Credentials, v1alpha1.ObservedCredentials{Fingerprint: fingerprint, Namespaces: namespaces, Relays: relays, Pods: pods})
		}
	}
	says := func(egress, message string) func(*v1alpha1.Observed) {
		return func(o *v1alpha1.Observed) { o.Egress, o.Message = egress, message }
	}
	old := func(o *v1alpha1.Observed) { o.Time = *at(2*period + 2*time.Second) }
	current := ptr.To("new")
	const verified, reached = "True Verified: every target is reached in the way that is expected", "True Reached: no copy, relay or pod has other credentials than the Secrets"
	for name, tc := range map[string]struct {
		o       *v1alpha1.Observed
		current *string
		egress  string
		pods    string
	}{
		"all is well":       {observed(uses("new", 1, 2, 3), uses("old", 0, 0, 0)), current, verified, reached},
		"not yet stale":     {observed(uses("new", 1, 2, 3), func(o *v1alpha1.Observed) { o.Time = *at(2 * period) }), current, verified, reached},
		"no credentials":    {observed(), ptr.To(""), verified, reached},
		"nobody was seen":   {observed(), current, verified, "Unknown NotObserved: no copy, relay or pod with credentials was seen"},
		"which are current": {observed(uses("new", 1, 0, 0)), nil, verified, "Unknown NotObserved: which credentials the Secrets have is not known"},
		"others": {
			observed(uses("new", 1, 2, 3), uses("old", 1, 0, 2), uses("older", 0, 1, 0)), current, verified,
			"False OtherCredentials: copies in 1 namespaces, 1 relays and 2 pods have other credentials than the Secrets",
		},
		"something is not seen": {
			observed(uses("new", 1, 2, 3), func(o *v1alpha1.Observed) { o.Unseen = []string{"pods"} }), current, verified, "Unknown NotObserved: not seen: pods",
		},
		"no way out": {
			observed(uses("new", 1, 0, 0), says("Failed", "https://a: TLSFailed")), current, "False Failed: https://a: TLSFailed", reached,
		},
		"not reached since": {
			observed(uses("new", 1, 0, 0), says("Unknown", "no answer")), current, "Unknown NotObserved: no answer", reached,
		},
		"not reached for long": {
			observed(uses("new", 1, 0, 0), says("Unknown", "no answer"), old), current,
			"Unknown Stale: the last observation is older than two periods: no answer", "Unknown Stale: the last observation is older than two periods: no answer",
		},
		"nobody looks any more": {
			observed(uses("old", 1, 0, 0), says("Failed", "https://a: TLSFailed"), old), current,
			"Unknown Stale: the last observation is older than two periods", "Unknown Stale: the last observation is older than two periods",
		},
		"never reached": {Unreached("no answer", nil, period), current, "Unknown NotObserved: no answer", "Unknown NotObserved: no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			got := Conditions(tc.o, tc.current, now)
			for i, want := range []string{tc.egress, tc.pods} {
				if text := string(got[i].Status) + " " + got[i].Reason + ": " + got[i].Message; text != want {
					t.Errorf("%s is %q, want %q", got[i].Type, text, want)
				}
			}
		})
	}
	if Conditions(nil, current, now) != nil {
		t.Error("there are conditions of what nobody observed")
	}
}

func TestAnObservationCountsForTwoPeriods(t *testing.T) {
	o := observed()
	left := Fresh(o, now)
	if left <= 2*period-2*time.Minute || left > 2*period {
		t.Errorf("%v are left", left)
	}
	if Conditions(o, nil, now.Add(left-time.Millisecond))[0].Reason == v1alpha1.ReasonStale {
		t.Error("it is stale too early")
	}
	if Conditions(o, nil, now.Add(left))[0].Reason != v1alpha1.ReasonStale {
		t.Error("it is not stale then")
	}
}

func TestTimeIsNoNews(t *testing.T) {
	before := observed(func(o *v1alpha1.Observed) {
		o.Credentials = []v1alpha1.ObservedCredentials{{Fingerprint: "a", Pods: 1, LastUsed: at(time.Hour)}}
		o.Nodes = &v1alpha1.ObservedNodes{Total: 3}
	})
	for name, tc := range map[string]struct {
		change func(*v1alpha1.Observed)
		news   bool
	}{
		"time":                {func(o *v1alpha1.Observed) { o.Time, o.Since, o.Credentials[0].LastUsed = *at(0), at(1), at(0) }, false},
		"egress":              {func(o *v1alpha1.Observed) { o.Egress = "Failed" }, true},
		"message":             {func(o *v1alpha1.Observed) { o.Message = "x" }, true},
		"of another revision": {func(o *v1alpha1.Observed) { o.Revision = "corp/2/0123" }, true},
		"targets":             {func(o *v1alpha1.Observed) { o.FailedTargets++ }, true},
		"nodes":               {func(o *v1alpha1.Observed) { o.Nodes.Failed++ }, true},
		"no node":             {func(o *v1alpha1.Observed) { o.Nodes = nil }, true},
		"unseen":              {func(o *v1alpha1.Observed) { o.Unseen = []string{"pods"} }, true},
		"nodes that come":     {func(o *v1alpha1.Observed) { o.Nodes.Total, o.Nodes.Verified = 4, 4 }, false},
		"the last node goes":  {func(o *v1alpha1.Observed) { o.Nodes.Total = 0 }, true},
		"a pod more":          {func(o *v1alpha1.Observed) { o.Credentials[0].Pods++ }, false},
		"the last pod goes":   {func(o *v1alpha1.Observed) { o.Credentials[0].Pods = 0 }, true},
		"the first relay":     {func(o *v1alpha1.Observed) { o.Credentials[0].Relays++ }, true},
		"the first copy":      {func(o *v1alpha1.Observed) { o.Credentials[0].Namespaces++ }, true},
		"refused":             {func(o *v1alpha1.Observed) { o.Credentials[0].Refused = true }, true},
		"others":              {func(o *v1alpha1.Observed) { o.Credentials = nil }, true},
	} {
		after := before.DeepCopy()
		tc.change(after)
		if News(before, after) != tc.news {
			t.Errorf("%s: %v", name, !tc.news)
		}
	}
	if !News(nil, before) || !News(before, nil) || News(nil, nil) {
		t.Error("nothing is something")
	}
}

func TestAMachineIsVerifiedOnceItsNodeWasTried(t *testing.T) {
	until, older, younger := ago(time.Hour), ago(2*time.Hour), ago(time.Minute)
	bad := probe.Node{Name: "bad", State: probe.Failed}
	mended := probe.Node{Name: "n", State: probe.Held}
	for name, tc := range map[string]struct {
		nodes   *probe.Nodes
		created *time.Time
		want    metav1.ConditionStatus
	}{
		"no relays":                {nil, &older, "Unknown"},
		"tried":                    {&probe.Nodes{Until: &until, Failed: 1, Worst: []probe.Node{bad, mended}}, &older, "True"},
		"the youngest":             {&probe.Nodes{Until: &until}, &until, "True"},
		"not tried yet":            {&probe.Nodes{Until: &until}, &younger, "Unknown"},
		"nobody was tried":         {&probe.Nodes{}, &older, "Unknown"},
		"of unknown age":           {&probe.Nodes{Until: &until}, nil, "Unknown"},
		"more fail than are named": {&probe.Nodes{Until: &until, Failed: 2, Worst: []probe.Node{bad}}, &older, "Unknown"},
		"failed":                   {&probe.Nodes{Until: &until, Failed: 2, Worst: []probe.Node{bad, {Name: "n", State: probe.Failed}}}, &older, "False"},
		"failed and young":         {&probe.Nodes{Failed: 1, Worst: []probe.Node{{Name: "n", State: probe.Failed}}}, &younger, "False"},
	} {
		c, ok := OfNode(tc.nodes, "n", tc.created)
		if c.Status != tc.want || c.Message == "" || c.Reason == "" || ok != (c.Status != metav1.ConditionUnknown || tc.nodes == nil) {
			t.Errorf("%s: %+v", name, c)
		}
	}
}

func TestWhileSeveralCredentialsAreInUseEachLookCounts(t *testing.T) {
	used := func(ago ...time.Duration) *v1alpha1.Observed {
		return observed(func(o *v1alpha1.Observed) {
			for _, d := range ago {
				at := metav1.NewTime(o.Time.Add(-d))
				o.Credentials = append(o.Credentials, v1alpha1.ObservedCredentials{Fingerprint: d.String(), LastUsed: &at})
			}
			o.Credentials = append(o.Credentials, v1alpha1.ObservedCredentials{Fingerprint: "never"})
		})
	}
	for name, row := range map[string]struct {
		o    *v1alpha1.Observed
		want bool
	}{"none": {nil, false}, "one": {used(0), false}, "two": {used(0, 3*period), true}, "one, and one of before": {used(0, 4*period), false}} {
		if Changing(row.o) != row.want {
			t.Errorf("%s: %v", name, !row.want)
		}
	}
}
