// Package rightstest tries what a stolen token can do.
package rightstest

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/rights"
)

// Thief has the token of a service account.
type Thief struct {
	Config          *rest.Config
	Namespace, Name string // of the service account
}

// AsAdministrator binds cluster-admin to the service account, as by mistake, and tries every write there is. Nobody
// else may be hindered. The thief gets through admission with no more and no less than the table says. Samples of
// namespaced resources are written to the given namespace.
func AsAdministrator(t *testing.T, admin *rest.Config, thief Thief, namespace string, want rights.Table) {
	t.Helper()
	sweep, err := rights.NewSweep(t.Context(), admin, namespace)
	controlplanetest.Require(t, err)
	bindAdministrator(t, admin, thief)
	t.Run("nobody else is concerned", func(t *testing.T) {
		answers, err := sweep.Try(t.Context(), admin)
		controlplanetest.Require(t, err)
		if err := rights.Hindered(answers); err != nil {
			t.Error(err)
		}
	})
	t.Run("the thief", func(t *testing.T) {
		answers, err := sweep.Try(t.Context(), thief.Config)
		controlplanetest.Require(t, err)
		got, err := rights.LetThrough(answers)
		if err != nil {
			t.Error(err)
		}
		for _, line := range rights.Diff(got, want) {
			t.Error(line)
		}
	})
}

func bindAdministrator(t *testing.T, admin *rest.Config, thief Thief) {
	t.Helper()
	controlplanetest.Require(t, controlplanetest.Client(t, admin, nil).Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "by-mistake"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: thief.Namespace, Name: thief.Name}},
	}))
	stolen := controlplanetest.Client(t, thief.Config, nil)
	controlplanetest.Await(t, "the mistake", func(ctx context.Context) (bool, error) {
		return true, stolen.List(ctx, &corev1.SecretList{})
	})
}
