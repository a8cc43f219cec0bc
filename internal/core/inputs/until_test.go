package inputs_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

var noon = time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)

func entryUntil(value string, at time.Time) v1alpha1.NoProxyEntry {
	return v1alpha1.NoProxyEntry{Value: value, Owner: "team", Reason: "moves", Until: &metav1.Time{Time: at}}
}

func proxyWithEnds() *v1alpha1.CorporateProxy {
	proxy := corporateProxy(urlSource("http://p:1", "", ""))
	proxy.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "always.example"}, entryUntil("noon.example", noon), entryUntil("one.example", noon.Add(time.Hour)), {Value: "last.example"}}
	return proxy
}

func TestAnEntryEndsAtItsTimeAndNotBefore(t *testing.T) {
	for name, test := range map[string]struct {
		now  time.Time
		want string
		next time.Time
	}{
		"a second before":       {noon.Add(-time.Second), "always.example,noon.example,one.example,last.example", noon},
		"a nanosecond before":   {noon.Add(-1), "always.example,noon.example,one.example,last.example", noon},
		"at that time":          {noon, "always.example,one.example,last.example", noon.Add(time.Hour)},
		"in another zone":       {noon.In(time.FixedZone("", 3600)), "always.example,one.example,last.example", noon.Add(time.Hour)},
		"after all of them":     {noon.Add(time.Hour), "always.example,last.example", time.Time{}},
		"long after all of it ": {noon.AddDate(9, 0, 0), "always.example,last.example", time.Time{}},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := proxyWithEnds()
			got, err := inputs.Installation(inputs.InEffect(proxy, test.now), nil)
			if err != nil || got.NoProxy.String() != test.want {
				t.Errorf("%s (%v), want %s", got.NoProxy, err, test.want)
			}
			if _, next := inputs.Ended(proxy.Spec.NoProxy, test.now); !next.Equal(test.next) {
				t.Errorf("the next one ends at %s, not %s", next, test.next)
			}
			if diff := cmp.Diff(proxyWithEnds().Spec, proxy.Spec); diff != "" {
				t.Errorf("the object was changed: %s", diff)
			}
		})
	}
}

func TestEntriesKeepTheirPositionsWhenOthersHaveEnded(t *testing.T) {
	proxy := proxyWithEnds()
	got, err := inputs.Installation(inputs.InEffect(proxy, noon), nil)
	if err != nil {
		t.Fatal(err)
	}
	if field := got.NoProxy[2].Sources[0].Field; field != "spec.noProxy[3].value" {
		t.Errorf("the last entry is called %s", field)
	}
	proxy.Spec.NoProxy[3].Value = "10.0.0.0/33"
	_, err = inputs.Installation(inputs.InEffect(proxy, noon), nil)
	problem(t, err, resolve.ReasonInvalidProxy, "CorporateProxy default", "spec.noProxy[3].value")
}

// What cannot be read is in nobody's way once it has ended.
func TestAnEntryThatHasEndedIsNotRead(t *testing.T) {
	proxy := proxyWithEnds()
	proxy.Spec.NoProxy[1].Value = "10.0.0.0/33"
	if _, err := inputs.Installation(inputs.InEffect(proxy, noon), nil); err != nil {
		t.Error(err)
	}
	_, err := inputs.Installation(inputs.InEffect(proxy, noon.Add(-1)), nil)
	problem(t, err, resolve.ReasonInvalidProxy, "CorporateProxy default", "spec.noProxy[1].value")
}

func TestAnEmptyEntryIsNotOneThatHasEnded(t *testing.T) {
	proxy := proxyWithEnds()
	proxy.Spec.NoProxy[3].Value = ""
	_, err := inputs.Installation(inputs.InEffect(proxy, noon), nil)
	problem(t, err, resolve.ReasonInvalidProxy, "CorporateProxy default", "spec.noProxy[3].value")
}

func TestAnEndNeedsAnOwnerAndAReason(t *testing.T) {
	for _, take := range []func(*v1alpha1.NoProxyEntry){
		func(e *v1alpha1.NoProxyEntry) { e.Owner = "" }, func(e *v1alpha1.NoProxyEntry) { e.Reason = "" },
	} {
		proxy := proxyWithEnds()
		take(&proxy.Spec.NoProxy[2])
		_, err := inputs.Installation(inputs.InEffect(proxy, noon), nil)
		problem(t, err, resolve.ReasonInvalidProxy, "CorporateProxy default", "spec.noProxy[2]")

		o := &v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{NoProxy: proxy.Spec.NoProxy}}
		o.Namespace, o.Name = "org", "c1"
		problem(t, inputs.CheckOverride(o), resolve.ReasonInvalidOverride, "ProxyOverride org/c1", "spec.noProxy[2]")
	}
	o := &v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{Until: &metav1.Time{Time: noon}, Owner: "team"}}
	o.Name = "c1"
	problem(t, inputs.CheckOverride(o), resolve.ReasonInvalidOverride, "ProxyOverride default/c1", "spec")
	o.Spec.Reason = "moves"
	if err := inputs.CheckOverride(o); err != nil {
		t.Error(err)
	}
}

func overrideWithEnds() *v1alpha1.ProxyOverride {
	return &v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{
		Mode: "Direct", NoProxy: proxyWithEnds().Spec.NoProxy, Until: &metav1.Time{Time: noon.Add(30 * time.Minute)}, Owner: "lead", Reason: "tries",
	}}
}

func TestAnOverrideEndsAsAWholeOrInParts(t *testing.T) {
	at := func(now time.Time) resolve.Override {
		return inputs.Override(inputs.OverrideInEffect(overrideWithEnds(), now))
	}
	all := resolve.Override{Direct: true, NoProxy: []noproxy.Element{added("always.example", 0), added("noon.example", 1), added("one.example", 2), added("last.example", 3)}}
	some := resolve.Override{Direct: true, NoProxy: []noproxy.Element{added("always.example", 0), added("one.example", 2), added("last.example", 3)}}
	for now, want := range map[time.Time]resolve.Override{
		noon.Add(-1): all, noon: some, noon.Add(30*time.Minute - 1): some, noon.Add(30 * time.Minute): {},
	} {
		if diff := cmp.Diff(want, at(now)); diff != "" {
			t.Errorf("%s: %s", now, diff)
		}
	}
	if inputs.OverrideInEffect(nil, noon) != nil {
		t.Error("there is an override where there is none")
	}
}

func TestTheEndsOfAnOverrideAreThoseThatHaveAnEffect(t *testing.T) {
	want := []inputs.End{
		{What: "noon.example", Field: "spec.noProxy[1]", Time: noon, Owner: "team", Reason: "moves"},
		{What: inputs.WholeOverride, Field: "spec", Time: noon.Add(30 * time.Minute), Owner: "lead", Reason: "tries"},
	}
	ends := inputs.EndsOfOverride(overrideWithEnds())
	if diff := cmp.Diff(want, ends); diff != "" {
		t.Error(diff)
	}
	for now, next := range map[time.Time]string{noon.Add(-1): "noon.example", noon: inputs.WholeOverride, noon.Add(30 * time.Minute): ""} {
		if got, _ := inputs.Next(ends, now); got.What != next {
			t.Errorf("%s: %q is next, not %q", now, got.What, next)
		}
	}
	if ends := inputs.EndsOf(proxyWithEnds()); len(ends) != 2 || ends[0].What != "noon.example" {
		t.Errorf("%+v", ends)
	}
}
