package operator_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/operator/render"
)

// Somebody has stolen the operator's token. Patches answer with the object, so a
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

	for name, try := range map[string]func() error{
		"get a foreign Secret":    func() error { return thief.Get(ctx, f.key("c1-kubeconfig"), &corev1.Secret{}) },
		"get one of the contract": func() error { return thief.Get(ctx, f.key("c1-cluster-values"), &corev1.Secret{}) },
		"list a namespace":        func() error { return thief.List(ctx, &corev1.SecretList{}, client.InNamespace(f.namespace)) },
		"list the fleet":          func() error { return thief.List(ctx, &corev1.SecretList{}) },
		"patch a foreign Secret":  func() error { return thief.Patch(ctx, named("c1-kubeconfig"), merge(`{"data":{"value":"eA=="}}`)) },
		"patch nothing of it":     func() error { return thief.Patch(ctx, named("c1-kubeconfig"), merge(`{}`)) },
		"patch it as a dry run":   func() error { return thief.Patch(ctx, named("c1-kubeconfig"), merge(`{}`), client.DryRunAll) },
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
		"delete a Secret": func() error { return thief.Delete(ctx, named("c1-cluster-values")) },
		"change a Cluster's proxy": func() error {
			return thief.Delete(ctx, &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: source.Name}})
		},
		"loosen its own cage": func() error { return thief.Delete(ctx, admissionBinding()) },
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
	if after := f.secret("c1-kubeconfig"); after.ResourceVersion != foreign.ResourceVersion {
		t.Error("the foreign Secret was changed")
	}
}
