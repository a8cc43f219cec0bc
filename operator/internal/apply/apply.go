// Package apply is the only writer of the Secrets that Fairlead promises. It
// sends what package render made and says what became of it; it decides nothing.
package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldManager is the name under which every field is owned.
const FieldManager = "fairlead"

// NotOurs is the beginning of the message with which our admission policy
// refuses a write to somebody else's Secret (config/rbac/admission_policy.yaml).
const NotOurs = "NotOurs:"

// TakenError says that the Secret exists and is not ours to write.
type TakenError struct{ Name, Message string }

func (e *TakenError) Error() string { return fmt.Sprintf("Secret %s: %s", e.Name, e.Message) }

// RefusedError says that the API server will not take the Secret as it is, so
// that trying again soon is no use.
type RefusedError struct{ Name, Message string }

func (e *RefusedError) Error() string { return fmt.Sprintf("Secret %s: %s", e.Name, e.Message) }

// Written is what the API server answered.
type Written struct {
	UID   types.UID
	At    metav1.Time // when our fields last changed, by the API server's clock
	Rival string      // the field manager that had taken fields from us, if one had
}

// Secret applies the Secret server-side, and removes data keys that are not
// ours: each of these Secrets is Fairlead's whole.
//
// The first attempt is made without force, because its conflict names the rival
// who changed our fields; the second takes them back. Whether the Secret is
// ours at all is for the admission policy to say, since we cannot read it.
func Secret(ctx context.Context, c client.Client, secret *corev1.Secret) (Written, error) {
	answer, err := send(ctx, c, secret)
	var rival string
	if rivals := conflictingManagers(err); len(rivals) > 0 {
		rival = strings.Join(rivals, ", ")
		answer, err = send(ctx, c, secret, client.ForceOwnership)
	}
	if err == nil {
		err = prune(ctx, c, secret, answer)
	}
	if err != nil {
		return Written{}, classify(secret.Name, err)
	}
	return Written{UID: answer.GetUID(), At: lastChange(answer), Rival: rival}, nil
}

func send(ctx context.Context, c client.Client, secret *corev1.Secret, opts ...client.ApplyOption) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
	if err != nil {
		return nil, err
	}
	answer := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(answer.Object, "metadata", "creationTimestamp")
	opts = append(opts, client.FieldOwner(FieldManager))
	return answer, c.Apply(ctx, client.ApplyConfigurationFromUnstructured(answer), opts...)
}

// prune removes data keys that the Secret has beyond ours.
func prune(ctx context.Context, c client.Client, secret *corev1.Secret, answer *unstructured.Unstructured) error {
	data, _, err := unstructured.NestedMap(answer.Object, "data")
	if err != nil {
		return err
	}
	foreign := map[string]any{}
	for key := range data {
		if _, ours := secret.Data[key]; !ours {
			foreign[key] = nil
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"data": foreign})
	if err != nil {
		return err
	}
	return c.Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager))
}

// lastChange reads when our own fields last changed. The API server moves the
// time of our entry only when an apply changes something.
func lastChange(answer *unstructured.Unstructured) metav1.Time {
	for _, entry := range answer.GetManagedFields() {
		if entry.Manager == FieldManager && entry.Operation == metav1.ManagedFieldsOperationApply && entry.Time != nil {
			return *entry.Time
		}
	}
	return metav1.Time{}
}

var managerInCause = regexp.MustCompile(`conflict with "([^"]+)"`)

func conflictingManagers(err error) []string {
	if !apierrors.IsConflict(err) {
		return nil
	}
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Details == nil {
		return nil
	}
	var managers []string
	for _, cause := range status.Status().Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		if match := managerInCause.FindStringSubmatch(cause.Message); match != nil && !slices.Contains(managers, match[1]) {
			managers = append(managers, match[1])
		}
	}
	return managers
}

func classify(name string, err error) error {
	message := err.Error()
	if at := strings.Index(message, NotOurs); at >= 0 {
		return &TakenError{name, strings.TrimSpace(message[at+len(NotOurs):])}
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &RefusedError{name, "the namespace is being deleted"}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err):
		return &RefusedError{name, message}
	}
	return fmt.Errorf("applying Secret %s: %w", name, err)
}
