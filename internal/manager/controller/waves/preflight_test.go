package waves

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
	"github.com/fairlead-io/fairlead/noproxy"
)

// What has no room in the Secret is not tried; then nobody says for ever that it is being tried.
func TestWhatHasNoRoomToBeTriedIsSaidAfterAWhile(t *testing.T) {
	p := &Preflight{}
	p.begin()
	p.tasks["another"] = make([]byte, maxTasks) // waits for its correction
	s := &settings.Stored{}
	s.Proxy, s.Number, s.Digest = "corp", 2, "d"
	now := time.Now()
	ask := func(at time.Time) asked {
		p.ask("corp", rollout.Decision{Try: true, Target: &rollout.Revision{Number: 2, Digest: "d"}}, []*settings.Stored{s}, at)
		return p.asked["corp"]
	}
	for i := range 2 {
		if got := ask(now.Add(time.Duration(i))); got != (asked{"d", now, true}) || p.tasks["corp"] != nil {
			t.Fatalf("%+v: it is asked for anew each time, so that nobody's patience ends", got)
		}
	}
	proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "corp"}, Spec: v1alpha1.CorporateProxySpec{Probes: &v1alpha1.Probes{}}}
	p.Enabled, p.Client = true, fake.NewClientBuilder().Build()
	if known, err := p.known(t.Context(), proxy, nil); err != nil || !known.Full {
		t.Errorf("%+v, %v", known, err)
	}
	p.begin()
	for i := range 2 {
		if got := ask(now.Add(time.Hour + time.Duration(i))); got != (asked{"d", now.Add(time.Hour), false}) || p.tasks["corp"] == nil {
			t.Errorf("%+v: the time without room counts as time without an answer", got)
		}
	}
}

func TestTheTargetsOfThePreflightAreThoseThroughTheProxy(t *testing.T) {
	list, err := resolve.ParseEntries(resolve.ReasonInvalidProxy, noproxy.Filled("direct.example", noproxy.Source{}), nil)
	if err != nil {
		t.Fatal(err)
	}
	target := func(url string, expect probe.Expectation, route probe.Route) resolve.ProbeTarget {
		return resolve.ProbeTarget{Target: probe.Target{URL: url, Expect: expect, Route: route}}
	}
	of := resolve.Installation{NoProxy: list, HTTPS: mustURL(t, "http://p:1"), Probes: &resolve.Probes{Targets: []resolve.ProbeTarget{
		target("https://a.example", probe.Reachable, ""), target("https://a.example", probe.Reachable, probe.Proxied),
		target("https://direct.example", probe.Reachable, ""), target("https://direct.example/x", probe.Reachable, probe.Proxied),
		target("https://b.example", probe.Reachable, probe.Direct), target("https://c.example", probe.Unreachable, ""),
		target("http://plain.example", probe.Reachable, ""), // there is no proxy for it
	}}}
	var got []string
	for _, t := range preflightTargets(of) {
		got = append(got, t.URL)
	}
	if strings.Join(got, " ") != "https://a.example https://direct.example/x" {
		t.Error(got)
	}
}

func mustURL(t *testing.T, text string) proxyurl.URL {
	t.Helper()
	u, err := proxyurl.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}
