package machines

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
	"github.com/fairlead-io/fairlead/internal/manager/controller/machinery"
	"github.com/fairlead-io/fairlead/internal/write/apply"
	"github.com/fairlead-io/fairlead/internal/write/cage"
)

// rolloutManager is the field manager of spec.rollout.after, and of status.rollout
// of the reports.
const rolloutManager = client.FieldOwner("fairlead-rollout")

// rolloutCage is the ValidatingAdmissionPolicy that keeps the operator's writes to
// owners of machines to spec.rollout.after (config/rbac/rollout_policy.yaml).
const rolloutCage = "fairlead-operator-rollout"

var ownerGroups = map[string]schema.GroupVersion{
	rollout.KubeadmControlPlane: {Group: "controlplane.cluster.x-k8s.io", Version: "v1beta2"},
	rollout.MachineDeployment:   clusterv1.GroupVersion,
}

// ownerState is a control plane or MachineDeployment, read live.
type ownerState struct {
	object  *unstructured.Unstructured // nil: there is none
	after   *metav1.Time
	manager string // the field manager that keeps spec.rollout.after, if somebody else does
}

// blockedError says what keeps Fairlead from rolling, in words for the report.
type blockedError struct{ message string }

// Error implements error.
func (e *blockedError) Error() string { return e.message }

func readOwner(ctx context.Context, live client.Reader, namespace string, o v1alpha1.ReportedOwner) (ownerState, error) {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(ownerGroups[o.Kind].WithKind(o.Kind))
	err := live.Get(ctx, types.NamespacedName{Namespace: namespace, Name: o.Name}, object)
	switch {
	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):
		return ownerState{}, nil
	case apierrors.IsForbidden(err):
		return ownerState{}, notAllowed(o)
	case machinery.AboutOne(err):
		return ownerState{}, &blockedError{fmt.Sprintf("waits: %s cannot be read (%s)", rollout.OwnerName(o), apierrors.ReasonForError(err))}
	case err != nil:
		return ownerState{}, fmt.Errorf("reading %s %s/%s: %w", o.Kind, namespace, o.Name, err)
	}
	state := ownerState{object: object, manager: managerOfAfter(object.GetManagedFields())}
	if text, _, _ := unstructured.NestedString(object.Object, "spec", "rollout", "after"); text != "" {
		after, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return state, &blockedError{fmt.Sprintf("waits: spec.rollout.after of %s is not a time", rollout.OwnerName(o))}
		}
		state.after = &metav1.Time{Time: after}
	}
	return state, nil
}

// complete reports whether an owner has the machines that it should have, all of them new and available, and no old one
// on the way out. An owner that is gone is complete.
func (s ownerState) complete() bool {
	if s.object == nil {
		return true
	}
	wanted, _, _ := unstructured.NestedInt64(s.object.Object, "spec", "replicas")
	for _, field := range []string{"replicas", "upToDateReplicas", "availableReplicas"} {
		if s.count(field) != wanted {
			return false
		}
	}
	return true
}

// count returns a number of machines from the owner's status.
func (s ownerState) count(field string) int64 {
	if s.object == nil {
		return 0
	}
	n, _, _ := unstructured.NestedInt64(s.object.Object, "status", field)
	return n
}

// rolledSince reports whether spec.rollout.after already replaces machines that are older than since.
func (s ownerState) rolledSince(since *metav1.Time) bool {
	return s.after != nil && !s.after.Before(since)
}

// cluster returns the name of the Cluster that an owner is of. The labels of a Machine say which owner it has: who writes these may
// name any. A control plane has no spec.clusterName; Cluster API labels it.
func (s ownerState) cluster() string {
	name, _, _ := unstructured.NestedString(s.object.Object, "spec", "clusterName")
	return cmp.Or(name, s.object.GetLabels()[clusterv1.ClusterNameLabel])
}

// leftAlone says why Fairlead does not roll an owner, in words for the report, if so.
// The operator's clock may be behind the one that since is of.
func (s ownerState) leftAlone(cluster string, since *metav1.Time, now time.Time) string {
	switch {
	case s.object == nil:
		return "which does not exist"
	case s.cluster() != cluster:
		return fmt.Sprintf("which is of Cluster %q", s.cluster())
	case s.after != nil && s.after.After(now) && !s.after.Equal(since):
		return "which is to be rolled at " + s.after.UTC().Format(time.RFC3339) + " anyway"
	case s.manager != "" && !s.rolledSince(since):
		return fmt.Sprintf("whose spec.rollout.after is kept by %q", s.manager)
	}
	return ""
}

func notAllowed(o v1alpha1.ReportedOwner) error {
	return &blockedError{fmt.Sprintf("waits: the operator may not roll %s; apply config/rollout to let it, or set spec.node.rollout to Never", rollout.OwnerName(o))}
}

// managerOfAfter returns who declares spec.rollout.after and would put it back: a
// manager of server-side apply, as Cluster API's topology controller and GitOps
// tools are. Who has once set it, as clusterctl does, is none.
func managerOfAfter(entries []metav1.ManagedFieldsEntry) string {
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
	err := cage.CheckPatch(ctx, c, state.object, rolloutCage)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, cage.ErrOpen):
		return &blockedError{fmt.Sprintf("waits: nothing would keep the operator from changing more than spec.rollout.after of %s; apply config/rbac, with the admission policy %s", rollout.OwnerName(o), rolloutCage)}
	case apierrors.IsForbidden(err):
		return notAllowed(o)
	case machinery.AboutOne(err):
		return refused(o, err)
	}
	return fmt.Errorf("trying the admission policy %s on %s: %w", rolloutCage, rollout.OwnerName(o), err)
}

// roll sets spec.rollout.after of an owner that is as it was read.
func roll(ctx context.Context, c client.Client, o v1alpha1.ReportedOwner, state ownerState, after *metav1.Time, opts ...client.PatchOption) error {
	patch := map[string]any{
		"metadata": map[string]any{"resourceVersion": state.object.GetResourceVersion()},
		"spec":     map[string]any{"rollout": map[string]any{"after": after.UTC().Format(time.RFC3339)}},
	}
	err := apply.Merge(ctx, c, state.object, patch, append(opts, rolloutManager)...)
	switch {
	case machinery.AboutOne(err):
		return refused(o, err)
	case err != nil:
		return fmt.Errorf("setting spec.rollout.after of %s in namespace %s: %w", rollout.OwnerName(o), state.object.GetNamespace(), err)
	}
	return nil
}

// refused leaves out what the API server says: it quotes from the object, which
// others may read than those who read reports.
func refused(o v1alpha1.ReportedOwner, err error) error {
	return &blockedError{fmt.Sprintf("waits: the API server takes no change of %s (%s); a change by hand tells why", rollout.OwnerName(o), apierrors.ReasonForError(err))}
}
