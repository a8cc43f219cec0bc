package apply

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// server answers as told, and remembers what it was asked for.
type server struct {
	client.Client
	create, patch error
	asked         []string
	tests         []struct{ Op, Path string }
}

func (s *server) Create(context.Context, client.Object, ...client.CreateOption) error {
	s.asked = append(s.asked, "create")
	return s.create
}

func (s *server) Patch(_ context.Context, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
	if patch.Type() == types.ApplyPatchType {
		s.asked = append(s.asked, "apply")
		return nil
	}
	s.asked = append(s.asked, "compare")
	text, err := patch.Data(o)
	return errors.Join(err, json.Unmarshal(text, &s.tests), s.patch)
}

func TestWhatMayOnlyBeCreatedReplacesNothing(t *testing.T) {
	secrets := corev1.Resource("secrets")
	exists := apierrors.NewAlreadyExists(secrets, "c1-cluster-values")
	differs := apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "patch", secrets, "", "testing value", 0, false)
	theirs := apierrors.NewForbidden(secrets, "", errors.New(NotOurs+" it is theirs"))
	var existsError *ExistsError
	var refused *RefusedError
	for name, test := range map[string]struct {
		create, patch error
		asked         []string
		want          any // the type of the error
	}{
		"there is none":                   {nil, nil, []string{"create", "apply"}, nil},
		"another content":                 {exists, differs, []string{"create", "compare"}, &existsError},
		"somebody else's":                 {exists, theirs, []string{"create", "compare"}, &existsError},
		"ours, of before a crash":         {exists, nil, []string{"create", "compare", "apply"}, nil},
		"it may not be created":           {apierrors.NewForbidden(secrets, "", errors.New("quota")), nil, []string{"create"}, &refused},
		"the comparison does not succeed": {exists, apierrors.NewTimeoutError("later", 1), []string{"create", "compare"}, new(error)},
	} {
		s := &server{create: test.create, patch: test.patch}
		object := &corev1.Secret{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
			ObjectMeta: metav1.ObjectMeta{Name: "c1-cluster-values", Labels: map[string]string{"fairlead.io/secret": "cluster-values"}},
			Data:       map[string][]byte{"values": []byte("blank")},
		}
		_, err := WriteNew(t.Context(), s, object)
		if !slices.Equal(s.asked, test.asked) || (err == nil) != (test.want == nil) || err != nil && !errors.As(err, test.want) {
			t.Errorf("%s: %v, asked for %v", name, err, s.asked)
		}
		if len(s.tests) > 0 && (s.tests[0].Op != "test" || s.tests[0].Path != "/data" || s.tests[1].Op != "test" || s.tests[1].Path != "/metadata/labels/fairlead.io~1secret" || len(s.tests) != 2) {
			t.Errorf("%s: %+v", name, s.tests)
		}
	}
}

func TestTheLastChangeIsOfWhatWasAppliedElseCreated(t *testing.T) {
	created, applied := metav1.Unix(1000, 0), metav1.Unix(2000, 0)
	entry := func(manager string, operation metav1.ManagedFieldsOperationType, at *metav1.Time) metav1.ManagedFieldsEntry {
		return metav1.ManagedFieldsEntry{Manager: manager, Operation: operation, Time: at}
	}
	create := entry(FieldManager, metav1.ManagedFieldsOperationUpdate, &created)
	apply := entry(FieldManager, metav1.ManagedFieldsOperationApply, &applied)
	rival := entry("rival", metav1.ManagedFieldsOperationApply, &applied)
	for name, test := range map[string]struct {
		entries []metav1.ManagedFieldsEntry
		want    metav1.Time
	}{
		"created":               {[]metav1.ManagedFieldsEntry{rival, create}, created},
		"created, then applied": {[]metav1.ManagedFieldsEntry{apply, create}, applied},
		"applied":               {[]metav1.ManagedFieldsEntry{rival, apply}, applied},
	} {
		answer := &unstructured.Unstructured{Object: map[string]any{}}
		answer.SetManagedFields(test.entries)
		if got := lastChange(answer); !got.Equal(&test.want) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// To the API server, the creation and the apply have two field managers of one name.
func TestWeAreNotOurOwnRival(t *testing.T) {
	if got := others([]string{FieldManager, "rival"}); !slices.Equal(got, []string{"rival"}) {
		t.Error(got)
	}
	if got := others([]string{FieldManager}); len(got) != 0 {
		t.Error(got)
	}
}
