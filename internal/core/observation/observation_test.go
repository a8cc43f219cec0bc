package observation

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

var now = time.Date(2026, 11, 24, 12, 0, 0, 500, time.UTC)

const period = 5 * time.Minute

func ago(d time.Duration) time.Time { return now.Add(-d).Truncate(time.Second) }

func at(d time.Duration) *metav1.Time {
	t := metav1.NewTime(ago(d))
	return &t
}

func held(url string) probe.TargetResult {
	return probe.TargetResult{Target: probe.Target{URL: url, Expect: probe.Reachable}, State: probe.Held}
}

func failing(url string, reason probe.Reason) probe.TargetResult {
	return probe.TargetResult{Target: probe.Target{URL: url}, State: probe.Failed, Reason: reason, Message: "dial 10.0.0.1:43210: …"}
}

func good() probe.Result {
	return probe.Result{Version: 1, Time: ago(time.Minute), Since: ago(time.Hour), Period: "1m", Targets: []probe.TargetResult{held("https://a.example")}}
}

func TestAResultSaysWhetherTheClusterGetsOut(t *testing.T) {
	for name, tc := range map[string]struct {
		change          func(*probe.Result)
		egress, message string
	}{
		"all held":                 {func(*probe.Result) {}, "Verified", ""},
		"no target":                {func(r *probe.Result) { r.Targets = nil }, "Unknown", "no target was tried"},
		"all of them direct":       {func(r *probe.Result) { r.Targets[0].Route = probe.Direct }, "Unknown", "no target goes through the proxy: list one in spec.probes.mustReach"},
		"nothing is to be reached": {func(r *probe.Result) { r.Targets[0].Expect = probe.Unreachable }, "Unknown", "no target goes through the proxy: list one in spec.probes.mustReach"},
		"a clock that is ahead": {
			func(r *probe.Result) { r.Time = now.Add(time.Hour) }, "Unknown", "the clock of the probe is ahead: nobody knows how old its result is",
		},
		"one fails": {func(r *probe.Result) {
			r.Targets = append(r.Targets, failing("https://b.example", probe.CredentialsRefused))
		}, "Failed", "https://b.example: CredentialsRefused (407)"},
		"one unknown": {func(r *probe.Result) {
			r.Targets = append(r.Targets, probe.TargetResult{Target: probe.Target{URL: "https://b.example"}, State: probe.Unknown, Reason: probe.NoControl})
		}, "Unknown", "https://b.example: NoControl"},
		"a state of tomorrow": {func(r *probe.Result) { r.Targets[0].State = "Perhaps" }, "Unknown", "https://a.example: no reason is given"},
		"many fail, in any order": {func(r *probe.Result) {
			for _, host := range "edcba" {
				r.Targets = append(r.Targets, failing("https://"+string(host), probe.ProxyTimeout))
			}
		}, "Failed", "https://a: ProxyTimeout; https://b: ProxyTimeout; https://c: ProxyTimeout; 2 more"},
		"nodes fail": {func(r *probe.Result) {
			r.Nodes = &probe.Nodes{Total: 9, Failed: 2, Worst: []probe.Node{{Name: "n2", State: probe.Failed}, {Name: "n1", State: probe.Failed}, {Name: "n3", State: probe.Held}}}
		}, "Failed", "2 nodes of 9 do not get out (n1, n2)"},
		"nodes with settings of before": {func(r *probe.Result) { r.Nodes = &probe.Nodes{Total: 9, Verified: 2, Pending: 7} }, "Unknown", "nodes that were not tried with these settings lately: 7 of 9"},
		"nodes that fail, and others":   {func(r *probe.Result) { r.Nodes = &probe.Nodes{Total: 9, Failed: 1, Pending: 8} }, "Failed", "1 nodes of 9 do not get out"},
		"new nodes":                     {func(r *probe.Result) { r.Nodes = &probe.Nodes{Total: 9, Verified: 8} }, "Verified", ""},
		"a probe that does not run":     {func(r *probe.Result) { r.Time = ago(11 * time.Minute) }, "Unknown", "no new result for two periods: the probe of the cluster does not run"},
		"user information":              {func(r *probe.Result) { r.Targets[0] = failing("https://me:pw@b", probe.TLSFailed) }, "Failed", "(hidden: it has user information): TLSFailed"},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			tc.change(&r)
			if o := Observed(r, nil, period, now); o.Egress != tc.egress || o.Message != tc.message {
				t.Errorf("%s %q, want %s %q", o.Egress, o.Message, tc.egress, tc.message)
			}
		})
	}
}

