package clusterapi_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/clusterapi"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

const rollingLabel = "fairlead.test/rolling"

// The webhooks let the operator's change through, the admission policy does after them, and the core controllers
// take it for what it is meant as: a new MachineSet, and the old Machine goes.
func TestClusterAPIReplacesTheMachinesThatFairleadCountsAsOutdated(t *testing.T) {
	tier.Full(t)
	f := newFleet(t)
	f.must(f.cp.ApplyFS(t.Context(), config.Rollout))
	f.apply(vsphere)
	source := f.rollingProxy()
	cluster := f.cluster("rolled", map[string]string{rollingLabel: f.namespace})
	f.setEndpoint(cluster)
	f.must(clusterapi.SetInfrastructureProvisioned(t.Context(), f.client, cluster))
	f.awaitCounts(cluster, 0, 0)
	f.workers(cluster)
	f.awaitCounts(cluster, 1, 0)
	old := f.machines(cluster)[0]

	source.StringData = map[string]string{"http": "http://user:changed@proxy.example:3128"}
	f.must(f.client.Update(t.Context(), source))
	var current clusterv1.Machine
	controlplanetest.Await(t, "another machine", func(ctx context.Context) (bool, error) {
		machines := f.machines(cluster)
		if len(machines) != 1 || machines[0].Name == old.Name {
			report := &v1alpha1.ProxyReport{}
			err := f.client.Get(ctx, client.ObjectKeyFromObject(cluster), report)
			return false, errors.Join(err, fmt.Errorf("%d machines, report: %+v", len(machines), report.Status.Rollout))
		}
		current = machines[0]
		return true, nil
	})
	if current.Labels[clusterv1.MachineSetNameLabel] == old.Labels[clusterv1.MachineSetNameLabel] {
		t.Error("it is of the old MachineSet")
	}
	status := f.awaitCounts(cluster, 1, 0)
	if status.Nodes.Since == nil || current.CreationTimestamp.Before(status.Nodes.Since) {
		t.Errorf("created %v, since %v", current.CreationTimestamp, status.Nodes.Since)
	}
	// No machine comes up here: none is outdated any more, and the next cluster waits all the same.
	f.awaitReport("the rollout to wait for the new machine", cluster.Name, func(report *v1alpha1.ProxyReport) (bool, error) {
		rollout := report.Status.Rollout
		waits := rollout != nil && rollout.After != nil && strings.HasPrefix(rollout.Message, "waits: not all machines of MachineDeployment workers ")
		return controlplanetest.Holds(waits, "%+v", rollout)
	})
}

// No control plane comes up here. That its webhook defaults nothing else along with the change, which the admission
// policy would refuse, can be seen all the same.
func TestTheWebhookOfControlPlanesAddsNothingToARollout(t *testing.T) {
	tier.Full(t)
	f := newFleet(t)
	f.must(f.cp.ApplyFS(t.Context(), config.Rollout))
	kcp := &controlplanev1.KubeadmControlPlane{}
	f.must(yaml.UnmarshalStrict([]byte(`
metadata: {name: cp}
spec:
  replicas: 1
  version: v1.36.3
  kubeadmConfigSpec: {verbosity: 1}
  machineTemplate:
    spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachineTemplate, name: any}}
`), kcp))
	kcp.Namespace = f.namespace
	f.must(f.client.Create(t.Context(), kcp))
	account, err := f.cp.ServiceAccount(t.Context(), operator.Namespace, operator.ServiceAccount)
	f.must(err)
	caged := controlplanetest.Client(f, account, f.client.Scheme())
	controlplanetest.Await(t, "the admission policy", func(context.Context) (bool, error) {
		err := caged.Patch(t.Context(), kcp.DeepCopy(), merge(`{"spec":{"replicas":3}}`), client.DryRunAll)
		return controlplanetest.Holds(apierrors.IsForbidden(err) && strings.Contains(err.Error(), "fairlead-operator-rollout"), "it says %v", err)
	})
	f.must(caged.Patch(t.Context(), kcp.DeepCopy(), merge(`{"spec":{"rollout":{"after":"2026-01-02T03:04:05Z"}}}`), client.DryRunAll))
}

// rollingProxy is a CorporateProxy for this test's clusters alone, and returns the Secret it reads.
func (f *fleet) rollingProxy() *corev1.Secret {
	f.Helper()
	name := "rolling-" + f.namespace
	source := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: name},
		StringData: map[string]string{"http": "http://user:secret@proxy.example:3128"},
	}
	proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.CorporateProxySpec{
		Priority:        10,
		ClusterSelector: &metav1.LabelSelector{MatchLabels: map[string]string{rollingLabel: f.namespace}},
		Source:          v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: name}},
		Node:            v1alpha1.NodeSettings{Rollout: v1alpha1.RolloutRolling},
	}}
	f.must(f.client.Create(f.Context(), source))
	f.must(f.client.Create(f.Context(), proxy))
	f.Cleanup(func() { _ = f.client.Delete(context.Background(), proxy) })
	return source
}

// workers is one worker that may go before the next is there: no machine comes up here.
func (f *fleet) workers(cluster *clusterv1.Cluster) {
	f.Helper()
	f.must(f.cp.Apply(f.Context(), fmt.Appendf(nil, `
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachineDeployment
metadata: {name: workers, namespace: %[1]s, labels: {cluster.x-k8s.io/cluster-name: %[2]s}}
spec:
  clusterName: %[2]s
  replicas: 1
  selector: {matchLabels: {pool: workers}}
  rollout: {strategy: {type: RollingUpdate, rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}}
  template:
    metadata: {labels: {pool: workers}}
    spec:
      clusterName: %[2]s
      version: %[3]s
      bootstrap: {dataSecretName: any}
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachineTemplate, name: mycluster-workers}
`, f.namespace, cluster.Name, clusterapi.KubernetesVersion)))
}

func (f *fleet) machines(cluster *clusterv1.Cluster) []clusterv1.Machine {
	f.Helper()
	machines := &clusterv1.MachineList{}
	f.must(f.client.List(f.Context(), machines, client.InNamespace(f.namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}))
	return machines.Items
}

func (f *fleet) awaitReport(what, cluster string, condition func(*v1alpha1.ProxyReport) (bool, error)) v1alpha1.ProxyReportStatus {
	f.Helper()
	return awaitObject(f, what, &v1alpha1.ProxyReport{}, cluster, condition).Status
}

func (f *fleet) awaitCounts(cluster *clusterv1.Cluster, machines, outdated int32) v1alpha1.ProxyReportStatus {
	f.Helper()
	what := fmt.Sprintf("%d machines, %d outdated", machines, outdated)
	return f.awaitReport(what, cluster.Name, func(report *v1alpha1.ProxyReport) (bool, error) {
		nodes := report.Status.Nodes
		counted := nodes != nil && nodes.Machines == machines && nodes.Outdated == outdated
		return controlplanetest.Holds(counted && report.Status.ProxyName == "rolling-"+f.namespace, "%+v", report.Status)
	})
}
