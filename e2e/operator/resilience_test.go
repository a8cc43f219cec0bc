package operator_test

import (
	"context"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

func TestTheOperatorComesBackAfterARestartOfTheAPIServer(t *testing.T) {
	f := newOwnFixture(t)
	f.exampleProxy()
	f.servedCluster("c1")
	f.must(f.cp.StopAPIServer())
	f.must(f.cp.StartAPIServer(t.Context()))
	controlplanetest.Await(t, "the API server to serve Clusters", func(ctx context.Context) (bool, error) {
		return true, f.client.List(ctx, &clusterv1.ClusterList{}, client.InNamespace(f.namespace))
	})
	f.servedCluster("c2")
	f.awaitNoProxy("c1", exampleMerged)
	select {
	case <-f.operator.Done():
		t.Error("the operator ended")
	default:
	}
}

func TestAStandbyTakesOverWhenTheLeaderIsKilled(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t, "--leader-elect=true")
	f.exampleProxy()
	f.servedCluster("c1")
	leader := f.operator
	f.startOperator("--leader-elect=true")
	leader.Kill()
	f.servedCluster("c2")
}

func TestTheOperatorIsNotReadyWithoutItsCaches(t *testing.T) {
	tier.Full(t)
	cp := controlplanetest.Start(t, controlplane.Options{})
	f := fixtureOn(t, cp, nil)
	f.must(operator.InstallWithoutClusterAPI(t.Context(), cp))
	o, err := operator.Start(t.Context(), cp, operator.Options{Args: []string{"--leader-elect=false"}, DoNotAwaitReady: true})
	f.must(err)
	controlplanetest.Await(t, "an answer of the readiness probe", func(ctx context.Context) (bool, error) {
		err := o.Ready(ctx)
		return controlplanetest.Holds(err != nil && strings.Contains(err.Error(), "500"), "it says: %v", err)
	})
	f.must(cp.Install(t.Context(), controlplane.ClusterAPI))
	controlplanetest.Await(t, "readiness", func(ctx context.Context) (bool, error) { return true, o.Ready(ctx) })
}

func TestTheOperatorRefusesToRunWithoutItsCage(t *testing.T) {
	f := newOwnFixture(t)
	f.must(f.operator.Stop())
	for _, what := range []string{"secrets", "configmaps", "writes"} {
		f.must(f.client.Delete(t.Context(), binding("fairlead-operator-"+what)))
	}
	caged, meta := f.clientFor(f.operator.Config), metav1.ObjectMeta{Namespace: operator.Namespace, Name: "stranger"}
	for _, stranger := range []client.Object{&corev1.Secret{ObjectMeta: meta}, &corev1.ConfigMap{ObjectMeta: meta}, &coordinationv1.Lease{ObjectMeta: meta}} {
		controlplanetest.Await(t, "the API server to notice", func(ctx context.Context) (bool, error) {
			stranger.SetResourceVersion("")
			return true, caged.Create(ctx, stranger, client.DryRunAll)
		})
	}
	_, err := operator.Start(t.Context(), f.cp, operator.Options{})
	if err == nil || !strings.Contains(err.Error(), "refusing to run without the admission policy fairlead-operator-secrets and fairlead-operator-configmaps and fairlead-operator-writes") {
		t.Errorf("it started, or said: %v", err)
	}
}
