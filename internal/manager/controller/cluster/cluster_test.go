package cluster

import (
	"context"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
	"github.com/fairlead-io/fairlead/internal/manager/controller/settings"
)

func TestWaitsGrowUntilTheCircumstancesChange(t *testing.T) {
	var m memory
	key := clusterKey("c1")
	now := time.Unix(0, 0)
	for attempt, minutes := range []float64{1, 2, 4, 8, 16, 32, 60, 60, 60} {
		last := m.failed(key, "as before", time.Minute, time.Hour, now)
		if got := last.Minutes(); got > minutes || got < minutes*4/5 {
			t.Errorf("attempt %d waits %.1f minutes, not about %.0f", attempt, got, minutes)
		}
		if rest := m.failed(key, "as before", time.Minute, time.Hour, now.Add(last/2)); rest > last/2+1 {
			t.Errorf("attempt %d: an event in between counts as a failure: %s", attempt, rest)
		}
		now = now.Add(last)
	}
	if wait := m.failed(key, "something changed", time.Minute, time.Hour, now); wait > time.Minute {
		t.Errorf("it waits %s although something changed", wait)
	}
	m.change(key, func(c *clusterMemory) { c.failures = failures{} })
	if wait := m.failed(key, "something changed", time.Minute, time.Hour, now); wait > time.Minute {
		t.Errorf("after a success it waits %s", wait)
	}
}

func TestWhatCouldChangeTheAnswerIsInTheCircumstances(t *testing.T) {
	base := func() decide.State {
		s := aState(t)
		s.Source, s.Report = "proxy@1", &v1alpha1.ProxyReport{}
		s.Override = &v1alpha1.ProxyOverride{}
		s.Facts = &v1alpha1.ReportedFacts{Version: "Facts/v1"}
		return s
	}
	was := base().Circumstances()
	for name, change := range map[string]func(*decide.State){
		"the Cluster":        func(s *decide.State) { s.Cluster.Generation++ },
		"the override":       func(s *decide.State) { s.Override.Generation++ },
		"the source":         func(s *decide.State) { s.Source = "proxy@2" },
		"the table":          func(s *decide.State) { s.Facts.Version = "Facts/v2" },
		"somebody who asks":  func(s *decide.State) { s.Report.Annotations = map[string]string{v1alpha1.ReapplyAnnotation: "now"} },
		"an override is new": func(s *decide.State) { s.Override = nil },
	} {
		s := base()
		change(&s)
		if s.Circumstances() == was {
			t.Errorf("%s makes no difference", name)
		}
	}
}

// Neither an outage nor a webhook that hangs for one cluster holds a worker.
func TestAnOutageHoldsNoWorker(t *testing.T) {
	for name, err := range map[string]error{"an outage": apierrors.NewServiceUnavailable("down"), "a webhook that hangs": context.DeadlineExceeded} {
		f := newCountedFleet(t, 1)
		f.fail["apply"] = err
		request := ctrl.Request{NamespacedName: clusterKey("c0")}
		result, got := f.Reconcile(context.Background(), request)
		if got != nil || result.RequeueAfter <= 0 || result.RequeueAfter > firstSlow {
			t.Errorf("%s: %+v, %v", name, result, got)
		}
		f.fail["apply"] = nil
		if result, got = f.Reconcile(context.Background(), request); got != nil || result.RequeueAfter < time.Second {
			t.Errorf("%s is over: %+v, %v", name, result, got)
		}
	}
}

func TestAReportThatTheCacheDoesNotHaveYetIsKept(t *testing.T) {
	var m memory
	key := clusterKey("c1")
	report := func(version string) *v1alpha1.ProxyReport {
		return &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{ResourceVersion: version}}
	}
	if m.latest(key, nil) != nil || m.latest(key, report("5")).ResourceVersion != "5" {
		t.Error("without one that is kept, it is the cache's")
	}
	m.wrote(key, report("10"))
	for cached, want := range map[string]string{"": "10", "9": "10"} {
		var has *v1alpha1.ProxyReport
		if cached != "" {
			has = report(cached)
		}
		if got := m.latest(key, has); got.ResourceVersion != want {
			t.Errorf("the cache has %q: %s", cached, got.ResourceVersion)
		}
	}
	if got := m.latest(key, report("11")); got.ResourceVersion != "11" || m.by[key].written.report != nil {
		t.Errorf("the cache has a newer one: %s, %+v is kept", got.ResourceVersion, m.by[key].written)
	}
}

