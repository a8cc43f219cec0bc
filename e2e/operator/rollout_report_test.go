package operator_test

import (
	"fmt"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func TestARolloutThatAnEarlierVersionAppliedIsTakenBack(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	f.report("c1", "Applied")
	applied := &unstructured.Unstructured{Object: map[string]any{
		"metadata": map[string]any{"namespace": f.namespace, "name": "c1"},
		"status": map[string]any{"rollout": map[string]any{
			"after": "2026-01-02T03:04:05Z", "started": "2026-01-02T03:05:05Z", "owner": "MachineDeployment/md", "message": "rolling MachineDeployment md",
		}},
	}}
	applied.SetGroupVersionKind(v1alpha1.GroupVersion.WithKind("ProxyReport"))
	f.must(f.client.Status().Apply(t.Context(), client.ApplyConfigurationFromUnstructured(applied), client.FieldOwner("fairlead-rollout"), client.ForceOwnership))
	report := f.awaitRollout("c1", "")
	if said := report.Status.Rollout; said == nil || said.After != nil || said.Owner != "" || said.Started == nil || !hasCondition(report, v1alpha1.ConditionReady) {
		t.Errorf("%+v", report.Status)
	}
}

// Every change of an owner comes after a write that may change nothing.
func TestAWriteThatChangesNothingIsRefusedWhereTheReportIsAnother(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	report := f.report("c1", "Applied")
	same := func(version string) error {
		patch := fmt.Sprintf(`{"metadata":{"resourceVersion":%q},"status":{"mode":%q}}`, version, report.Status.Mode)
		return f.client.Status().Patch(t.Context(), report.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(patch)))
	}
	f.must(same(report.ResourceVersion))
	f.must(f.client.Status().Patch(t.Context(), report.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(`{"status":{"rollout":{"started":"2026-01-02T03:05:05Z"}}}`))))
	if err := same(report.ResourceVersion); !apierrors.IsConflict(err) {
		t.Errorf("%v", err)
	}
}
