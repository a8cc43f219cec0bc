package cluster

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
)

func (f *countedFleet) deliveredReport(name string) *v1alpha1.ProxyReport {
	f.Helper()
	report := &v1alpha1.ProxyReport{}
	if err := f.objects.Get(f.Context(), clusterKey(name), report); err != nil {
		f.Fatal(err)
	}
	return report
}

// deliver writes what "fairlead-operator deliver" would, and returns the event of it.
func (f *countedFleet) deliver(name string, delivered *v1alpha1.Delivered) event.UpdateEvent {
	f.Helper()
	report := f.deliveredReport(name)
	before := report.DeepCopy()
	report.Status.Delivered = delivered
	if err := f.objects.Status().Update(f.Context(), report); err != nil {
		f.Fatal(err)
	}
	return event.UpdateEvent{ObjectOld: before, ObjectNew: report}
}

func (f *countedFleet) deliveredCondition(name string) string {
	f.Helper()
	c := meta.FindStatusCondition(f.deliveredReport(name).Status.Conditions, v1alpha1.ConditionDelivered)
	if c == nil {
		return ""
	}
	return string(c.Status) + " " + c.Reason
}

func TestTheConditionDeliveredFollowsFromWhatArrivedAndChangesOnlyWithNews(t *testing.T) {
	const n = 5
	f := newCountedFleet(t, n)
	f.reconcileAll(n)
	f.want("nobody delivers", f.deliveredCondition("c0"), "")
	now := metav1.Now().Rfc3339Copy()
	arrived := &v1alpha1.Delivered{State: "Applied", HMAC: decide.RecordOf(f.deliveredReport("c0").Status, render.ValuesRole).HMAC, Time: &now}
	if !decide.DeliveredNews(f.deliver("c0", arrived)) {
		t.Error("the first is no news")
	}
	if report := f.deliveredReport("c0"); !decide.DeliveredNews(event.UpdateEvent{ObjectOld: report, ObjectNew: report}) {
		t.Error("what a reconcile did not see is no news with the next event")
	}
	f.want("the first", f.reconcileAll(n), map[string]int{"status of ProxyReport": 1})
	f.want("the first", f.deliveredCondition("c0"), "True Delivered")
	if report := f.deliveredReport("c0"); decide.DeliveredNews(event.UpdateEvent{ObjectOld: report, ObjectNew: report}) {
		t.Error("the operator's own write is news")
	}
	later := *arrived
	later.Time = &metav1.Time{Time: now.Add(1e9)}
	if decide.DeliveredNews(f.deliver("c0", &later)) {
		t.Error("a time is news")
	}
	f.want("a time", f.reconcileAll(n), map[string]int{})

	f.setPassword("another")
	f.reconcileAll(n)
	f.want("a rotation", f.deliveredCondition("c0"), "False Pending")
	if !decide.DeliveredNews(f.deliver("c0", nil)) {
		t.Error("the end is no news")
	}
	f.reconcileAll(n)
	f.want("nobody delivers any more", f.deliveredCondition("c0"), "")
}
