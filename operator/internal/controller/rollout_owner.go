package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

// rolloutManager is the field manager of spec.rollout.after, and of status.rollout
// of the reports.
const rolloutManager = client.FieldOwner("fairlead-rollout")

// rolloutCage is the ValidatingAdmissionPolicy that keeps the operator's writes to
// owners of machines to spec.rollout.after (config/rollout).
const rolloutCage = "fairlead-operator-rollout"

var ownerGroups = map[string]schema.GroupVersion{
	kindKubeadmControlPlane: {Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2"},
	kindMachineDeployment:   clusterv1.GroupVersion,
}

// ownerState is what is read live of a control plane or MachineDeployment.
type ownerState struct {
	object *unstructured.Unstructured // nil: there is none
	after  *metav1.Time
	keeper string // the field manager that keeps spec.rollout.after, if somebody else does
}

// blockedError says what keeps Fairlead from rolling, in words for the report.
type blockedError struct{ message string }

func (e *blockedError) Error() string { return e.message }

func readOwner(ctx context.Context, live client.Reader, namespace string, o v1alpha1.ReportedOwner) (ownerState, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(ownerGroups[o.Kind].WithKind(o.Kind))
	err := live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: o.Name}, object)
	switch {
	case apierrors.IsNotFound(err):
		return ownerState{}, nil
	case apierrors.IsForbidden(err):
		return ownerState{}, notAllowed(o)
	case err != nil:
		return ownerState{}, fmt.Errorf("reading %s %s/%s: %w", o.Kind, namespace, o.Name, err)
	}
	state := ownerState{object: object, keeper: keeperOfAfter(object.GetManagedFields())}
	if text, _, _ := unstructured.NestedString(object.Object, "spec", "rollout", "after"); text != "" {
		after, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return state, fmt.Errorf("%s %s/%s: spec.rollout.after: %w", o.Kind, namespace, o.Name, err)
		}
		state.after = &metav1.Time{Time: after}
	}
	return state, nil
}

func notAllowed(o v1alpha1.ReportedOwner) error {
	return &blockedError{fmt.Sprintf("waits: the operator may not roll %s; apply config/rollout to let it, or set spec.node.rollout to Never", ownerName(o))}
}

// keeperOfAfter returns who declares spec.rollout.after and would put it back: a
// manager of server-side apply, as Cluster API's topology controller and GitOps
// tools are. Who has once set it, as clusterctl does, is none.
func keeperOfAfter(entries []metav1.ManagedFieldsEntry) string {
	for _, entry := range entries {
		if entry.Operation != metav1.ManagedFieldsOperationApply || entry.FieldsV1 == nil {
			continue
		}
		var fields struct {
			Spec struct {
				V1Beta1 any `json:"f:rolloutAfter"`
				Rollout struct {
					After any `json:"f:after"`
				} `json:"f:rollout"`
			} `json:"f:spec"`
		}
		if json.Unmarshal(entry.FieldsV1.GetRawBytes(), &fields) == nil && (fields.Spec.Rollout.After != nil || fields.Spec.V1Beta1 != nil) {
			return entry.Manager
		}
	}
	return ""
}

// checkRolloutCage tries, as a dry run, to change something else of the owner, and
// returns a *blockedError unless the admission policy refuses it.
func checkRolloutCage(ctx context.Context, c client.Client, o v1alpha1.ReportedOwner, state ownerState) error {
	probe := []byte(`{"metadata":{"annotations":{"fairlead.io/cage-probe":"true"}}}`)
	err := c.Patch(ctx, state.object.DeepCopy(), client.RawPatch(types.MergePatchType, probe), client.DryRunAll)
	switch {
	case err == nil:
		return &blockedError{fmt.Sprintf("waits: nothing would keep the operator from changing more than spec.rollout.after of %s; apply config/rollout, with the admission policy %s", ownerName(o), rolloutCage)}
	case apierrors.IsForbidden(err) && strings.Contains(err.Error(), rolloutCage):
		return nil
	case apierrors.IsForbidden(err):
		return notAllowed(o)
	}
	return fmt.Errorf("trying the admission policy %s on %s: %w", rolloutCage, ownerName(o), err)
}

// roll sets spec.rollout.after of an owner that is as it was read.
func roll(ctx context.Context, c client.Client, state ownerState, after *metav1.Time) error {
	patch := fmt.Appendf(nil, `{"metadata":{"resourceVersion":%q},"spec":{"rollout":{"after":%q}}}`,
		state.object.GetResourceVersion(), after.UTC().Format(time.RFC3339))
	return c.Patch(ctx, state.object, client.RawPatch(types.MergePatchType, patch), rolloutManager)
}
