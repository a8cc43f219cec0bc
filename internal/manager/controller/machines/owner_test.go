package machines

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const changedAt = 10_000 // the second of the change that these tests are about

func TestOnlyWhoDeclaresAfterKeepsIt(t *testing.T) {
	entry := func(operation metav1.ManagedFieldsOperationType, fields string) []metav1.ManagedFieldsEntry {
		return []metav1.ManagedFieldsEntry{
			{Manager: "capi-kubeadmcontrolplane", Operation: metav1.ManagedFieldsOperationUpdate, FieldsV1: metav1.NewFieldsV1(`{"f:status":{}}`)},
			{Manager: "m", Operation: operation, FieldsV1: metav1.NewFieldsV1(fields)},
		}
	}
	const after = `{"f:spec":{"f:rollout":{"f:after":{}}}}`
	for name, tc := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		manager string
	}{
		"a topology with after":    {entry(metav1.ManagedFieldsOperationApply, after), "m"},
		"a manifest of v1beta1":    {entry(metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:rolloutAfter":{}}}`), "m"},
		"a topology without after": {entry(metav1.ManagedFieldsOperationApply, `{"f:spec":{"f:rollout":{"f:strategy":{"f:type":{}}}}}`), ""},
		"clusterctl, once":         {entry(metav1.ManagedFieldsOperationUpdate, after), ""},
		"nobody":                   {nil, ""},
	} {
		if got := managerOfAfter(tc.entries); got != tc.manager {
			t.Errorf("%s: %q, want %q", name, got, tc.manager)
		}
	}
}

func TestAnOwnerIsDoneWhenItsNewMachinesAreThereAndTheOldOnesAreGone(t *testing.T) {
	for name, tc := range map[string]struct {
		status map[string]any
		want   bool
	}{
		"all there":                   {map[string]any{"replicas": int64(3), "upToDateReplicas": int64(3), "availableReplicas": int64(3)}, true},
		"one does not come up":        {map[string]any{"replicas": int64(3), "upToDateReplicas": int64(3), "availableReplicas": int64(2)}, false},
		"an old one does not go":      {map[string]any{"replicas": int64(4), "upToDateReplicas": int64(3), "availableReplicas": int64(3)}, false},
		"one is still the old":        {map[string]any{"replicas": int64(3), "upToDateReplicas": int64(2), "availableReplicas": int64(3)}, false},
		"between the old and the new": {nil, false},
	} {
		object := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(3)}, "status": tc.status}}
		if got := (ownerState{object: object}).complete(); got != tc.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if !(ownerState{}).complete() {
		t.Error("one that was deleted is waited for")
	}
}

func TestAnOwnerIsLeftAloneForAReason(t *testing.T) {
	now := time.Unix(changedAt+60, 0)
	there := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clusterName": "c0"}}}
	plane := &unstructured.Unstructured{}
	plane.SetLabels(map[string]string{"cluster.x-k8s.io/cluster-name": "c0"})
	another := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"clusterName": "c1"}}}
	for name, tc := range map[string]struct {
		state ownerState
		want  string
	}{
		"a control plane":             {ownerState{object: plane}, ""},
		"it is of another Cluster":    {ownerState{object: another}, `which is of Cluster "c1"`},
		"nothing against it":          {ownerState{object: there}, ""},
		"rolled before":               {ownerState{object: there, after: since(changedAt - 1)}, ""},
		"it is gone":                  {ownerState{}, "which does not exist"},
		"it is kept":                  {ownerState{object: there, manager: "m", after: since(changedAt - 1)}, `whose spec.rollout.after is kept by "m"`},
		"the keeper rolls it":         {ownerState{object: there, manager: "m", after: since(changedAt)}, ""},
		"somebody has a date in mind": {ownerState{object: there, after: since(changedAt + 61)}, "which is to be rolled at 1970-01-01T02:47:41Z anyway"},
	} {
		if got := tc.state.leftAlone("c0", since(changedAt), now); got != tc.want {
			t.Errorf("%s: %q", name, got)
		}
	}
	ours := ownerState{object: there, after: since(changedAt)}
	if got := ours.leftAlone("c0", since(changedAt), time.Unix(changedAt-60, 0)); got != "" {
		t.Errorf("by a clock that is behind the API server's: %q", got)
	}
}
