package decide

import (
	"context"
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/manager/controller/findings"
	"github.com/fairlead-io/fairlead/internal/write/apply"
)

var deletedAt = metav1.Unix(1000, 0)

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
	object := Decide(s, findings.OfList).targets(&v1alpha1.ProxyReport{})[0]
	key := make([]byte, apply.KeyBytes)
	fingerprint, sent := apply.Fingerprint(key, object.Object), &owners{}
	if _, err := apply.Write(t.Context(), sent, apply.Share(object.Object, s.Cluster)); err != nil {
		t.Fatal(err)
	}
	if len(sent.kinds) != 2 || sent.kinds[0] != "ProxyReport" || sent.kinds[1] != "Cluster" {
		t.Errorf("%v", sent.kinds)
	}
	if apply.Fingerprint(key, object.Object) != fingerprint || len(object.GetOwnerReferences()) != 1 {
		t.Error("the second owner is in the fingerprint")
	}
}
