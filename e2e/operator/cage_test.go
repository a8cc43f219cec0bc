package operator_test

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// Somebody has stolen the operator's token. What RBAC alone refuses, rights_test.go asks of every resource; three are tried here, as a
// control. Patches answer with the object, so a
// patch that is let through is a read as well.
func TestAStolenTokenReadsAndWritesNoForeignSecret(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "c1-kubeconfig", Labels: map[string]string{render.ClusterLabel: "c1"}},
		Type:       "cluster.x-k8s.io/secret",
		Data:       map[string][]byte{"value": []byte("a kubeconfig")},
	}
	f.must(f.client.Create(t.Context(), foreign))
	named := func(name string) *corev1.Secret {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: name}}
	}
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "example-" + f.namespace}}
	ctx, thief := t.Context(), f.clientFor(f.operator.Config)
	merge := func(patch string) client.Patch { return client.RawPatch(types.MergePatchType, []byte(patch)) }

	clients, err := kubernetes.NewForConfig(f.operator.Config)
	f.must(err)
	f.must(f.client.Create(ctx, configMapNamed(operator.Namespace, "somebodys")))
	tasks := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: probe.PreflightName}}
	f.must(f.client.Create(ctx, tasks.DeepCopy()))

	for name, try := range map[string]func() error{
		"get a foreign Secret": func() error { return thief.Get(ctx, f.key("c1-kubeconfig"), &corev1.Secret{}) },
		"watch one by the old path": func() error {
			return clients.CoreV1().RESTClient().Get().AbsPath("/api/v1/watch/namespaces", f.namespace, "secrets/c1-kubeconfig").Do(ctx).Error()
		},
		"list the fleet":         func() error { return thief.List(ctx, &corev1.SecretList{}) },
		"patch a foreign Secret": func() error { return thief.Patch(ctx, named("c1-kubeconfig"), merge(`{"data":{"value":"eA=="}}`)) },
		"patch nothing of it":    func() error { return thief.Patch(ctx, named("c1-kubeconfig"), merge(`{}`)) },
		"patch it as a dry run":  func() error { return thief.Patch(ctx, named("c1-kubeconfig"), merge(`{}`), client.DryRunAll) },
		"mark it as ours": func() error {
			return thief.Patch(ctx, named("c1-kubeconfig"), merge(`{"metadata":{"labels":{"fairlead.io/secret":"cluster-values"}}}`))
		},
		"annotate it for adoption": func() error {
			return thief.Patch(ctx, named("c1-kubeconfig"), merge(`{"metadata":{"annotations":{"fairlead.io/adopt":"true"}}}`))
		},
		"patch a proxy's source":          func() error { return thief.Patch(ctx, source, merge(`{"data":{"http":"eA=="}}`)) },
		"create a Secret of another name": func() error { return thief.Create(ctx, named("backdoor")) },
		"create a service account's token": func() error {
			token := named("token")
			token.Type = corev1.SecretTypeServiceAccountToken
			token.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
			return thief.Create(ctx, token)
		},
		"create one under the name of its write memory": func() error {
			token := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "fairlead-write-memory"}}
			token.Type = corev1.SecretTypeServiceAccountToken
			token.Annotations = map[string]string{corev1.ServiceAccountNameKey: "default"}
			return thief.Create(ctx, token)
		},
		"create another name with our label": func() error {
			labelled := named("backdoor")
			labelled.Labels = map[string]string{render.SecretLabel: render.ValuesRole, render.ClusterLabel: "c1"}
			return thief.Create(ctx, labelled)
		},
		"turn one of ours into another type": func() error {
			typed := named("c9-cluster-values")
			typed.Labels = map[string]string{render.SecretLabel: render.ValuesRole, render.ClusterLabel: "c9"}
			typed.Type = "example.com/type"
			return thief.Create(ctx, typed)
		},
		"add a key": func() error {
			return thief.Patch(ctx, named("c1-systemd-proxy"), merge(`{"stringData":{"another":"[Service]\n"}}`))
		},
		"delete a proxy's source": func() error { return thief.Delete(ctx, source.DeepCopy()) },
		"delete a ConfigMap of its namespace": func() error {
			return thief.Delete(ctx, configMapNamed(operator.Namespace, "somebodys"))
		},
		"create a revision that can be changed": func() error {
			return thief.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: revision.Name("x", 1)}})
		},
		"create a revision elsewhere": func() error {
			return thief.Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: revision.Name("x", 1)}, Immutable: ptr.To(true)})
		},
		"create a token under the name of a revision": func() error {
			return thief.Create(ctx, &corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: operator.Namespace, Name: revision.Name("x", 1), Annotations: map[string]string{corev1.ServiceAccountNameKey: "default"},
				},
				Type: corev1.SecretTypeServiceAccountToken, Immutable: ptr.To(true),
			})
		},
		"create what the preflight is to try elsewhere": func() error {
			return thief.Create(ctx, named(probe.PreflightName))
		},
		"create a token under the name of what the preflight is to try": func() error {
			token := named(probe.PreflightName)
			token.Namespace, token.Annotations = operator.Namespace, map[string]string{corev1.ServiceAccountNameKey: "default"}
			token.Type = corev1.SecretTypeServiceAccountToken
			return thief.Create(ctx, token)
		},
		"delete what the preflight is to try": func() error {
			return thief.Delete(ctx, tasks.DeepCopy())
		},
		"write the preflight's answers": func() error {
			return thief.Create(ctx, configMapNamed(operator.Namespace, probe.PreflightName))
		},
		"write another Lease": func() error {
			return thief.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "x"}})
		},
		"write an Event about somebody else": func() error {
			return thief.Create(ctx, eventAbout(corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: f.namespace, Name: "x"}))
		},
		"write an old Event": func() error {
			return thief.Create(ctx, &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Namespace: operator.Namespace, Name: "x"},
				InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: operator.Namespace, Name: "x"},
			})
		},
	} {
		t.Run(name, func(t *testing.T) {
			if err := try(); !apierrors.IsForbidden(err) {
				t.Errorf("it was not forbidden: %v", err)
			}
		})
	}
	t.Run("but writes the Secrets of the contract", func(t *testing.T) {
		ours := named("c1-cluster-values")
		if err := thief.Patch(ctx, ours, merge(`{}`)); err != nil {
			t.Error(err)
		}
	})
	t.Run("and what the preflight is to try", func(t *testing.T) {
		if err := thief.Patch(ctx, tasks.DeepCopy(), merge(`{"stringData":{"default":"{}"}}`), client.DryRunAll); err != nil {
			t.Error(err)
		}
	})
	if after := f.secret("c1-kubeconfig"); after.ResourceVersion != foreign.ResourceVersion {
		t.Error("the foreign Secret was changed")
	}
}

// eventAbout is a good one.
func eventAbout(regarding corev1.ObjectReference) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: regarding.Namespace, Name: regarding.Name}, Regarding: regarding, EventTime: metav1.NowMicro(),
		ReportingController: "fairlead", ReportingInstance: "fairlead-x", Action: "Apply", Reason: "Written", Type: corev1.EventTypeNormal,
	}
}
