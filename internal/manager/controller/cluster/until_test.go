package cluster

import (
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
)

func endingEntry(value string, at time.Time) v1alpha1.NoProxyEntry {
	return v1alpha1.NoProxyEntry{Value: value, Owner: "team", Reason: "moves", Until: &metav1.Time{Time: at}}
}

// goTo sets the clock by which things end.
func (f *countedFleet) goTo(now time.Time) { f.Proxies.Ends.At("", now) }

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
	known, err := w.Waves.Revisions.All(t.Context(), "default")
	if err != nil || len(known) != 2 || len(known[1].Spec.NoProxy) != 1 || known[1].Spec.NoProxy[0].Value != "stays.example" {
		t.Fatalf("%+v (%v)", known, err)
	}
	w.round()
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
	decided := func(since time.Time) *decide.State {
		override := &v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{Until: &metav1.Time{Time: end}}}
		s := &decide.State{Now: now, Override: override}
		s.Record = &revision.Record{Since: metav1.NewTime(since)}
		f.endOverride(s)
		return s
	}
	if s := decided(end.Add(-time.Second)); s.Override == nil {
		t.Error("it ended early")
	}
	if s := decided(end); s.Override != nil { // the clock was set back since
		t.Error("it came back")
	}
	if s := decided(now.Add(time.Hour)); s.Override == nil { // the clock was ahead
		t.Error("it ended by a clock that was wrong")
	}
}

// recordedAt changes when the revisions were recorded, and when the clusters were decided about.
func (w *waveFleetTest) recordedAt(at time.Time) {
	w.Helper()
	since := regexp.MustCompile(`(since"?: ?)"[^"]*"`)
	change := func(text string) string {
		if !since.MatchString(text) {
			w.Fatalf("no time in %s", text)
		}
		return since.ReplaceAllString(text, `$1"`+at.UTC().Format(time.RFC3339)+`"`)
	}
	revisions := &corev1.ConfigMapList{}
	w.must(w.objects.List(w.Context(), revisions, client.HasLabels{v1alpha1.RevisionLabel}))
	for i := range revisions.Items {
		revisions.Items[i].Data[revision.PublicKey] = change(revisions.Items[i].Data[revision.PublicKey])
		w.must(w.objects.Update(w.Context(), &revisions.Items[i]))
	}
	for i := range w.clusters {
		report := w.report(i)
		report.Annotations[v1alpha1.RevisionAnnotation] = change(report.Annotations[v1alpha1.RevisionAnnotation])
		w.must(w.objects.Update(w.Context(), report))
	}
}

// What had ended when the newest revision was recorded, and when a cluster was decided about, has ended, for the waves as for
// the clusters.
func TestNothingComesBackAfterARestartWithAClockThatIsSetBack(t *testing.T) {
	end, ahead := metav1.NewTime(time.Now().Add(2*time.Minute)), time.Now().Add(4*time.Minute)
	w := newWaveFleet(t, 2)
	w.goTo(ahead)
	w.changeProxy(func(p *v1alpha1.CorporateProxy) {
		p.Spec.NoProxy = []v1alpha1.NoProxyEntry{endingEntry("ends.example", end.Time)}
	})
	w.override("c1", v1alpha1.ProxyOverrideSpec{
		NoProxy: []v1alpha1.NoProxyEntry{{Value: "own.example"}}, Owner: "lead", Reason: "tries", Until: &end,
	})
	check := func(when string) {
		t.Helper()
		for range 2 {
			w.round()
		}
		held := meta.FindStatusCondition(w.report(1).Status.Conditions, v1alpha1.ConditionHeld)
		if w.numbers() != "1 1" || w.lists("ends.example") != "--" || w.lists("own.example") != "--" || held != nil {
			t.Errorf("%s: revisions %s, the entries are in %s and %s, %+v", when, w.numbers(), w.lists("ends.example"), w.lists("own.example"), held)
		}
	}
	check("before")
	w.recordedAt(ahead)
	record := w.report(1).Annotations[v1alpha1.RevisionAnnotation]
	w.restartWaves()
	check("after")
	if now := w.report(1).Annotations[v1alpha1.RevisionAnnotation]; now != record {
		t.Errorf("it was decided about the cluster again: %s, before %s", now, record)
	}
}
