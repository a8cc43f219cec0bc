package operator_test

import (
	"slices"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/rights/rightstest"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// everywhere has the rights of the operator's token by RBAC in each namespace, but for infrastructure objects.
var everywhere = rights.Table{
	"clusters.cluster.x-k8s.io":                          "get list watch",
	"machines.cluster.x-k8s.io":                          "list watch",
	"machinepools.cluster.x-k8s.io":                      "list watch",
	"machinedeployments.cluster.x-k8s.io":                "get patch", // config/rollout
	"kubeadmcontrolplanes.controlplane.cluster.x-k8s.io": "get patch", // config/rollout
	"corporateproxies.fairlead.io":                       "list watch",
	"corporateproxies.fairlead.io/status":                "patch",
	"proxyoverrides.fairlead.io":                         "list watch",
	"proxyoverrides.fairlead.io/status":                  "patch",
	"proxyreports.fairlead.io":                           "list watch create patch delete",
	"proxyreports.fairlead.io/status":                    "patch",
	"namespaces":                                         "list watch",
	"secrets":                                            "create patch",
	"configmaps":                                         "create patch",
	"events.events.k8s.io":                               "create",
}

// atHome has its further rights in its own namespace.
var atHome = rights.Table{
	"secrets":                       "list watch create patch delete", // revisions
	"secrets fairlead-write-memory": "get",
	"configmaps":                    "list watch create patch delete",
	"events":                        "create",
	"leases.coordination.k8s.io":    "create",
	"leases.coordination.k8s.io fairlead-operator": "get update",
}

func TestAStolenTokenMayDoExactlyWhatIsListed(t *testing.T) {
	f := newFixture(t)
	f.installRollout()
	facts := f.infrastructure()
	rightstest.May(t, f.cp, f.operator.Config, atHome, map[string]rights.Table{
		f.namespace: rights.Union(everywhere, facts), operator.Namespace: rights.Union(everywhere, facts, atHome),
	})
}

// infrastructure are the kinds with provider facts that other tests have installed here, some with a role of their own.
// What the role of config/rbac has is for config/provider_facts_test.go to say.
func (f *fixture) infrastructure() rights.Table {
	f.Helper()
	resources, err := rights.Resources(f.cp.Admin())
	f.must(err)
	role := &rbacv1.ClusterRole{}
	f.must(f.client.Get(f.Context(), client.ObjectKey{Name: "fairlead-provider-facts"}, role))
	facts := rights.Table{}
	for _, rule := range role.Rules {
		for _, r := range resources {
			if slices.Contains(rule.APIGroups, r.At.Group) && slices.Contains(rule.Resources, r.Name) {
				facts[r.String()] = "get"
			}
		}
	}
	return facts
}

// Whatever the role lacked would be refused, and whatever it has too much would not be used.
func TestTheOperatorUsesEveryRightItHasAndMissesNone(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t, "--leader-elect=true", "--rollout-interval=1s")
	f.installRollout()
	f.awaitRolloutPolicy(true)
	proxy := f.exampleProxy(rolling, func(p *v1alpha1.CorporateProxy) {
		p.Spec.ClusterValues.ConfigMap, p.Spec.Rollout = true, &v1alpha1.Rollout{}
	})
	a := f.build("a", "md-1")
	f.servedCluster("gone")
	f.override("nobody", v1alpha1.ProxyOverrideSpec{})
	f.changeSource("a", otherPassword("changed"))
	since := f.awaitNodes("a", 2, 2, 0, 0).Since
	for _, owner := range a.owners {
		f.awaitRolled(owner, since)
		f.replace(a, owner)
	}
	f.must(f.client.Delete(t.Context(), &clusterv1.Cluster{ObjectMeta: f.meta("gone", "gone")}))
	modify(f, proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.Rollout = nil }) // its revisions go

	rightstest.UsesAll(t, f.cp, operator.User, rights.Union(everywhere, atHome))
}

// letThrough has the writes that admission allows somebody with the operator's name and every right. The sweep's
// Secrets, ConfigMaps, Leases, Events and owners of machines are all refused, because none of them is of the contract.
var letThrough = rights.Table{
	"proxyreports.fairlead.io":            "create delete deletecollection patch update",
	"proxyreports.fairlead.io/status":     "patch update",
	"corporateproxies.fairlead.io/status": "patch update",
	"proxyoverrides.fairlead.io/status":   "patch update",
}

func TestEvenAnAdministratorsRightsLetAStolenTokenWriteOnlyWhatIsListed(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.must(f.operator.Stop()) // it would delete the sample of a report, which has no Cluster
	thief := rightstest.Thief{Config: f.operator.Config, Namespace: operator.Namespace, Name: operator.ServiceAccount}
	rightstest.AsAdministrator(t, f.cp.Admin(), thief, f.namespace, rights.Union(letThrough, rights.Exempt))
	// What no policy is asked about: see docs/explanation/threat-model.md.
	t.Run("but whoever may impersonate is somebody else", func(t *testing.T) {
		somebody := rest.CopyConfig(f.operator.Config)
		somebody.Impersonate = rest.ImpersonationConfig{UserName: "somebody", Groups: []string{"system:masters"}}
		f.must(f.clientFor(somebody).Create(t.Context(), configMapNamed(f.namespace, "x"), client.DryRunAll))
	})
}