// Only the clusters that a CorporateProxy selected before or selects now are queued.
func TestAChangeOfASelectorConcernsWhomItSelectedBeforeOrAfter(t *testing.T) {
	labelled := func(name, stage string) *clusterv1.Cluster {
		return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{"stage": stage}}}
	}
	selecting := func(stage string) *v1alpha1.CorporateProxy {
		return &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "p", UID: types.UID(stage)}, Spec: v1alpha1.CorporateProxySpec{
			ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"stage": stage}},
			Source:          v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "of-" + stage}},
		}}
	}
	f := newCountedFleet(t, 0, labelled("canary", "canary"), labelled("rest", "rest"), labelled("other", "other"), selecting("rest"))
	for name, test := range map[string]struct {
		got  []ctrl.Request
		want int
	}{
		"from canary to rest":       {f.selectedByEither(t.Context(), selecting("canary"), selecting("rest")), 2},
		"a new one":                 {f.selectedByEither(t.Context(), nil, selecting("rest")), 3},
		"one that is gone":          {f.selectedByEither(t.Context(), selecting("canary"), nil), 1},
		"a Secret that one names":   {f.readersOf(t.Context(), nil, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "of-rest"}}), 1},
		"a Secret that none names":  {f.readersOf(t.Context(), nil, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "other"}}), 0},
		"the key of the memory":     {f.readersOf(t.Context(), nil, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: settings.MemorySecret}}), 3},
		"a broken selector is safe": {f.selectedByEither(t.Context(), broken(), selecting("rest")), 3},
	} {
		if len(test.got) != test.want {
			t.Errorf("%s: %v", name, test.got)
		}
	}
}

func broken() *v1alpha1.CorporateProxy {
	return &v1alpha1.CorporateProxy{Spec: v1alpha1.CorporateProxySpec{ClusterSelector: &metav1.LabelSelector{
		MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Near"}},
	}}}
}

func TestAMissingFinalizerIsPutBack(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.reconcileAll(1)
	report := &v1alpha1.ProxyReport{}
	if err := f.objects.Get(t.Context(), clusterKey("c0"), report); err != nil {
		t.Fatal(err)
	}
	report.Finalizers = []string{"other.example/theirs"}
	if err := f.objects.Update(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	f.want("one patch of metadata", f.reconcileAll(1), map[string]int{"patch": 1})
	if err := f.objects.Get(t.Context(), clusterKey("c0"), report); err != nil || len(report.Finalizers) != 2 {
		t.Errorf("%v, %v", report.Finalizers, err)
	}
}

// The event of a write may come before its answer.
func TestNoReportIsKeptThatTheCacheHas(t *testing.T) {
	f := newCountedFleet(t, 3)
	f.reconcileAll(3)
	f.setPassword("new-password")
	f.reconcileAll(3)
	for cluster, known := range f.memory.by {
		if known.written.report != nil {
			t.Errorf("the report of %s is kept", cluster)
		}
	}
}

func TestAReportWithoutStatusWaitsForItsCluster(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	// By the API server's clock, which is behind, it is old already, or ahead, and it is not there yet.
	behind, ahead := metav1.NewTime(now.Add(-time.Hour)), metav1.NewTime(now.Add(time.Hour))
	for name, c := range map[string]struct {
		report *v1alpha1.ProxyReport
		want   time.Duration
	}{
		"none":                      {nil, 0},
		"by a clock that is behind": {&v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: behind}}, 9 * time.Minute},
		"by a clock that is ahead":  {&v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: ahead}}, 9 * time.Minute},
		"somebody deletes it":       {&v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &behind}}, 0},
		"its Cluster was here":      {&v1alpha1.ProxyReport{Status: v1alpha1.ProxyReportStatus{Cluster: v1alpha1.ReportedCluster{UID: "u"}}}, 0},
	} {
		var m memory
		key := clusterKey("c0")
		if c.report != nil {
			c.report.UID = "r"
		}
		m.expected(key, c.report, now.Add(-time.Minute))
		if got := m.expected(key, c.report, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
		if m.expected(key, c.report, now.Add(time.Hour)) > 0 {
			t.Errorf("%s: it is waited for without end", name)
		}
		m.change(key, func(c *clusterMemory) { c.arrival = arrival{} })
		if m.by[key].arrival != (arrival{}) {
			t.Errorf("%s: it is remembered", name)
		}
	}
}

// behind is an API server whose Cluster has another UID than the one in the cache.
type behind struct{ client.Reader }

func (b behind) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := b.Reader.Get(ctx, key, o, opts...)
	if c, ok := o.(*clusterv1.Cluster); ok {
		c.UID = "living"
	}
	return err
}

func TestAReportIsNotRemovedBecauseTheCacheHasAnEarlierCluster(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.reconcileAll(1)
	report := f.reportOf("c0")
	report.Status.Cluster.UID = "living" // by the leader before
	if err := f.objects.Status().Update(t.Context(), report); err != nil {
		t.Fatal(err)
	}
	f.restart()
	f.Live = behind{f.objects}
	if _, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c0")}); err == nil {
		t.Error("it is no error that the cache is behind")
	}
	f.reportOf("c0") // it is there
}
