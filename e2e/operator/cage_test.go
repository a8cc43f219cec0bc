package operator_test

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

// Somebody has stolen the operator's token. What RBAC alone refuses, rights_test.go asks of every resource; three are tried here, as a
// control. Patches answer with the object, so a patch that is let through is a read as well.
func TestAStolenTokenReadsAndWritesNoForeignSecret(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.servedCluster("c1")
	foreign := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "c1-kubeconfig", Labels: map[string]string{render.ClusterLabel: "c1"}},
		Type:       "cluster.x-k8s.io/secret",
		Data:       map[string][]byte{"value": []byte("a kubeconfig")},
	}
	f.must(f.client.Create(t.Context(), foreign))
	named := func(name string) *corev1.Secret { return secretNamed(f.namespace, name) }
	operators := func(name string) *corev1.Secret { return secretNamed(operator.Namespace, name) }
	source, tasks := operators("example-"+f.namespace), operators(probe.PreflightName)
	labelled := func(secret *corev1.Secret, cluster string, kind corev1.SecretType) *corev1.Secret {
		secret.Labels, secret.Type = map[string]string{render.SecretLabel: render.ValuesRole, render.ClusterLabel: cluster}, kind
		return secret
	}
	token := func(secret *corev1.Secret) *corev1.Secret { // which gets one of a service account
		secret.Type, secret.Annotations = corev1.SecretTypeServiceAccountToken, map[string]string{corev1.ServiceAccountNameKey: "default"}
		return secret
	}
	immutable := func(secret *corev1.Secret) *corev1.Secret {
		secret.Immutable = ptr.To(true)
		return secret
	}
	ctx, thief := t.Context(), f.clientFor(f.operator.Config)
	create := func(object client.Object) error { return thief.Create(ctx, object) }
	patch := func(object client.Object, patch string, options ...client.PatchOption) error {
		return thief.Patch(ctx, object, mergePatch(patch), options...)
	}
	clients, err := kubernetes.NewForConfig(f.operator.Config)
	f.must(err)
	f.must(f.client.Create(ctx, configMapNamed(operator.Namespace, "somebodys")))
	f.must(f.client.Create(ctx, tasks.DeepCopy()))

	wantForbidden(t, map[string]error{
		"get a foreign Secret": thief.Get(ctx, f.key("c1-kubeconfig"), &corev1.Secret{}),
		"watch one by the old path": clients.CoreV1().RESTClient().Get().
			AbsPath("/api/v1/watch/namespaces", f.namespace, "secrets/c1-kubeconfig").Do(ctx).Error(),
		"list the fleet":                                thief.List(ctx, &corev1.SecretList{}),
		"patch a foreign Secret":                        patch(named("c1-kubeconfig"), `{"data":{"value":"eA=="}}`),
		"patch nothing of it":                           patch(named("c1-kubeconfig"), `{}`),
		"patch it as a dry run":                         patch(named("c1-kubeconfig"), `{}`, client.DryRunAll),
		"mark it as ours":                               patch(named("c1-kubeconfig"), `{"metadata":{"labels":{"fairlead.io/secret":"cluster-values"}}}`),
		"annotate it for adoption":                      patch(named("c1-kubeconfig"), `{"metadata":{"annotations":{"fairlead.io/adopt":"true"}}}`),
		"patch a proxy's source":                        patch(source.DeepCopy(), `{"data":{"http":"eA=="}}`),
		"create a Secret of another name":               create(named("backdoor")),
		"create a service account's token":              create(token(named("token"))),
		"create one under the name of its write memory": create(token(operators("fairlead-write-memory"))),
		"create another name with our label":            create(labelled(named("backdoor"), "c1", "")),
		"turn one of ours into another type":            create(labelled(named("c9-cluster-values"), "c9", "example.com/type")),
		"add a key":                                     patch(named("c1-systemd-proxy"), `{"stringData":{"another":"[Service]\n"}}`),
		"delete a proxy's source":                       thief.Delete(ctx, source.DeepCopy()),
		"delete a ConfigMap of its namespace":           thief.Delete(ctx, configMapNamed(operator.Namespace, "somebodys")),
		"create a revision that can be changed":         create(operators(revision.Name("x", 1))),
		"create a revision elsewhere":                   create(immutable(named(revision.Name("x", 1)))),
		"create a token under the name of a revision":   create(immutable(token(operators(revision.Name("x", 1))))),
		"create what the preflight is to try elsewhere": create(named(probe.PreflightName)),
		"create a token under the preflight's name":     create(token(operators(probe.PreflightName))),
		"delete what the preflight is to try":           thief.Delete(ctx, tasks.DeepCopy()),
		"write the preflight's answers":                 create(configMapNamed(operator.Namespace, probe.PreflightName)),
		"write another Lease":                           create(&coordinationv1.Lease{ObjectMeta: operators("x").ObjectMeta}),
		"write an Event about somebody else": create(&eventsv1.Event{ // a good one
			ObjectMeta: f.named("x"), Regarding: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: f.namespace, Name: "x"},
			EventTime: metav1.NowMicro(), ReportingController: "fairlead", ReportingInstance: "fairlead-x",
			Action: "Apply", Reason: "Written", Type: corev1.EventTypeNormal,
		}),
		"write an old Event": create(&corev1.Event{
			ObjectMeta: operators("x").ObjectMeta, InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: operator.Namespace, Name: "x"},
		}),
	})
	if err := patch(named("c1-cluster-values"), `{}`); err != nil {
		t.Errorf("writing a Secret of the contract: %v", err)
	}
	if err := patch(tasks.DeepCopy(), `{"stringData":{"default":"{}"}}`, client.DryRunAll); err != nil {
		t.Errorf("writing what the preflight is to try: %v", err)
	}
	if after := f.secret("c1-kubeconfig"); after.ResourceVersion != foreign.ResourceVersion {
		t.Error("the foreign Secret was changed")
	}
}

// wantForbidden fails the test for each try that was not refused.
func wantForbidden(t *testing.T, tries map[string]error) {
	t.Helper()
	for what, err := range tries {
		if !apierrors.IsForbidden(err) {
			t.Errorf("%s: it was not forbidden: %v", what, err)
		}
	}
}
