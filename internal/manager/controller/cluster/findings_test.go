package cluster

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// A new version finds what the one before did not: at its start, it writes no report of the fleet for that.
func TestWhatANewVersionFindsIsWrittenInTheClustersTurn(t *testing.T) {
	const n = 5
	f := newCountedFleet(t, n)
	f.reconcileAll(n)
	reports := &v1alpha1.ProxyReportList{}
	if err := f.objects.List(context.Background(), reports); err != nil {
		t.Fatal(err)
	}
	for i := range reports.Items {
		report := &reports.Items[i]
		found := len(report.Status.Findings)
		if report.Status.Findings = slices.DeleteFunc(report.Status.Findings, func(r v1alpha1.ReportedFinding) bool { return r.Code == "NetworkMembers" }); len(report.Status.Findings) == found {
			t.Fatal("nothing to forget")
		}
		if err := f.objects.Status().Update(context.Background(), report); err != nil {
			t.Fatal(err)
		}
	}
	f.restart()
	f.want("the first look of a new version", f.reconcileAll(n), map[string]int{})
	later := time.Now().Add(time.Hour)
	for name, turn := range map[string]time.Time{"c0": time.Unix(0, 0), "c1": later, "c2": later, "c3": time.Unix(0, 0), "c4": later} {
		f.memory.of(clusterKey(name)).turn = turn
	}
	f.want("the turn of two", f.reconcileAll(n), map[string]int{"apply": 4, "status of ProxyReport": 2})
	f.setPassword("new-password")
	f.want("whatever else is to be written", f.reconcileAll(n), map[string]int{"apply": 2 * n, "status of ProxyReport": n, "status of CorporateProxy": 1})
	f.want("once", f.reconcileAll(n), map[string]int{})
	if err := f.objects.List(context.Background(), reports); err != nil {
		t.Fatal(err)
	}
	for _, report := range reports.Items {
		if !slices.ContainsFunc(report.Status.Findings, func(r v1alpha1.ReportedFinding) bool { return r.Code == "NetworkMembers" }) {
			t.Errorf("%s: %+v", report.Name, report.Status.Findings)
		}
	}
}
