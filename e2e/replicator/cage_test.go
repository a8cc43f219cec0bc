package replicator_test

import (
	"context"
	"maps"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
)

// Somebody has stolen the replicator's token.
func TestAStolenTokenReadsAndWritesNoOtherSecret(t *testing.T) {
	f := newFixture(t)
	namespace, taken := f.namespace(), f.namespace(selection, "exclude")
	f.awaitCopy(namespace)
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "foreign"}, Data: map[string][]byte{"a": []byte("b")}}
	theirs := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: taken, Name: policies.Secret}, Data: map[string][]byte{"a": []byte("b")}}
	typed := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace(selection, "exclude"), Name: policies.Secret, Labels: map[string]string{ourLabel: "proxy"}},
		Type:       "example.com/type",
	}
	for _, secret := range []*corev1.Secret{foreign, theirs, typed} {
		f.must(f.client.Create(t.Context(), secret))
	}
	ctx, thief := t.Context(), f.clientFor(f.replicator.Config)
	clients, err := kubernetes.NewForConfig(f.replicator.Config)
	f.must(err)
	// ours is a valid one for a namespace that has none, with a change.
	empty := f.namespace(selection, "exclude")
	ours := func(change func(*corev1.Secret)) *corev1.Secret {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: empty, Name: policies.Secret, Labels: map[string]string{ourLabel: "proxy"}},
			Type:       corev1.SecretTypeOpaque,
			Data:       maps.Clone(f.source().Data),
		}
		change(secret)
		return secret
	}
	updated := func(of *corev1.Secret, change func(*corev1.Secret)) error {
		of = of.DeepCopy()
		change(of)
		return thief.Update(ctx, of)
	}
	named := func(namespace, name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	}

	// What RBAC alone refuses is in TestAStolenTokenMayDoExactlyWhatIsListed.
	for name, try := range map[string]func() error{
		"list all but ours":               func() error { return thief.List(ctx, &corev1.SecretList{}, notOurs) },
		"create a Secret of another name": func() error { return thief.Create(ctx, ours(func(s *corev1.Secret) { s.Name = "backdoor" })) },
		"create one of a generated name": func() error {
			return thief.Create(ctx, ours(func(s *corev1.Secret) { s.Name, s.GenerateName = "", policies.Secret }))
		},
		"create one without our label": func() error { return thief.Create(ctx, ours(func(s *corev1.Secret) { s.Labels = nil })) },
		"create one with another key":  func() error { return thief.Create(ctx, ours(func(s *corev1.Secret) { s.Data["x"] = []byte("y") })) },
		"create one with another, as text": func() error {
			return thief.Create(ctx, ours(func(s *corev1.Secret) { s.StringData = map[string]string{"x": "y"} }))
		},
		"create one of another type": func() error { return thief.Create(ctx, ours(func(s *corev1.Secret) { s.Type = "example.com/type" })) },
		"create a service account's token": func() error {
			return thief.Create(ctx, ours(func(s *corev1.Secret) {
				s.Type, s.Data = corev1.SecretTypeServiceAccountToken, nil
				s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
			}))
		},
		"create one with a finalizer": func() error {
			return thief.Create(ctx, ours(func(s *corev1.Secret) { s.Finalizers = []string{"example.com/x"} }))
		},
		"create one in the own namespace": func() error {
			return thief.Create(ctx, ours(func(s *corev1.Secret) { s.Namespace, s.Name = policies.Namespace, "x" }))
		},
		"change the source": func() error {
			return updated(f.source(), func(s *corev1.Secret) { s.Data["HTTP_PROXY"] = []byte("http://mine") })
		},
		"delete the source": func() error { return thief.Delete(ctx, f.source()) },
		"change somebody's of our name": func() error {
			return updated(theirs, func(s *corev1.Secret) { s.Data = ours(func(*corev1.Secret) {}).Data })
		},
		"mark somebody's as ours": func() error {
			return updated(theirs, func(s *corev1.Secret) { s.Labels, s.Data = map[string]string{ourLabel: "proxy"}, nil })
		},
		"delete somebody's of our name": func() error { return thief.Delete(ctx, named(taken, policies.Secret)) },
		"change one of another type": func() error {
			return updated(typed, func(s *corev1.Secret) { s.Annotations = map[string]string{"a": "b"} })
		},
		"delete one of another type": func() error { return thief.Delete(ctx, typed) },
		"add a key to a copy": func() error {
			return updated(f.secret(namespace), func(s *corev1.Secret) { s.Data["x"] = []byte("y") })
		},
		"take the label from a copy":      func() error { return updated(f.secret(namespace), func(s *corev1.Secret) { s.Labels = nil }) },
		"create one that nobody can mend": func() error { return thief.Create(ctx, ours(func(s *corev1.Secret) { s.Immutable = ptr.To(true) })) },
		"make a copy immutable": func() error {
			return updated(f.secret(namespace), func(s *corev1.Secret) { s.Immutable = ptr.To(true) })
		},
		// mittwald/kubernetes-replicator fills a Secret with what this names, and we can read it then.
		"have another program fill one": func() error {
			return thief.Create(ctx, ours(func(s *corev1.Secret) {
				s.Annotations = map[string]string{"replicator.v1.mittwald.de/replicate-from": namespace + "/foreign"}
			}))
		},
		"have it fill a copy": func() error {
			return updated(f.secret(namespace), func(s *corev1.Secret) {
				s.Annotations["replicator.v1.mittwald.de/replicate-from"] = namespace + "/foreign"
			})
		},
		"label a copy for another program": func() error { return updated(f.secret(namespace), func(s *corev1.Secret) { s.Labels["a"] = "b" }) },
		"give a copy an owner": func() error {
			return updated(f.secret(namespace), func(s *corev1.Secret) {
				s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: foreign.Name, UID: foreign.UID}}
			})
		},
		"watch it by the old path": func() error {
			return clients.CoreV1().RESTClient().Get().AbsPath("/api/v1/watch/namespaces", namespace, "secrets/foreign").Do(ctx).Error()
		},
		"add a finalizer to a copy": func() error {
			return updated(f.secret(namespace), func(s *corev1.Secret) { s.Finalizers = []string{"example.com/x"} })
		},
		"write a lease of somebody else": func() error {
			return thief.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: policies.Namespace, Name: "other"}})
		},
		"write an Event about somebody else": func() error {
			return thief.Create(ctx, eventAbout(corev1.ObjectReference{Kind: "Pod", Name: "x", Namespace: namespace}))
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := try(); !apierrors.IsForbidden(err) {
				t.Errorf("it was not forbidden: %v", err)
			}
		})
	}
	for _, before := range []*corev1.Secret{foreign, theirs, typed} {
		after := &corev1.Secret{}
		f.must(f.client.Get(ctx, client.ObjectKeyFromObject(before), after))
		if after.ResourceVersion != before.ResourceVersion {
			t.Errorf("%s/%s was changed", before.Namespace, before.Name)
		}
	}
	t.Run("but writes and reads copies, and sees what somebody else named so", func(t *testing.T) {
		f.must(thief.Create(ctx, ours(func(*corev1.Secret) {})))
		f.must(thief.Delete(ctx, named(empty, policies.Secret)))
		list := &corev1.SecretList{}
		f.must(thief.List(ctx, list, client.MatchingFields{"metadata.name": policies.Secret}))
		if len(list.Items) < 3 {
			t.Errorf("%d Secrets", len(list.Items))
		}
	})
	t.Run("but writes a copy that somebody else labelled, annotated and holds", func(t *testing.T) {
		f.change(namespace, func(s *corev1.Secret) {
			s.Labels["theirs"], s.Annotations["theirs"], s.Finalizers = "kept", "kept", []string{"example.com/x"}
			s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: foreign.Name, UID: foreign.UID}}
		})
		f.change(namespace, func(s *corev1.Secret) { s.Data["HTTP_PROXY"] = []byte("http://elsewhere:1") })
		if after := f.awaitCopy(namespace); after.Labels["theirs"] != "kept" || len(after.Finalizers) != 1 || len(after.OwnerReferences) != 1 {
			t.Errorf("something was lost: %v", after.ObjectMeta)
		}
		f.change(namespace, func(s *corev1.Secret) { s.Finalizers = nil })
	})
}

