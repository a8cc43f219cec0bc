package controller

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

var deletedAt = metav1.Unix(1000, 0)

func deleted(generation int64, finalizers ...string) *v1alpha1.ProxyReport {
	return &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{
		Generation: generation, DeletionTimestamp: &deletedAt, Finalizers: append(finalizers, v1alpha1.ReportFinalizer),
	}}
}

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
		s.report = test.report
		s.report.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, ObservedGeneration: 1}}
		if got := (&ClusterReconciler{memory: &memory{}}).deletionDue(&s); got != test.due {
			t.Errorf("%s: %t", name, got)
		}
		// It stays due until everything was applied.
		for name, generation := range map[string]int64{
			"a failure": nextGeneration(&s, decision{}, outcome{retry: context.Canceled}), "a pause": nextGeneration(&s, decision{paused: true}, outcome{}),
		} {
			if test.due && generation != 1 {
				t.Errorf("%s ends it", name)
			}
		}
		if done := nextGeneration(&s, decision{}, outcome{}) == s.report.Generation; done == beingCollected(s.report) {
			t.Errorf("%s: everything was applied after it: %t", name, done)
		}
	}
}

func TestTheClusterOwnsWhatTheReportOwnsUnlessItIsCollected(t *testing.T) {
	living, collected := &clusterv1.Cluster{}, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{
		DeletionTimestamp: &deletedAt, Finalizers: []string{clusterv1.ClusterFinalizer, metav1.FinalizerDeleteDependents},
	}}
	going := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{DeletionTimestamp: &deletedAt, Finalizers: []string{clusterv1.ClusterFinalizer}}}
	written := v1alpha1.SecretRecord{UID: "u"}
	for name, test := range map[string]struct {
		cluster *clusterv1.Cluster
		last    v1alpha1.SecretRecord
		newKey  bool
		want    bool
	}{
		"the first write":                  {living, v1alpha1.SecretRecord{}, false, true},
		"written by an earlier version":    {living, written, false, true},
		"and the key was lost":             {living, written, true, false},
		"the Cluster is deleted":           {going, written, false, true},
		"its dependents are deleted first": {collected, v1alpha1.SecretRecord{UID: "u", OwnedByCluster: true}, false, false},
	} {
		if got := sharedOwnership(test.cluster, test.last, test.newKey); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// An upgrade writes nothing; the paced re-apply adds the owner, which is nobody's revert.
func TestTheSecondOwnerComesWithThePacedReapply(t *testing.T) {
	server, r, s := withConfigMap(t)
	turn(r, s)
	for i := range s.report.Status.Secrets {
		s.report.Status.Secrets[i].OwnedByCluster = false
	}
	writes := server.applied["Secret"]
	turn(r, s)
	if server.applied["Secret"] != writes {
		t.Error("a Secret is written for its owner alone")
	}
	r.memory.of(clusterKey("c1")).turn = time.Now()
	if out := turn(r, s); server.applied["Secret"] != writes+2 || len(out.created)+len(out.mended) != 0 {
		t.Errorf("%d writes, %+v", server.applied["Secret"]-writes, out)
	}
	for _, record := range s.report.Status.Secrets {
		if !record.OwnedByCluster || record.Reverts != 0 {
			t.Errorf("%+v", record)
		}
	}
}

// owners records those that are sent.
type owners struct {
	client.Client
	kinds []string
}

func (o *owners) Patch(_ context.Context, answer client.Object, patch client.Patch, _ ...client.PatchOption) error {
	data, err := patch.Data(answer)
	if err != nil {
		return err
	}
	var sent metav1.PartialObjectMetadata
	err = json.Unmarshal(data, &sent)
	for _, owner := range sent.OwnerReferences {
		o.kinds = append(o.kinds, owner.Kind)
	}
	return err
}

func TestSharedObjectsAreSentWithBothOwners(t *testing.T) {
	s := aState(t)
	object := decide(s, lintList).targets(&v1alpha1.ProxyReport{})[0]
	key := make([]byte, apply.KeyBytes)
	fingerprint, sent := apply.Fingerprint(key, object.Object), &owners{}
	if _, err := apply.Write(t.Context(), sent, apply.Share(object.Object, s.cluster)); err != nil {
		t.Fatal(err)
	}
	if len(sent.kinds) != 2 || sent.kinds[0] != "ProxyReport" || sent.kinds[1] != "Cluster" {
		t.Errorf("%v", sent.kinds)
	}
	if apply.Fingerprint(key, object.Object) != fingerprint || len(object.GetOwnerReferences()) != 1 {
		t.Error("the second owner is in the fingerprint")
	}
}

func TestWhatTheCollectorDoesToAReportIsNoticed(t *testing.T) {
	r := &ClusterReconciler{memory: &memory{}}
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
	s.report = without
	s.report.Status.Conditions = []metav1.Condition{{Type: v1alpha1.ConditionReady, ObservedGeneration: 2}}
	if !r.deletionDue(&s) || r.deletionDue(&s) {
		t.Error("it is not due once")
	}
	// The collector may act upon what it saw of the report before.
	if soon := r.untilCollected(s.report); soon <= 0 || soon > settleCollected {
		t.Errorf("it is looked at again in %s", soon)
	}
	settled := time.Now().Add(settleCollected)
	if key := client.ObjectKeyFromObject(s.report); !r.memory.takeCollected(key, settled) || r.memory.takeCollected(key, settled) || r.memory.untilCollected(key, settled) != 0 {
		t.Error("it is not due once more, and then no more")
	}
}

func TestAnApplicationThatFellDueDuringAReconcileIsNotForgotten(t *testing.T) {
	now := metav1.Now()
	report := &v1alpha1.ProxyReport{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c0", DeletionTimestamp: &now}}
	r := &ClusterReconciler{memory: &memory{}}
	r.memory.collect(clusterKey("c0"), time.Now().Add(-time.Hour))
	if wait := r.untilCollected(report); wait <= 0 {
		t.Errorf("everything is due, and the next look is in %s", wait)
	}
}
