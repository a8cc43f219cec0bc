package machines

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
)

func TestWhereNobodyWantsRollingAnEventLeadsToNoLook(t *testing.T) {
	next := func(rollout v1alpha1.ReportedRollout) *v1alpha1.ProxyReport {
		return &v1alpha1.ProxyReport{Status: v1alpha1.ProxyReportStatus{ProxyName: "proxy", Rollout: &rollout}}
	}
	for _, tc := range []struct {
		rollout         string
		report, cluster bool
	}{{v1alpha1.RolloutNever, false, false}, {v1alpha1.RolloutRolling, true, true}} {
		f := newRolledFleet(t, outdatedFleet(tc.rollout, "a")...)
		if f.concerns(f.report("a")) != tc.report || f.concerns(&clusterv1.Cluster{}) != tc.cluster {
			t.Errorf("%s: report %t, cluster %t", tc.rollout, !tc.report, !tc.cluster)
		}
		if f.concerns(next(v1alpha1.ReportedRollout{Started: since(1)})) != tc.report {
			t.Errorf("%s: a rollout of the past", tc.rollout)
		}
		for _, left := range []v1alpha1.ReportedRollout{{After: since(1)}, {Message: "waits"}} {
			if !f.concerns(next(left)) {
				t.Errorf("%s: nobody takes back %+v", tc.rollout, left)
			}
		}
	}
}

func TestARolloutsMessageLeadsToNoLook(t *testing.T) {
	f := newRolledFleet(t, outdatedFleet(v1alpha1.RolloutRolling, "a")...)
	before, after := f.report("a"), f.report("a")
	after.Status.Rollout = &v1alpha1.ReportedRollout{Message: "waits for its turn"}
	if concernsRollout.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("its own message does")
	}
	after.Status.Rollout.After = since(1)
	if !concernsRollout.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}) {
		t.Error("a claim does not")
	}
}

func TestTheEventsOfAFanOutAreOneLook(t *testing.T) {
	for name, newQueue := range map[string]func() machinery.Queue{
		"queue": func() machinery.Queue {
			return workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
		},
		"priority queue": func() machinery.Queue { return priorityqueue.New[reconcile.Request]("test") },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := newQueue()
				defer q.ShutDown()
				for range 5000 {
					fleetChanged.Update(t.Context(), event.UpdateEvent{}, q)
				}
				time.Sleep(2 * fleetDelay)
				synctest.Wait()
				item, _ := q.Get()
				q.Done(item)
				time.Sleep(2 * fleetDelay)
				synctest.Wait()
				if q.Len() != 0 {
					t.Errorf("%d more", q.Len())
				}
			})
		})
	}
}
