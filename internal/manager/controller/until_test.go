package controller

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

func endingEntry(value string, at time.Time) v1alpha1.NoProxyEntry {
	return v1alpha1.NoProxyEntry{Value: value, Owner: "team", Reason: "moves", Until: &metav1.Time{Time: at}}
}

// goTo sets the clock by which things end.
func (f *countedFleet) goTo(now time.Time) { f.Proxies.ends.at("", now) }

func TestWhatHasEndedDoesNotComeBackWithAClockThatIsSetBack(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	c := &endClock{}
	for _, step := range []struct {
		proxy     string
		now, want time.Time
	}{
		{"p", noon, noon},
		{"p", noon.Add(-time.Hour), noon},
		{"q", noon.Add(time.Minute), noon.Add(time.Minute)},
		{"p", noon.Add(-time.Hour), noon.Add(time.Minute)},
	} {
		if got := c.at(step.proxy, step.now); !got.Equal(step.want) {
			t.Errorf("%s at %s: %s, want %s", step.proxy, step.now, got, step.want)
		}
	}
	c.recorded("p", noon.Add(4*time.Minute), noon) // by an earlier process
	c.recorded("p", noon, noon)
	if p, q := c.at("p", noon), c.at("q", noon); !p.Equal(noon.Add(4*time.Minute)) || !q.Equal(noon.Add(time.Minute)) {
		t.Errorf("%s, %s", p, q)
	}
}

func TestWhatWasRecordedInTheFutureEndsNothing(t *testing.T) {
	noon := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
	c, nextYear := &endClock{}, noon.AddDate(1, 0, 0) // by a clock that was ahead
	c.recorded("p", nextYear, noon)
	if got := c.at("p", noon); !got.Equal(noon) {
		t.Errorf("it is %s", got)
	}
	c.recorded("p", noon.Add(5*time.Minute), noon)
	if got := c.at("p", noon); !got.Equal(noon.Add(5 * time.Minute)) {
		t.Errorf("it is %s", got)
	}
	c.recorded("p", noon.Add(-time.Hour), nextYear) // this process has seen that time itself
	if got := c.at("p", noon); !got.Equal(nextYear) {
		t.Errorf("it is %s", got)
	}
}

func TestHowLongNothingEnds(t *testing.T) {
	now := time.Now()
	for next, want := range map[time.Time]time.Duration{
		{}: 0, now.Round(0).Add(time.Minute): time.Minute, now.Add(-time.Minute): time.Millisecond, now.AddDate(1, 0, 0): longestLook,
	} {
		if got := untilEnd(next, now); got != want {
			t.Errorf("%s: %s, want %s", next, got, want)
		}
	}
	for _, test := range [][3]time.Duration{{0, 0, 0}, {0, 2, 2}, {2, 0, 2}, {1, 2, 1}, {2, 1, 1}} {
		if got := soonest(test[0], test[1]); got != test[2] {
			t.Errorf("%v: %d", test, got)
		}
	}
}

func (w *waveFleetTest) lists(value string) string {
	var all []string
	for i := range w.clusters {
		has := "-"
		if strings.Contains(w.report(i).Status.NoProxy.Any, value) {
			has = "+"
		}
		all = append(all, has)
	}
	return strings.Join(all, "")
}

