package cluster

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

func TestOnlyAnotherClustersEndpointIsAReasonToLookAgain(t *testing.T) {
	cluster := func(name, host string) *clusterv1.Cluster {
		return &clusterv1.Cluster{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
			Spec:       clusterv1.ClusterSpec{ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: host}},
		}
	}
	p := endpointsChange(clusterKey("mgmt"))
	for what, test := range map[string]struct{ got, want bool }{
		"created":              {p.Create(event.CreateEvent{Object: cluster("a", "h")}), true},
		"created without":      {p.Create(event.CreateEvent{Object: cluster("a", "")}), false},
		"appeared":             {p.Update(event.UpdateEvent{ObjectOld: cluster("a", ""), ObjectNew: cluster("a", "h")}), true},
		"changed":              {p.Update(event.UpdateEvent{ObjectOld: cluster("a", "g"), ObjectNew: cluster("a", "h")}), true},
		"something else":       {p.Update(event.UpdateEvent{ObjectOld: cluster("a", "h"), ObjectNew: cluster("a", "h")}), false},
		"deleted":              {p.Delete(event.DeleteEvent{Object: cluster("a", "h")}), true},
		"deleted without":      {p.Delete(event.DeleteEvent{Object: cluster("a", "")}), false},
		"its own, created":     {p.Create(event.CreateEvent{Object: cluster("mgmt", "h")}), false},
		"its own, as it moves": {p.Update(event.UpdateEvent{ObjectOld: cluster("mgmt", "g"), ObjectNew: cluster("mgmt", "h")}), false},
	} {
		if test.got != test.want {
			t.Errorf("%s: %t", what, test.got)
		}
	}
}

func TestOnlyAnUpdateThatChangesACountIsLookedAt(t *testing.T) {
	gone, yes := metav1.Unix(7, 0), true
	for name, tc := range map[string]struct {
		change func(*metav1.PartialObjectMetadata)
		want   bool
	}{
		"any other":                   {func(m *metav1.PartialObjectMetadata) { m.ResourceVersion = "4" }, false},
		"it is being deleted":         {func(m *metav1.PartialObjectMetadata) { m.DeletionTimestamp = &gone }, true},
		"another one of the name":     {func(m *metav1.PartialObjectMetadata) { m.CreationTimestamp = metav1.Unix(9, 0) }, true},
		"it belongs to a new cluster": {func(m *metav1.PartialObjectMetadata) { m.Labels[clusterv1.ClusterNameLabel] = "c2" }, true},
		"it belongs to a new owner": {func(m *metav1.PartialObjectMetadata) {
			m.OwnerReferences = []metav1.OwnerReference{{Kind: "MachineSet", Name: "ms", Controller: &yes}}
		}, true},
	} {
		before := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{
			CreationTimestamp: metav1.Unix(5, 0), Labels: map[string]string{clusterv1.ClusterNameLabel: "c1"},
		}}
		after := before.DeepCopy()
		tc.change(after)
		if got := countsChanged.Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after}); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
