package operator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/rights"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

const fleetSize = 200

// fleet creates many clusters, each with an endpoint of its own.
func (f *fixture) fleet() {
	f.Helper()
	for i := range fleetSize {
		f.cluster(fleetName(i), func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = fleetHost(i) })
	}
}

func fleetName(i int) string { return fmt.Sprintf("fleet-%03d", i) }
func fleetHost(i int) string { return fmt.Sprintf("10.20.%d.%d", i/100, i%100) }

// awaitFleet awaits that every Secret of the fleet is right.
func (f *fixture) awaitFleet(installation string) {
	f.Helper()
	next := 0
	controlplanetest.Await(f, "the fleet's Secrets with "+installation, func(context.Context) (bool, error) {
		for ; next < fleetSize; next++ {
			want := fmt.Sprintf("cluster.local,100.64.0.0/13,100.96.0.0/11,%s,%s,svc,127.0.0.1,localhost", fleetHost(next), installation)
			if got := f.noProxy(fleetName(next)); got != want {
				return false, fmt.Errorf("%s has %q", fleetName(next), got)
			}
		}
		return true, nil
	})
}

func TestAnUnchangedFleetOf200CausesNoWriteWhenTouched(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.exampleProxy()
	f.fleet()
	f.awaitFleet(exampleNoProxy)
	f.awaitReady(fleetSize)
	f.awaitIdle()
	controlplanetest.Await(t, "the Events, which are written behind", func(ctx context.Context) (bool, error) {
		events := &eventsv1.EventList{}
		err := f.client.List(ctx, events, client.InNamespace(f.namespace))
		return controlplanetest.Holds(len(events.Items) >= fleetSize, "there are %d (%v)", len(events.Items), err)
	})
	mark, err := f.cp.AuditMark()
	f.must(err)

	before := f.reconciles()
	f.touchAll("1")
	f.awaitReconciled(before + fleetSize)
	// A restart looks at everything anew, with nothing but the reports to go by.
	f.must(f.operator.Stop())
	f.startOperator()
	f.awaitReconciled(fleetSize)

	events, err := f.cp.AuditEvents(mark, controlplane.Writes, controlplane.ByUser(operator.User), rights.IsReal)
	f.must(err)
	for _, event := range events {
		t.Errorf("%s %s", event.Verb, event.RequestURI)
	}
	reads, err := f.cp.AuditEvents(mark, controlplane.ByUser(operator.User))
	f.must(err)
	if len(reads) == 0 {
		t.Error("the audit log has nothing of the operator, so it proves nothing")
	}

	// The counting counts: one change, and the writes are there.
	modify(f, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: fleetName(0)}}, func(c *clusterv1.Cluster) {
		c.Spec.ControlPlaneEndpoint.Host = "10.20.255.255"
	})
	controlplanetest.Await(t, "the writes of one change", func(context.Context) (bool, error) {
		events, err := f.cp.AuditEvents(mark, controlplane.Writes, controlplane.ByUser(operator.User), isSecretWrite)
		if err != nil {
			return false, err
		}
		return controlplanetest.Holds(len(events) == 2, "there are %d", len(events))
	})
}

func isSecretWrite(event auditv1.Event) bool {
	return rights.IsReal(event) && event.ObjectRef != nil && event.ObjectRef.Resource == "secrets"
}

// touchAll changes a label of every Cluster that concerns nobody.
func (f *fixture) touchAll(value string) {
	f.Helper()
	clusters := &clusterv1.ClusterList{}
	f.must(f.client.List(f.Context(), clusters, client.InNamespace(f.namespace)))
	for i := range clusters.Items {
		before := clusters.Items[i].DeepCopy()
		metav1.SetMetaDataLabel(&clusters.Items[i].ObjectMeta, "fairlead.test/touched", value)
		f.must(f.client.Patch(f.Context(), &clusters.Items[i], client.MergeFrom(before)))
	}
}

// reconciles is how often this operator has reconciled without error since it
// started, counted by its own metric.
func (f *fixture) reconciles() float64 {
	f.Helper()
	page, err := f.operator.Metrics(f.Context())
	f.must(err)
	return metric(page, `controller_runtime_reconcile_total{controller="cluster",result="requeue_after"}`)
}

// awaitReconciled awaits that it has done so at least so often, and rests.
func (f *fixture) awaitReconciled(atLeast float64) {
	f.Helper()
	controlplanetest.Await(f, "reconciles", func(ctx context.Context) (bool, error) {
		page, err := f.operator.Metrics(ctx)
		if err != nil {
			return false, err
		}
		done := f.reconciles()
		active := metric(page, `controller_runtime_active_workers{controller="cluster"}`)
		depth := metric(page, `workqueue_depth{controller="cluster",name="cluster",priority="0"}`) +
			metric(page, `workqueue_depth{controller="cluster",name="cluster",priority="-100"}`)
		if done < atLeast || active > 0 || depth > 0 {
			return false, fmt.Errorf("%v reconciles, %v active, %v queued", done, active, depth)
		}
		return true, nil
	})
}

// awaitIdle awaits that the fan-out is over, the count of clusters included.
func (f *fixture) awaitIdle() {
	f.Helper()
	controlplanetest.Await(f, "the count of clusters", func(ctx context.Context) (bool, error) {
		proxies := &v1alpha1.CorporateProxyList{}
		if err := f.client.List(ctx, proxies); err != nil {
			return false, err
		}
		return controlplanetest.Holds(len(proxies.Items) == 1 && proxies.Items[0].Status.Clusters == fleetSize, "%+v", proxies.Items)
	})
	f.awaitReconciled(fleetSize)
}

func TestTheOperatorComesBackAfterARestartOfTheAPIServer(t *testing.T) {
	f := newOwnFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	f.must(f.cp.StopAPIServer())
	f.must(f.cp.StartAPIServer(t.Context()))
	controlplanetest.Await(t, "the API server to serve Clusters", func(ctx context.Context) (bool, error) {
		err := f.client.List(ctx, &clusterv1.ClusterList{}, client.InNamespace(f.namespace))
		return err == nil, err
	})
	f.cluster("c2")
	f.awaitNoProxy("c2", exampleMerged)
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
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	leader := f.operator
	f.startOperator("--leader-elect=true")
	leader.Kill()
	f.cluster("c2")
	f.awaitNoProxy("c2", exampleMerged)
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
			err := caged.Create(ctx, stranger, client.DryRunAll)
			return err == nil, err
		})
	}
	_, err := operator.Start(t.Context(), f.cp, operator.Options{})
	if err == nil || !strings.Contains(err.Error(), "refusing to run without the admission policy fairlead-operator-secrets and fairlead-operator-configmaps and fairlead-operator-writes") {
		t.Errorf("it started, or said: %v", err)
	}
}