func TestObservationsBeginAnewAfterAGap(t *testing.T) {
	seen := func(last, since time.Duration) *v1alpha1.Observed {
		return &v1alpha1.Observed{Time: *at(last), Since: at(since)}
	}
	for name, tc := range map[string]struct {
		last *v1alpha1.Observed
		at   time.Duration // of the result
		own  time.Duration // since when there are results
		want time.Duration
	}{
		"the first":                        {nil, 0, time.Hour, 0},
		"never reached before":             {&v1alpha1.Observed{Egress: "Unknown"}, 0, time.Hour, 0},
		"one after another":                {seen(period, time.Hour), 0, 2 * time.Hour, time.Hour},
		"one was missed":                   {seen(2*period, time.Hour), 0, 2 * time.Hour, time.Hour},
		"two were missed":                  {seen(2*period+time.Second, time.Hour), 0, 2 * time.Hour, 0},
		"the results had a gap":            {seen(period, time.Hour), 0, 10 * time.Minute, 10 * time.Minute},
		"the same result again":            {seen(period, time.Hour), period, 2 * time.Hour, time.Hour},
		"a result from before":             {seen(period, time.Hour), period + time.Second, 2 * time.Hour, period + time.Second},
		"a result that begins in a future": {seen(period, time.Hour), period, -time.Hour, period},
	} {
		t.Run(name, func(t *testing.T) {
			r := good()
			r.Time, r.Since = ago(tc.at), ago(tc.own)
			o := Observed(r, tc.last, period, now)
			if !o.Since.Time.Equal(ago(tc.want)) || o.Time.Before(o.Since) {
				t.Errorf("since %v, want %v; time %v", o.Since, ago(tc.want), o.Time)
			}
		})
	}
}

func TestAClusterThatIsNotReachedKeepsTheTimeOfTheLastObservation(t *testing.T) {
	last := Observed(good(), nil, period, now)
	o := Unreached("the API server does not answer", last, period)
	if !o.Time.Equal(&last.Time) || !o.Since.Equal(last.Since) || o.Egress != v1alpha1.EgressUnknown || o.Message != "the API server does not answer" {
		t.Errorf("%+v", o)
	}
	if last.Egress != v1alpha1.EgressVerified {
		t.Error("what was said before is changed")
	}
	if first := Unreached("no", nil, period); !first.Time.IsZero() || first.Since != nil || first.Period.Duration != period {
		t.Errorf("%+v", first)
	}
}

func TestWhenEgressWasLastVerifiedIsKeptUntilItFails(t *testing.T) {
	before := Observed(good(), nil, period, now)
	if !before.LastVerifiedTime.Equal(&before.Time) {
		t.Errorf("%+v", before)
	}
	pending, failed := good(), good()
	pending.Targets[0].State, failed.Targets[0].State = probe.Unknown, probe.Failed
	unreached := Unreached("no", before, period)
	for name, o := range map[string]*v1alpha1.Observed{
		"not reached":              unreached,
		"not reached twice":        Unreached("no", unreached, period),
		"not known":                Observed(pending, unreached, period, now.Add(time.Minute)),
		"no new result":            Observed(good(), before, period, now.Add(time.Hour)),
		"an earlier version wrote": Unreached("no", &v1alpha1.Observed{Time: before.Time, Egress: v1alpha1.EgressVerified}, period),
	} {
		if o.Egress != v1alpha1.EgressUnknown || !o.LastVerifiedTime.Equal(&before.Time) {
			t.Errorf("%s: %+v", name, o)
		}
	}
	if o := Unreached("no", Observed(failed, before, period, now), period); o.LastVerifiedTime != nil {
		t.Errorf("it failed since: %+v", o)
	}
}

