package operator_test

import (
	"maps"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/rights"
)

// What config/rbac and config/rollout let the operator's token do in every namespace.
var everywhere = rights.Table{
	"clusters.cluster.x-k8s.io":                          "get list watch",
	"machines.cluster.x-k8s.io":                          "get list watch",
	"machinepools.cluster.x-k8s.io":                      "get list watch",
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

// What it may do in its own namespace, too.
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
	home := maps.Clone(everywhere)
	maps.Copy(home, atHome)
	for namespace, want := range map[string]rights.Table{f.namespace: everywhere, metav1.NamespaceSystem: everywhere, operator.Namespace: home} {
		got, err := rights.Allowed(t.Context(), f.operator.Config, resources, namespace, atHome)
		f.must(err)
		for _, line := range rights.Diff(got, want) {
			t.Errorf("in namespace %s: %s", namespace, line)
		}
	}
}

func TestEvenAnAdministratorsRightsLetAStolenTokenWriteOnlyWhatIsListed(t *testing.T) {
	f := newOwnFixture(t)
	f.installRollout()
	sweep, err := rights.NewSweep(t.Context(), f.cp.Admin(), f.namespace)
	f.must(err)
	f.must(f.client.Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "by-mistake"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: operator.Namespace, Name: operator.ServiceAccount}},
	}))
	answers, err := sweep.Try(t.Context(), f.operator.Config)
	f.must(err)
	for key, err := range answers {
		t.Log(key, apierrors.IsForbidden(err), err)
	}
	answers, err = sweep.Try(t.Context(), f.cp.Admin())
	f.must(err)
	for key, err := range answers {
		t.Log("ADMIN", key, err)
	}
}
