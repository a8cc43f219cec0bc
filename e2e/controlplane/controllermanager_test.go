package controlplane_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func TestTheControllerManagerDoesWhatItWasAskedFor(t *testing.T) {
	t.Parallel()
	cp := controlplanetest.Start(t, controlplane.Options{})
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(),
		controlplane.GarbageCollector, controlplane.ClusterRoleAggregation, controlplane.NamespaceDeletion, controlplane.ServiceAccounts))
	clients := controlplanetest.Clients(t, cp)

	t.Run("the garbage collector deletes a dependent", func(t *testing.T) { dependentGoes(t, clients) })
	t.Run("cluster roles are aggregated", func(t *testing.T) { rolesAreAggregated(t, clients) })
	t.Run("a namespace gets its service account and can be deleted", func(t *testing.T) {
		namespaceComesAndGoes(t, clients, controlplanetest.Namespace(t, cp))
	})
	t.Run("a second one is refused", func(t *testing.T) {
		if err := cp.StartControllerManager(t.Context()); err == nil {
			t.Error("a second controller manager was started")
		}
	})
	t.Run("it can be stopped and started with others", func(t *testing.T) {
		controlplanetest.Require(t, cp.StopControllerManager())
		controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.RootCAPublisher))
	})
}

func dependentGoes(t *testing.T, clients kubernetes.Interface) {
	t.Helper()
	maps := clients.CoreV1().ConfigMaps("default")
	owner, err := maps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	dependent := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name:            "dependent",
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID}},
	}}
	_, err = maps.Create(t.Context(), dependent, metav1.CreateOptions{})
	controlplanetest.Require(t, err)

	controlplanetest.Require(t, maps.Delete(t.Context(), owner.Name, metav1.DeleteOptions{}))
	controlplanetest.Await(t, "the dependent to go", func(ctx context.Context) (bool, error) {
		_, err := maps.Get(ctx, dependent.Name, metav1.GetOptions{})
		return gone(err)
	})
}

func rolesAreAggregated(t *testing.T, clients kubernetes.Interface) {
	t.Helper()
	roles := clients.RbacV1().ClusterRoles()
	labels := map[string]string{"test.fairlead.io/aggregate-to-all": "true"}
	rule := rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"configmaps"}, Verbs: []string{"get"}}
	for _, role := range []*rbacv1.ClusterRole{
		{
			ObjectMeta:      metav1.ObjectMeta{Name: "all"},
			AggregationRule: &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{{MatchLabels: labels}}},
		},
		{ObjectMeta: metav1.ObjectMeta{Name: "part", Labels: labels}, Rules: []rbacv1.PolicyRule{rule}},
	} {
		_, err := roles.Create(t.Context(), role, metav1.CreateOptions{})
		controlplanetest.Require(t, err)
	}
	controlplanetest.Await(t, "the rule of the part in the whole", func(ctx context.Context) (bool, error) {
		whole, err := roles.Get(ctx, "all", metav1.GetOptions{})
		return err == nil && len(whole.Rules) == 1 && whole.Rules[0].Resources[0] == "configmaps", err
	})
}

func namespaceComesAndGoes(t *testing.T, clients kubernetes.Interface, name string) {
	t.Helper()
	controlplanetest.Await(t, "the default service account", func(ctx context.Context) (bool, error) {
		_, err := clients.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err == nil, err
	})
	controlplanetest.Require(t, clients.CoreV1().Namespaces().Delete(t.Context(), name, metav1.DeleteOptions{}))
	controlplanetest.Await(t, "the namespace to go", func(ctx context.Context) (bool, error) {
		_, err := clients.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{})
		return gone(err)
	})
}

// gone is for conditions that wait for an object to be deleted.
func gone(err error) (bool, error) {
	if apierrors.IsNotFound(err) {
		return true, nil
	}
	return false, err
}
