// Package apply is the only writer of the Secrets that Fairlead promises, and of
// the ConfigMap beside them. It sends what package render made and says what became of it; it decides nothing.
package apply

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// FieldManager is the name under which every field is owned.
const FieldManager = "fairlead"

// NotOurs begins the message with which our admission policy refuses a write to an object of somebody else
// (config/rbac/admission_policy.yaml, config/rbac/configmap_policy.yaml).
const NotOurs = "NotOurs:"

// TakenError says that the object exists and is not ours to write.
type TakenError struct{ Object, Message string }

func (e *TakenError) Error() string { return fmt.Sprintf("%s: %s", e.Object, e.Message) }

// RefusedError says that the API server will not take the object as it is, so
// that trying again soon is no use.
type RefusedError struct{ Object, Message string }

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", e.Object, e.Message) }

// Answer is the API server's answer to a write.
type Answer struct {
	UID   types.UID
	At    metav1.Time // when our fields last changed, by the API server's clock
	Rival string      // the field manager that had taken fields from us, if one had
}

// Write applies what Object or ConfigMap returned server-side, and removes data
// keys that are not ours: each of these objects is Fairlead's whole.
//
// The first attempt is made without force, because its conflict names the rival
// who changed our fields; the second takes them back. Whether the object is
// ours at all is for the admission policy to say, since we cannot read it.
func Write(ctx context.Context, c client.Client, object client.Object) (Answer, error) {
	answer, err := send(ctx, c, object)
	var rival string
	if rivals := conflictingManagers(err); len(rivals) > 0 {
		rival = strings.Join(others(rivals), ", ")
		answer, err = send(ctx, c, object, client.ForceOwnership)
	}
	if err == nil {
		err = prune(ctx, c, object, answer)
	}
	if err != nil {
		return Answer{}, classify(Title(object), err)
	}
	return Answer{UID: answer.GetUID(), At: lastChange(answer), Rival: rival}, nil
}

// send applies the object server-side and returns what the API server has then.
func send(ctx context.Context, c client.Client, object client.Object, opts ...client.PatchOption) (client.Object, error) {
	data, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	answer := reflect.New(reflect.TypeOf(object).Elem()).Interface().(client.Object)
	answer.SetNamespace(object.GetNamespace())
	answer.SetName(object.GetName())
	opts = append(opts, client.FieldOwner(FieldManager))
	return answer, c.Patch(ctx, answer, client.RawPatch(types.ApplyPatchType, data), opts...)
}

// prune removes data keys that the object has beyond ours.
func prune(ctx context.Context, c client.Client, object, answer client.Object) error {
	wanted, foreign := dataKeys(object), map[string]map[string]any{}
	for field, keys := range dataKeys(answer) {
		for _, key := range keys {
			if slices.Contains(wanted[field], key) {
				continue
			}
			if foreign[field] == nil {
				foreign[field] = map[string]any{}
			}
			foreign[field][key] = nil
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	patch, err := json.Marshal(foreign)
	if err != nil {
		return err
	}
	return c.Patch(ctx, answer, client.RawPatch(types.MergePatchType, patch), client.FieldOwner(FieldManager))
}

// dataKeys returns the keys of a Secret or a ConfigMap, by field.
func dataKeys(object client.Object) map[string][]string {
	switch o := object.(type) {
	case *corev1.Secret:
		return map[string][]string{"data": slices.Collect(maps.Keys(o.Data))}
	case *corev1.ConfigMap:
		return map[string][]string{"data": slices.Collect(maps.Keys(o.Data)), "binaryData": slices.Collect(maps.Keys(o.BinaryData))}
	}
	return nil
}

// lastChange reads when our own fields last changed. The API server moves the
// time of our entry only when an apply changes something. Until then, what WriteNew
// created has the entry of its creation.
func lastChange(answer client.Object) metav1.Time {
	var created metav1.Time
	for _, entry := range answer.GetManagedFields() {
		switch {
		case entry.Manager != FieldManager || entry.Time == nil:
		case entry.Operation == metav1.ManagedFieldsOperationApply:
			return *entry.Time
		default:
			created = *entry.Time
		}
	}
	return created
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

// others returns the managers but ourselves. An object that WriteNew created has two entries of ours, for two
// operations.
func others(managers []string) []string {
	return slices.DeleteFunc(managers, func(manager string) bool { return manager == FieldManager })
}

func classify(object string, err error) error {
	message := err.Error()
	if at := strings.Index(message, NotOurs); at >= 0 {
		return &TakenError{object, strings.TrimSpace(message[at+len(NotOurs):])}
	}
	switch {
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause):
		return &RefusedError{object, "the namespace is being deleted"}
	case apierrors.IsForbidden(err), apierrors.IsInvalid(err), apierrors.IsRequestEntityTooLargeError(err):
		return &RefusedError{object, message}
	}
	return fmt.Errorf("applying %s: %w", object, err)
}
