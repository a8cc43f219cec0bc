package cluster

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/decide"
)

func TestEverythingIsDueOnceForEachDeletionOfTheReport(t *testing.T) {
	living := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Generation: 1}}
	for name, test := range map[string]struct {
		report *v1alpha1.ProxyReport
		due    bool
	}{
		"nobody deletes it":                      {living, false},
		"it is deleted":                          {deleted(2), true},
		"the collector deletes what it owns":     {deleted(2, metav1.FinalizerDeleteDependents), false},
		"the collector orphans what it owns":     {deleted(2, metav1.FinalizerOrphanDependents), false},
		"it was deleted, and everything applied": {deleted(1), false},
	} {
		s := aState(t)
		s.Report = test.report
		s.Report.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, ObservedGeneration: 1}}
		if got := (&Reconciler{}).deletionDue(&s); got != test.due {
			t.Errorf("%s: %t", name, got)
		}
		// It stays due until everything was applied.
		for name, generation := range map[string]int64{
			"a failure": decide.NextGeneration(&s, decide.Decision{}, decide.Outcome{Retry: context.Canceled}), "a pause": decide.NextGeneration(&s, decide.Decision{Paused: true}, decide.Outcome{}),
		} {
			if test.due && generation != 1 {
				t.Errorf("%s ends it", name)
			}
		}
		if done := decide.NextGeneration(&s, decide.Decision{}, decide.Outcome{}) == s.Report.Generation; done == decide.BeingCollected(s.Report) {
			t.Errorf("%s: everything was applied after it: %t", name, done)
		}
	}
}

// An upgrade writes nothing; the paced re-apply adds the owner, which is nobody's revert.
func TestTheSecondOwnerComesWithThePacedReapply(t *testing.T) {
	server, r, s := withConfigMap(t)
	turn(r, s)
	for i := range s.Report.Status.Secrets {
		s.Report.Status.Secrets[i].OwnedByCluster = false
	}
	writes := server.applied["Secret"]
	turn(r, s)
	if server.applied["Secret"] != writes {
		t.Error("a Secret is written for its owner alone")
	}
	r.memory.of(clusterKey("c1")).turn = time.Now()
	if out := turn(r, s); server.applied["Secret"] != writes+2 || len(out.Created)+len(out.Mended) != 0 {
		t.Errorf("%d writes, %+v", server.applied["Secret"]-writes, out)
	}
	for _, record := range s.Report.Status.Secrets {
		if !record.OwnedByCluster || record.Reverts != 0 {
			t.Errorf("%+v", record)
		}
	}
}

func TestWhatTheCollectorDoesToAReportIsNoticed(t *testing.T) {
	r := &Reconciler{}
	reportChanged := r.reportChanged()
	with, without := deleted(2, metav1.FinalizerDeleteDependents), deleted(2)
	if !reportChanged.Update(event.UpdateEvent{ObjectOld: with, ObjectNew: without}) || reportChanged.Update(event.UpdateEvent{ObjectOld: with, ObjectNew: with}) {
		t.Error("a finalizer that goes, or a status")
	}
	if !reportChanged.Update(event.UpdateEvent{ObjectOld: deleted(1), ObjectNew: deleted(2)}) {
		t.Error("a deletion")
	}
	// A second deletion raises no generation.
	s := aState(t)
	s.Report = without
	s.Report.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, ObservedGeneration: 2}}
	if !r.deletionDue(&s) || r.deletionDue(&s) {
		t.Error("it is not due once")
	}
	// The collector may act upon what it saw of the report before.
	if soon := r.untilCollected(s.Report); soon <= 0 || soon > settleCollected {
		t.Errorf("it is looked at again in %s", soon)
	}
	settled := time.Now().Add(settleCollected)
	if key := client.ObjectKeyFromObject(s.Report); !r.memory.takeCollected(key, settled) || r.memory.takeCollected(key, settled) || r.memory.untilCollected(key, settled) != 0 {
		t.Error("it is not due once more, and then no more")
	}
}

func TestAnApplicationThatFellDueDuringAReconcileIsNotForgotten(t *testing.T) {
	now := metav1.Now()
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c0", DeletionTimestamp: &now}}
	r := &Reconciler{}
	r.memory.collect(clusterKey("c0"), time.Now().Add(-time.Hour))
	if wait := r.untilCollected(report); wait <= 0 {
		t.Errorf("everything is due, and the next look is in %s", wait)
	}
}