// eventAbout is a good one.
func eventAbout(regarding corev1.ObjectReference) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: regarding.Namespace, Name: "x"}, Regarding: regarding, EventTime: metav1.NowMicro(),
		ReportingController: "fairlead", ReportingInstance: "fairlead-x", Action: "Copy", Reason: "Failed", Type: corev1.EventTypeWarning,
	}
}

// notOurs selects by name without naming one.
var notOurs = client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("metadata.name", policies.Secret)}

func cageBinding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: replicator.Name + "-secrets"}}
}

func writesBinding() *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: replicator.Name + "-writes"}}
}

func TestTheReplicatorRefusesToRunWithoutItsCage(t *testing.T) {
	t.Parallel()
	f := newOwnFixture(t)
	f.must(f.replicator.Stop())
	f.must(f.client.Delete(t.Context(), cageBinding()))
	f.must(f.client.Delete(t.Context(), writesBinding()))
	caged, meta := f.clientFor(f.replicator.Config), metav1.ObjectMeta{Namespace: policies.Namespace, Name: "stranger"}
	for _, stranger := range []client.Object{&corev1.Secret{ObjectMeta: meta}, &coordinationv1.Lease{ObjectMeta: meta}} {
		controlplanetest.Await(t, "the API server to notice", func(ctx context.Context) (bool, error) {
			stranger.SetResourceVersion("")
			return true, caged.Create(ctx, stranger, client.DryRunAll)
		})
	}
	_, err := replicator.Start(t.Context(), f.cp)
	if err == nil || !strings.Contains(err.Error(), "refusing to run without the admission policy fairlead-replicator-secrets and fairlead-replicator-writes") {
		t.Errorf("it started, or said: %v", err)
	}
}