func TestAnEntryThatEndsGoesThroughTheWaves(t *testing.T) {
	end := time.Now().Add(time.Hour).Truncate(time.Second)
	w := newWaveFleet(t, 5)
	w.changeProxy(func(p *v1alpha1.CorporateProxy) {
		p.Spec.NoProxy = []v1alpha1.NoProxyEntry{endingEntry("ends.example", end), {Value: "stays.example"}}
	})
	w.round()
	w.round()
	if w.numbers() != "1 1 1 1 1" || w.lists("ends.example") != "+++++" {
		t.Fatalf("%s, %s", w.numbers(), w.lists("ends.example"))
	}
	w.goTo(end.Add(-time.Second))
	if result, err := w.Waves.Reconcile(w.Context(), ctrl.Request{}); err != nil || result.RequeueAfter <= 0 || result.RequeueAfter > time.Hour {
		t.Fatalf("the next look is in %s (%v)", result.RequeueAfter, err)
	}
	w.round()
	if w.numbers() != "1 1 1 1 1" {
		t.Fatalf("a second before, the clusters have %s", w.numbers())
	}
	w.goTo(end)
	for _, want := range []string{"-++++", "---++", "-----"} {
		if w.round(); w.lists("ends.example") != want || w.lists("stays.example") != "+++++" {
			t.Fatalf("%s, want %s", w.lists("ends.example"), want)
		}
	}
	known, err := w.Waves.Revisions.all(t.Context(), "default")
	if err != nil || len(known) != 2 || len(known[1].Spec.NoProxy) != 1 || known[1].Spec.NoProxy[0].Value != "stays.example" {
		t.Fatalf("%+v (%v)", known, err)
	}
	w.round()
	if since := w.Proxies.ends.since["default"]; !since.Equal(known[1].Since.Time) {
		t.Errorf("what had ended at %s has ended, not %s", known[1].Since, since)
	}
	w.changeProxy(func(p *v1alpha1.CorporateProxy) { p.Spec.NoProxy = p.Spec.NoProxy[1:] })
	if w.round(); w.numbers() != "2 2 2 2 2" {
		t.Errorf("the removal of what had ended is a revision: %s", w.numbers())
	}
}

func TestSettingAnEndIsNoRevision(t *testing.T) {
	w := newWaveFleet(t, 2)
	w.changeProxy(func(p *v1alpha1.CorporateProxy) { p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "ends.example"}} })
	w.round()
	w.round()
	w.changeProxy(func(p *v1alpha1.CorporateProxy) {
		p.Spec.NoProxy = []v1alpha1.NoProxyEntry{endingEntry("ends.example", time.Now().Add(time.Hour))}
	})
	for range 2 {
		w.round()
	}
	if w.numbers() != "1 1" {
		t.Error(w.numbers())
	}
}

// Without waves, each cluster looks again itself.
func TestAnEntryEndsWithoutWaves(t *testing.T) {
	end := time.Now().Add(30 * time.Minute).Truncate(time.Second)
	f := newCountedFleet(t, 1)
	proxy := f.proxy()
	proxy.Spec.NoProxy = []v1alpha1.NoProxyEntry{endingEntry("ends.example", end)}
	proxy.Generation++
	if err := f.objects.Update(t.Context(), proxy); err != nil {
		t.Fatal(err)
	}
	request := ctrl.Request{NamespacedName: types.NamespacedName{Namespace: "ns", Name: "c0"}}
	reconcile := func() (string, time.Duration) {
		result, err := f.Reconcile(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		return f.reportOf("c0").Status.NoProxy.Any, result.RequeueAfter
	}
	if list, wait := reconcile(); !strings.Contains(list, "ends.example") || wait > 30*time.Minute {
		t.Errorf("%s, the next look is in %s", list, wait)
	}
	f.goTo(end)
	if list, wait := reconcile(); strings.Contains(list, "ends.example") || wait <= 30*time.Minute {
		t.Errorf("%s, the next look is in %s", list, wait)
	}
}

func (w *waveFleetTest) override(name string, spec v1alpha1.ProxyOverrideSpec) {
	w.Helper()
	w.must(w.objects.Create(w.Context(), &v1alpha1.ProxyOverride{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name}, Spec: spec}))
}

func TestAnOverrideThatEndsConcernsItsClusterAlone(t *testing.T) {
	end := time.Now().Add(time.Hour).Truncate(time.Second)
	w := newWaveFleet(t, 3)
	w.override("c2", v1alpha1.ProxyOverrideSpec{
		NoProxy: []v1alpha1.NoProxyEntry{{Value: "own.example"}}, Owner: "lead", Reason: "tries", Until: &metav1.Time{Time: end},
	})
	for range 3 {
		w.round()
	}
	said := w.report(2).Status.Override
	if w.lists("own.example") != "--+" || said == nil || said.Ended != nil || !said.Ends.Time.Equal(end) || said.Owner != "lead" || said.Reason != "tries" || said.What != "ProxyOverride" {
		t.Fatalf("%s, %+v", w.lists("own.example"), said)
	}
	w.requests = map[string]int{}
	w.goTo(end)
	for range 3 {
		w.round()
	}
	said = w.report(2).Status.Override
	if w.lists("own.example") != "---" || w.numbers() != "1 1 1" || said == nil || said.Ends != nil || !said.Ended.Time.Equal(end) {
		t.Errorf("%s, %s, %+v", w.lists("own.example"), w.numbers(), said)
	}
	if n := w.requests["apply"]; n != 2 {
		t.Errorf("%d Secrets were written", n)
	}
}

