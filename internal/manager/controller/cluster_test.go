package controller

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

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
		m.arrived(key)
		if m.by[key].arrival != (arrival{}) {
			t.Errorf("%s: it is remembered", name)
		}
	}
}

// behind is an API server whose Cluster is another than that of the cache, which is a watch of its own.
type behind struct{ client.Reader }

func (b behind) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	err := b.Reader.Get(ctx, key, o, opts...)
	if c, is := o.(*clusterv1.Cluster); is {
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