func TestWhatAHostileClusterSaysGetsNoFurtherThanItsBounds(t *testing.T) {
	long := strings.Repeat("x\n\x1b[31m€", 5000)
	used := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
	r := probe.Result{Version: 1, Time: now.Add(maxAhead), Since: used, Period: "99999h", Revision: "user:password@x", Nodes: &probe.Nodes{Total: math.MaxInt, Failed: math.MaxInt, Verified: -1}}
	for i := range 1000 {
		r.Targets = append(r.Targets, failing(fmt.Sprint(i, long), probe.Reason(long)))
		r.Nodes.Worst = append(r.Nodes.Worst, probe.Node{Name: long, State: probe.Failed})
		r.Credentials = append(r.Credentials, probe.CredentialsSeen{Fingerprint: fmt.Sprint("f", i%500), Pods: math.MaxInt, Relays: -7, LastUsed: &used})
		r.Unseen = append(r.Unseen, long)
	}
	r.Credentials = append(r.Credentials, probe.CredentialsSeen{Fingerprint: long}, probe.CredentialsSeen{})
	o := Observed(r, nil, period, now)
	text, err := json.Marshal(o)
	if err != nil || len(text) > 8<<10 || o.Revision != "" {
		t.Fatalf("%d bytes, revision %q: %v", len(text), o.Revision, err)
	}
	if !utf8.Valid(text) || strings.Contains(string(text), `\u001b`) || strings.Contains(o.Message, "\n") || len(o.Message) > 1024 {
		t.Errorf("%s", text)
	}
	if o.Time.After(now) || o.Since.After(now) || o.Period.Duration != time.Hour {
		t.Errorf("time %v, since %v, period %v", o.Time, o.Since, o.Period)
	}
	if len(o.Credentials) != 20 || len(o.Unseen) != 10 {
		t.Errorf("%d credentials, unseen: %d %q", len(o.Credentials), len(o.Unseen), o.Unseen)
	}
	seen := map[string]bool{}
	for _, c := range o.Credentials {
		if seen[c.Fingerprint] || c.Pods != 100_000 || c.Relays != 0 || c.LastUsed.After(now) {
			t.Errorf("%+v", c)
		}
		seen[c.Fingerprint] = true
	}
	if *o.Nodes != (v1alpha1.ObservedNodes{Total: 100_000, Failed: 100_000}) {
		t.Errorf("%+v", o.Nodes)
	}
}

func TestCredentialsInUseComeFirst(t *testing.T) {
	r := good()
	for i := range 30 {
		r.Credentials = append(r.Credentials, probe.CredentialsSeen{Fingerprint: fmt.Sprint("unused", i)})
	}
	r.Credentials = append(r.Credentials, probe.CredentialsSeen{Fingerprint: "zz.old", Relays: 1})
	if o := Observed(r, nil, period, now); o.Credentials[0].Fingerprint != "zz.old" || o.Unseen[0] != "more than 20 credentials" {
		t.Errorf("%+v", o)
	}
}

func TestAResultThatCannotBeReadSaysWhyAndShowsNothing(t *testing.T) {
	for text, want := range map[string]string{
		"":                              "not the JSON",
		`{"version":1,"time":"secret"}`: "not the JSON",
		`["secret"]`:                    "not the JSON",
		`{"version":2,"time":"2026-11-24T12:00:00Z"}`: "version 2",
		`{"version":1}`: "no time",
		`{"version":1,"x":"` + strings.Repeat("a", 65536): "more than 65536 bytes",
	} {
		_, err := Parse([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%.40s: %v", text, err)
		}
	}
	if r, err := Parse([]byte(`{"version":1,"time":"2026-11-24T12:00:00Z","of-tomorrow":1}`)); err != nil || r.Time.IsZero() {
		t.Error(err)
	}
}
