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
	foreign, theirs := secretNamed(namespace, "foreign"), secretNamed(taken, policies.Secret)
	typed := secretNamed(f.namespace(selection, "exclude"), policies.Secret)
	foreign.Data, theirs.Data = map[string][]byte{"a": []byte("b")}, map[string][]byte{"a": []byte("b")}
	typed.Labels, typed.Type = map[string]string{ourLabel: "proxy"}, "example.com/type"
	for _, secret := range []*corev1.Secret{foreign, theirs, typed} {
		f.must(f.client.Create(t.Context(), secret))
	}
	ctx, thief := t.Context(), f.clientFor(f.replicator.Config)
	clients, err := kubernetes.NewForConfig(f.replicator.Config)
	f.must(err)
	// ours is a valid one for a namespace that has none, with a change.
	empty := f.namespace(selection, "exclude")
	ours := func(change func(*corev1.Secret)) *corev1.Secret {
		secret := secretNamed(empty, policies.Secret)
		secret.Labels, secret.Type, secret.Data = map[string]string{ourLabel: "proxy"}, corev1.SecretTypeOpaque, maps.Clone(f.source().Data)
		change(secret)
		return secret
	}
	updated := func(of *corev1.Secret, change func(*corev1.Secret)) error {
		of = of.DeepCopy()
		change(of)
		return thief.Update(ctx, of)
	}

	// What RBAC alone refuses is in TestAStolenTokenMayDoExactlyWhatIsListed.
	tries := map[string]func() error{
		"list all but ours": func() error { return thief.List(ctx, &corev1.SecretList{}, notOurs) },
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
		"delete somebody's of our name": func() error { return thief.Delete(ctx, secretNamed(taken, policies.Secret)) },
		"change one of another type": func() error {
			return updated(typed, func(s *corev1.Secret) { s.Annotations = map[string]string{"a": "b"} })
		},
		"delete one of another type": func() error { return thief.Delete(ctx, typed) },
		"watch it by the old path": func() error {
			return clients.CoreV1().RESTClient().Get().AbsPath("/api/v1/watch/namespaces", namespace, "secrets/foreign").Do(ctx).Error()
		},
		"write a lease of somebody else": func() error {
			return thief.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: policies.Namespace, Name: "other"}})
		},
		"write an Event about somebody else": func() error {
			return thief.Create(ctx, &eventsv1.Event{ // a good one otherwise
				ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "x"}, EventTime: metav1.NowMicro(),
				Regarding:           corev1.ObjectReference{Kind: "Pod", Name: "x", Namespace: namespace},
				ReportingController: "fairlead", ReportingInstance: "fairlead-x", Action: "Copy", Reason: "Failed", Type: corev1.EventTypeWarning,
			})
		},
	}
	// mittwald/kubernetes-replicator fills a Secret with what this names, and we can read it then.
	const fills = "replicator.v1.mittwald.de/replicate-from"
	for name, change := range map[string]func(*corev1.Secret){
		"of another name":       func(s *corev1.Secret) { s.Name = "backdoor" },
		"of a generated name":   func(s *corev1.Secret) { s.Name, s.GenerateName = "", policies.Secret },
		"without our label":     func(s *corev1.Secret) { s.Labels = nil },
		"with another key":      func(s *corev1.Secret) { s.Data["x"] = []byte("y") },
		"with another, as text": func(s *corev1.Secret) { s.StringData = map[string]string{"x": "y"} },
		"of another type":       func(s *corev1.Secret) { s.Type = "example.com/type" },
		"that is a service account's token": func(s *corev1.Secret) {
			s.Type, s.Data = corev1.SecretTypeServiceAccountToken, nil
			s.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
		},
		"with a finalizer":           func(s *corev1.Secret) { s.Finalizers = []string{"example.com/x"} },
		"in the own namespace":       func(s *corev1.Secret) { s.Namespace, s.Name = policies.Namespace, "x" },
		"that nobody can mend":       func(s *corev1.Secret) { s.Immutable = ptr.To(true) },
		"that another program fills": func(s *corev1.Secret) { s.Annotations = map[string]string{fills: namespace + "/foreign"} },
	} {
		tries["create one "+name] = func() error { return thief.Create(ctx, ours(change)) }
	}
	owner := []metav1.OwnerReference{{APIVersion: "v1", Kind: "Secret", Name: foreign.Name, UID: foreign.UID}}
	for name, change := range map[string]func(*corev1.Secret){
		"another key":                 func(s *corev1.Secret) { s.Data["x"] = []byte("y") },
		"no label":                    func(s *corev1.Secret) { s.Labels = nil },
		"what makes it immutable":     func(s *corev1.Secret) { s.Immutable = ptr.To(true) },
		"what another program fills":  func(s *corev1.Secret) { s.Annotations[fills] = namespace + "/foreign" },
		"a label for another program": func(s *corev1.Secret) { s.Labels["a"] = "b" },
		"an owner":                    func(s *corev1.Secret) { s.OwnerReferences = owner },
		"a finalizer":                 func(s *corev1.Secret) { s.Finalizers = []string{"example.com/x"} },
	} {
		tries["give a copy "+name] = func() error { return updated(f.secret(namespace), change) }
	}
	for name, try := range tries {
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
		f.must(thief.Delete(ctx, secretNamed(empty, policies.Secret)))
		list := &corev1.SecretList{}
		f.must(thief.List(ctx, list, client.MatchingFields{"metadata.name": policies.Secret}))
		if len(list.Items) < 3 {
			t.Errorf("%d Secrets", len(list.Items))
		}
	})
	t.Run("but writes a copy that somebody else labelled, annotated and holds", func(t *testing.T) {
		f.change(namespace, func(s *corev1.Secret) {
			s.Labels["theirs"], s.Annotations["theirs"], s.Finalizers = "kept", "kept", []string{"example.com/x"}
			s.OwnerReferences = owner
		})
		f.change(namespace, func(s *corev1.Secret) { s.Data["HTTP_PROXY"] = []byte("http://elsewhere:1") })
		if after := f.awaitCopy(namespace); after.Labels["theirs"] != "kept" || len(after.Finalizers) != 1 || len(after.OwnerReferences) != 1 {
			t.Errorf("something was lost: %v", after.ObjectMeta)
		}
		f.change(namespace, func(s *corev1.Secret) { s.Finalizers = nil })
	})
}

// notOurs selects by name without naming one.
var notOurs = client.MatchingFieldsSelector{Selector: fields.OneTermNotEqualSelector("metadata.name", policies.Secret)}

func TestTheReplicatorRefusesToRunWithoutItsCage(t *testing.T) {
	t.Parallel()
	f := newOwnFixture(t)
	f.must(f.replicator.Stop())
	for _, policy := range []string{"-secrets", "-writes"} {
		binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: replicator.Name + policy}}
		f.must(f.client.Delete(t.Context(), binding))
	}
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
