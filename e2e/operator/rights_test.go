package operator_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/rights"
)

// everywhere is what RBAC lets the operator's token do in each namespace. Infrastructure objects are not here, because
// nothing of them is installed; config/provider_facts_test.go is about those.
var everywhere = rights.Table{
	"clusters.cluster.x-k8s.io":                          "get list watch",
	"machines.cluster.x-k8s.io":                          "list watch",
	"machinepools.cluster.x-k8s.io":                      "list watch",
	"machinedeployments.cluster.x-k8s.io":                "get patch", // config/rollout
	"kubeadmcontrolplanes.controlplane.cluster.x-k8s.io": "get patch", // config/rollout
	"corporateproxies.fairlead.io":                       "get list watch",
	"corporateproxies.fairlead.io/status":                "patch",
	"proxyoverrides.fairlead.io":                         "get list watch",
	"proxyreports.fairlead.io":                           "get list watch create patch delete",
	"proxyreports.fairlead.io/status":                    "patch",
	"namespaces":                                         "get list watch",
	"secrets":                                            "create patch",
	"events.events.k8s.io":                               "create patch",
}

// atHome is what it may do in its own namespace besides.
var atHome = rights.Table{
	"secrets":                    "get list watch create patch",
	"configmaps":                 "get list watch",
	"events":                     "create",
	"leases.coordination.k8s.io": "create",
	"leases.coordination.k8s.io fairlead-operator": "get update",
}

func TestAStolenTokenMayDoExactlyWhatIsListed(t *testing.T) {
	f := newFixture(t)
	f.installRollout()
	resources, err := rights.Resources(f.cp.Admin())
	f.must(err)
	for namespace, want := range map[string]rights.Table{
		f.namespace:        rights.WithEverybody(everywhere),
		operator.Namespace: rights.WithEverybody(everywhere, atHome),
	} {
		got, err := rights.Allowed(t.Context(), f.operator.Config, resources, namespace, atHome)
		f.must(err)
		for _, line := range rights.Diff(got, want) {
			t.Errorf("in namespace %s: %s", namespace, line)
		}
	}
}

// letThrough is what admission leaves to somebody with the operator's name and every right: of Secrets, ConfigMaps,
// Leases, Events and owners of machines, nothing that the sweep tries, because none of it is of the contract.
var letThrough = rights.Table{
	"proxyreports.fairlead.io":            "create delete deletecollection patch update",
	"proxyreports.fairlead.io/status":     "patch update",
	"corporateproxies.fairlead.io/status": "patch update",
}

func TestEvenAnAdministratorsRightsLetAStolenTokenWriteOnlyWhatIsListed(t *testing.T) {
	f := newOwnFixture(t)
	sweep, err := rights.NewSweep(t.Context(), f.cp.Admin(), f.namespace)
	f.must(err)
	f.must(f.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "by-mistake"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: operator.Namespace, Name: operator.ServiceAccount}},
	}))
	thief := f.clientFor(f.operator.Config)
	controlplanetest.Await(t, "the mistake", func(ctx context.Context) (bool, error) {
		return true, thief.List(ctx, &corev1.SecretList{})
	})
	t.Run("nobody else is concerned", func(t *testing.T) {
		answers, err := sweep.Try(t.Context(), f.cp.Admin())
		f.must(err)
		if err := rights.Hindered(answers); err != nil {
			t.Error(err)
		}
	})
	t.Run("the thief", func(t *testing.T) {
		answers, err := sweep.Try(t.Context(), f.operator.Config)
		f.must(err)
		got, err := rights.LetThrough(answers)
		if err != nil {
			t.Error(err)
		}
		for _, line := range rights.Diff(got, rights.Union(letThrough, rights.Exempt)) {
			t.Error(line)
		}
	})
	// What no policy is asked about: see docs/threat-model.md.
	t.Run("but whoever may impersonate is somebody else", func(t *testing.T) {
		somebody := rest.CopyConfig(f.operator.Config)
		somebody.Impersonate = rest.ImpersonationConfig{UserName: "somebody", Groups: []string{"system:masters"}}
		f.must(f.clientFor(somebody).Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "x"}}, client.DryRunAll))
	})
}
