package operator_test

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/revision"
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

	clients, err := kubernetes.NewForConfig(f.operator.Config)
	f.must(err)
	secrets := clients.CoreV1().Secrets(f.namespace)
	tokenOf := func(namespace, account string) error {
		_, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
		return err
	}
	impersonating := func(whom rest.ImpersonationConfig) *rest.Config {
		config := rest.CopyConfig(f.operator.Config)
		config.Impersonate = whom
		return config
	}
	other := eventAbout(corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: f.namespace, Name: "other"})
	f.must(f.client.Create(ctx, other.DeepCopy()))
	f.must(f.client.Create(ctx, configMapNamed(operator.Namespace, "somebodys")))
	tasks := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: probe.PreflightName}}
	f.must(f.client.Create(ctx, tasks.DeepCopy()))

	for name, try := range map[string]func() error{
		"get a foreign Secret":    func() error { return thief.Get(ctx, f.key("c1-kubeconfig"), &corev1.Secret{}) },
		"get one of the contract": func() error { return thief.Get(ctx, f.key("c1-cluster-values"), &corev1.Secret{}) },
		"watch them":              func() error { return watched(secrets.Watch(ctx, metav1.ListOptions{})) },
		"watch one by name": func() error {
			return watched(secrets.Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=c1-kubeconfig"}))
		},
		"watch one by the old path": func() error {
			return clients.CoreV1().RESTClient().Get().AbsPath("/api/v1/watch/namespaces", f.namespace, "secrets/c1-kubeconfig").Do(ctx).Error()
		},
		"list one by name": func() error {
			return thief.List(ctx, &corev1.SecretList{}, client.InNamespace(f.namespace), client.MatchingFields{"metadata.name": "c1-kubeconfig"})
		},
		"list by label": func() error {
			return thief.List(ctx, &corev1.SecretList{}, client.MatchingLabels{render.ClusterLabel: "c1"})
		},
		"list our own kind": func() error { return thief.List(ctx, &corev1.SecretList{}, client.HasLabels{render.SecretLabel}) },
		"list the metadata of Secrets": func() error {
			list := &metav1.PartialObjectMetadataList{}
			list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("SecretList"))
			return thief.List(ctx, list)
		},
		"get a ConfigMap":        func() error { return thief.Get(ctx, f.key("any"), &corev1.ConfigMap{}) },
		"list ConfigMaps":        func() error { return thief.List(ctx, &corev1.ConfigMapList{}) },
		"list service accounts":  func() error { return thief.List(ctx, &corev1.ServiceAccountList{}) },
		"list pods":              func() error { return thief.List(ctx, &corev1.PodList{}) },
		"list roles":             func() error { return thief.List(ctx, &rbacv1.ClusterRoleList{}) },
		"list its cage":          func() error { return thief.List(ctx, &admissionv1.ValidatingAdmissionPolicyList{}) },
		"list a namespace":       func() error { return thief.List(ctx, &corev1.SecretList{}, client.InNamespace(f.namespace)) },
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
		"delete a Secret":         func() error { return thief.Delete(ctx, named("c1-cluster-values")) },
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
		"change a Cluster's proxy": func() error {
			return thief.Delete(ctx, &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: source.Name}})
		},
		"ask for its own token":   func() error { return tokenOf(operator.Namespace, operator.ServiceAccount) },
		"ask for another's token": func() error { return tokenOf(f.namespace, "default") },
		"be somebody else": func() error {
			return f.clientFor(impersonating(rest.ImpersonationConfig{UserName: "x"})).List(ctx, &corev1.NamespaceList{})
		},
		"be another service account": func() error {
			return f.clientFor(impersonating(rest.ImpersonationConfig{UserName: "system:serviceaccount:kube-system:default"})).List(ctx, &corev1.NamespaceList{})
		},
		"be of another group": func() error {
			config := impersonating(rest.ImpersonationConfig{UserName: operator.User, Groups: []string{"system:masters"}})
			return f.clientFor(config).List(ctx, &corev1.NamespaceList{})
		},
		"bind itself to more": func() error {
			return thief.Create(ctx, &rbacv1.ClusterRoleBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "x"},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
			})
		},
		"give its role more": func() error {
			role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: operator.ServiceAccount}}
			return thief.Patch(ctx, role, merge(`{"rules":[]}`))
		},
		"aggregate more into its role": func() error {
			return thief.Create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{
				Name: "x", Labels: map[string]string{"fairlead.io/aggregate-to-provider-facts": "true"},
			}})
		},
		"write another Lease": func() error {
			return thief.Create(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: "x"}})
		},
		"read another Lease": func() error {
			return thief.Get(ctx, client.ObjectKey{Namespace: operator.Namespace, Name: "x"}, &coordinationv1.Lease{})
		},
		"write an Event about somebody else": func() error {
			return thief.Create(ctx, eventAbout(corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: f.namespace, Name: "x"}))
		},
		"change an Event about somebody else": func() error {
			return thief.Patch(ctx, other, merge(`{"series":{"count":2,"lastObservedTime":"2026-01-01T00:00:00.000000Z"}}`))
		},
		"write an old Event": func() error {
			return thief.Create(ctx, &corev1.Event{
				ObjectMeta:     metav1.ObjectMeta{Namespace: operator.Namespace, Name: "x"},
				InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: operator.Namespace, Name: "x"},
			})
		},
		"loosen the rest of it": func() error { return thief.Delete(ctx, writesBinding()) },
		"loosen its own cage":   func() error { return thief.Delete(ctx, admissionBinding()) },
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

func watched(w watch.Interface, err error) error {
	if err == nil {
		w.Stop()
	}
	return err
}