func TestAnOverrideEndsByTheTimeOfWhatWasDecided(t *testing.T) {
	now := time.Now()
	end := now.Add(2 * time.Minute)
	f := newCountedFleet(t, 1)
	decided := func(since time.Time) *state {
		override := &v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{Until: &metav1.Time{Time: end}}}
		s := &state{now: now, override: override}
		s.record = &revision.Record{Since: metav1.NewTime(since)}
		f.endOverride(s)
		waves := fleetInputs{ends: now, overrides: map[types.NamespacedName]*v1alpha1.ProxyOverride{{}: override}}
		if there := waves.override(types.NamespacedName{}, s.record) != nil; there != (s.override != nil) {
			t.Errorf("the waves take it to be there: %t", there)
		}
		return s
	}
	if s := decided(end.Add(-time.Second)); s.override == nil {
		t.Error("it ended early")
	}
	if s := decided(end); s.override != nil { // the clock was set back since
		t.Error("it came back")
	}
	if s := decided(now.Add(time.Hour)); s.override == nil { // the clock was ahead
		t.Error("it ended by a clock that was wrong")
	}
}

func TestAnEndDoesNotChangeTheHashOfAnOverride(t *testing.T) {
	plain := &v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{Mode: "Proxied", NoProxy: []v1alpha1.NoProxyEntry{{Value: "a.example", Reason: "moves"}}}}
	ending := plain.DeepCopy()
	ending.Spec.NoProxy[0] = endingEntry("a.example", time.Now())
	ending.Spec.Until, ending.Spec.Owner, ending.Spec.Reason = &metav1.Time{Time: time.Now()}, "lead", "tries"
	if a, b := overrideHash(plain), overrideHash(ending); a != b || a == "" {
		t.Errorf("%s, %s", a, b)
	}
}

func TestTheMetricIsOfWhatEndsNextByCorporateProxy(t *testing.T) {
	end := time.Unix(2_000_000_000, 0)
	now := end.Add(-time.Hour)
	f := newCountedFleet(t, 0)
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c0"}}
	if err := f.objects.Create(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	elected := make(chan struct{})
	close(elected)
	for _, step := range []struct {
		proxy, override *metav1.Time
		want            float64
	}{
		{nil, nil, 0},
		{&metav1.Time{Time: end}, nil, 2_000_000_000},
		{nil, &metav1.Time{Time: end.Add(1)}, 2_000_000_000},
		{&metav1.Time{Time: end}, &metav1.Time{Time: end.Add(-time.Minute)}, 2_000_000_000 - 60},
		{&metav1.Time{Time: end}, &metav1.Time{Time: end.Add(time.Minute)}, 2_000_000_000},
		{&metav1.Time{Time: end}, &metav1.Time{Time: now}, 2_000_000_000}, // of a cluster that is paused
		{&metav1.Time{Time: now.Add(-time.Hour)}, &metav1.Time{Time: end}, 2_000_000_000},
		{&metav1.Time{Time: now}, &metav1.Time{Time: now.Add(-time.Hour)}, 0},
	} {
		proxy := f.proxy()
		proxy.Status.NextEnd = step.proxy
		report.Status = v1alpha1.ProxyReportStatus{ProxyName: "default", Override: &v1alpha1.ReportedOverride{Ends: step.override}}
		if err := errors.Join(f.objects.Status().Update(t.Context(), proxy), f.objects.Status().Update(t.Context(), report)); err != nil {
			t.Fatal(err)
		}
		registry := prometheus.NewRegistry()
		registry.MustRegister(fleetCollector{f.objects, elected, func() time.Time { return now }})
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		got := 0.0
		for _, family := range families {
			if family.GetName() == "fairlead_exception_next_end_timestamp_seconds" {
				got = family.GetMetric()[0].GetGauge().GetValue()
			}
		}
		if got != step.want {
			t.Errorf("%v: %f", step, got)
		}
	}
}
