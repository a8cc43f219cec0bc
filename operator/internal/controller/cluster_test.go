package controller

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func TestAReportWithoutStatusWaitsForItsCluster(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	made := metav1.NewTime(now.Add(-time.Minute))
	for name, c := range map[string]struct {
		report *v1alpha1.ProxyReport
		want   time.Duration
	}{
		"none":                {nil, 0},
		"it has just come":    {&v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: made}}, 9 * time.Minute},
		"somebody deletes it": {&v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: made, DeletionTimestamp: &made}}, 0},
		"its Cluster was here": {&v1alpha1.ProxyReport{
			ObjectMeta: metav1.ObjectMeta{CreationTimestamp: made},
			Status:     v1alpha1.ProxyReportStatus{Cluster: v1alpha1.ReportedCluster{UID: "u"}},
		}, 0},
	} {
		if got := expected(c.report, now); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	old := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-time.Hour))}}
	if expected(old, now) > 0 {
		t.Error("it is waited for without end")
	}
}
