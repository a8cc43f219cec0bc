package operator_test

import (
	"context"
	"errors"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/operator/render"
)

// The finalizer stands in for Cluster API's core controller, which keeps a
// Cluster until its machines are gone.
const machinesRemain = clusterv1.ClusterFinalizer

func TestSecretsOutliveTheMachinesOfADeletedCluster(t *testing.T) {
	for name, policy := range map[string]metav1.DeletionPropagation{
		"in the background": metav1.DeletePropagationBackground,
		"in the foreground": metav1.DeletePropagationForeground,
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			proxy := f.exampleProxy()
			cluster := f.cluster("c1", func(c *clusterv1.Cluster) { c.Finalizers = []string{machinesRemain} })
			f.awaitNoProxy("c1", exampleMerged)
			f.report("c1", "Applied")

			f.must(f.client.Delete(t.Context(), cluster, client.PropagationPolicy(policy)))
			// A change still reaches a cluster that is being deleted: its machines
			// may still be replaced. That it does also shows that the operator has
			// looked since the deletion.
			modify(f, proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "late.example"}} })
			f.awaitReport("c1", "the change", func(r *v1alpha1.ProxyReport) bool { return r.Status.NoProxy.Entries == 11 })
			if values, systemd := f.secrets("c1"); values == nil || systemd == nil {
				t.Fatal("a Secret went before the machines")
			}

			modify(f, cluster, func(c *clusterv1.Cluster) { c.Finalizers = without(c.Finalizers, machinesRemain) })
			f.awaitAllGone("c1")
		})
	}
}

func TestSecretsOfAClusterThatGoesWhileTheOperatorIsDownGoOnceItIsBack(t *testing.T) {
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	f.report("c1", "Applied")
	f.operator.Kill()
	f.must(f.client.Delete(t.Context(), cluster))
	if values, systemd := f.secrets("c1"); values == nil || systemd == nil {
		t.Fatal("a Secret went without the operator")
	}
	f.startOperator()
	f.awaitAllGone("c1")
}

func TestAnotherClusterOfTheSameNameDoesNotInheritTheSecrets(t *testing.T) {
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	first := f.report("c1", "Applied")
	f.operator.Kill()
	f.must(f.client.Delete(t.Context(), cluster))
	f.cluster("c1", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{} })
	f.startOperator()
	f.awaitReport("c1", "a report of the new Cluster, withheld", func(r *v1alpha1.ProxyReport) bool {
		return r.UID != first.UID && notReady(r)
	})
	controlplanetest.Await(t, "the old Secrets to go", func(context.Context) (bool, error) {
		values, systemd := f.secrets("c1")
		return values == nil && systemd == nil, nil
	})
}

func TestAPausedClusterOfTheSameNameKeepsTheSecretsUntilItIsUnpaused(t *testing.T) {
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	first := f.report("c1", "Applied")
	f.operator.Kill()
	f.must(f.client.Delete(t.Context(), cluster))
	yes := true
	cluster = f.cluster("c1", func(c *clusterv1.Cluster) { c.Spec.Paused = &yes })
	f.startOperator()
	paused := f.awaitReport("c1", "Paused", func(r *v1alpha1.ProxyReport) bool { return hasCondition(r, v1alpha1.ConditionPaused) })
	if values, systemd := f.secrets("c1"); paused.UID != first.UID || paused.DeletionTimestamp != nil || values == nil || systemd == nil {
		t.Error("something of a paused Cluster was deleted")
	}
	modify(f, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = nil })
	f.awaitReport("c1", "a report of the new Cluster", func(r *v1alpha1.ProxyReport) bool {
		return r.UID != first.UID && r.Status.Cluster.UID == cluster.UID
	})
	f.awaitNoProxy("c1", exampleMerged)
}

func TestDeletingTheCRDOfReportsTakesNoSecretFromALivingCluster(t *testing.T) {
	f := newOwnFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	f.report("c1", "Applied")
	crd := &metav1.PartialObjectMetadata{}
	crd.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	crd.Name = "proxyreports.fairlead.io"
	f.must(f.client.Delete(t.Context(), crd))
	f.awaitReport("c1", "its deletion", func(r *v1alpha1.ProxyReport) bool { return r.DeletionTimestamp != nil })
	if values, systemd := f.secrets("c1"); values == nil || systemd == nil {
		t.Fatal("a Secret went with the CRD")
	}
	f.must(f.client.Delete(t.Context(), cluster))
	controlplanetest.Await(t, "the CRD and both Secrets to go", func(ctx context.Context) (bool, error) {
		values, systemd := f.secrets("c1")
		err := f.client.Get(ctx, client.ObjectKeyFromObject(crd), crd)
		return values == nil && systemd == nil && apierrors.IsNotFound(err), nil
	})
}

// awaitAllGone awaits that Cluster, report and both Secrets are gone.
func (f *fixture) awaitAllGone(name string) {
	f.Helper()
	controlplanetest.Await(f, "everything of "+name+" to go", func(ctx context.Context) (bool, error) {
		report := f.client.Get(ctx, f.key(name), &v1alpha1.ProxyReport{})
		cluster := f.client.Get(ctx, f.key(name), &clusterv1.Cluster{})
		if !apierrors.IsNotFound(report) || !apierrors.IsNotFound(cluster) {
			return false, errors.New("the report or the Cluster is still there")
		}
		if f.secret(name+render.ValuesSuffix) != nil || f.secret(name+render.SystemdSuffix) != nil {
			return false, errors.New("a Secret is still there")
		}
		return true, nil
	})
}

func without(list []string, item string) []string {
	var rest []string
	for _, s := range list {
		if s != item {
			rest = append(rest, s)
		}
	}
	return rest
}
