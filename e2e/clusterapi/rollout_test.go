package clusterapi_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
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
	f.infrastructure()
	source := f.rollingProxy()
	cluster := f.cluster("rolled")
	before := cluster.DeepCopy()
	cluster.Labels = map[string]string{rollingLabel: f.namespace}
	f.must(f.client.Patch(t.Context(), cluster, client.MergeFrom(before)))
	f.setEndpoint(cluster)
	f.must(clusterapi.SetInfrastructureProvisioned(t.Context(), f.client, cluster))
	f.awaitCounts(cluster, 0, 0)
	f.workers(cluster)
	f.awaitCounts(cluster, 1, 0)
	old := f.machines(cluster)[0]

	source.StringData = map[string]string{"http": "http://user:changed@proxy.example:3128"}
	f.must(f.client.Update(t.Context(), source))
	var current clusterv1.Machine
	controlplanetest.Await(t, "another machine", func(context.Context) (bool, error) {
		machines := f.machines(cluster)
		if len(machines) != 1 || machines[0].Name == old.Name {
			return false, fmt.Errorf("%d machines, report: %+v", len(machines), f.proxyReport(cluster).Status.Rollout)
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
	controlplanetest.Await(t, "the rollout to wait for the new machine", func(context.Context) (bool, error) {
		rollout := f.proxyReport(cluster).Status.Rollout
		if rollout == nil || rollout.After == nil || !strings.HasPrefix(rollout.Message, "waits: not all machines of MachineDeployment workers ") {
			return false, fmt.Errorf("%+v", rollout)
		}
		return true, nil
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
	patch := func(text string) error {
		return caged.Patch(t.Context(), kcp.DeepCopy(), client.RawPatch(types.MergePatchType, []byte(text)), client.DryRunAll)
	}
	controlplanetest.Await(t, "the admission policy", func(context.Context) (bool, error) {
		err := patch(`{"spec":{"replicas":3}}`)
		return controlplanetest.Holds(apierrors.IsForbidden(err) && strings.Contains(err.Error(), "fairlead-operator-rollout"), "it says %v", err)
	})
	if err := patch(`{"spec":{"rollout":{"after":"2026-01-02T03:04:05Z"}}}`); err != nil {
		t.Error(err)
	}
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
	labels := map[string]string{"pool": "workers"}
	f.must(f.client.Create(f.Context(), &clusterv1.MachineDeployment{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "workers", Labels: map[string]string{clusterv1.ClusterNameLabel: cluster.Name}},
		Spec: clusterv1.MachineDeploymentSpec{
			ClusterName: cluster.Name, Replicas: ptr.To[int32](1),
			Selector: metav1.LabelSelector{MatchLabels: labels},
			Rollout: clusterv1.MachineDeploymentRolloutSpec{Strategy: clusterv1.MachineDeploymentRolloutStrategy{
				Type: clusterv1.RollingUpdateMachineDeploymentStrategyType,
				RollingUpdate: clusterv1.MachineDeploymentRolloutStrategyRollingUpdate{
					MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(1)),
				},
			}},
			Template: clusterv1.MachineTemplateSpec{
				ObjectMeta: clusterv1.ObjectMeta{Labels: labels},
				Spec: clusterv1.MachineSpec{
					ClusterName: cluster.Name, Version: clusterapi.KubernetesVersion,
					Bootstrap:         clusterv1.Bootstrap{DataSecretName: ptr.To("any")},
					InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "VSphereMachineTemplate", Name: "mycluster-workers"},
				},
			},
		},
	}))
}

func (f *fleet) machines(cluster *clusterv1.Cluster) []clusterv1.Machine {
	f.Helper()
	machines := &clusterv1.MachineList{}
	f.must(f.client.List(f.Context(), machines, client.InNamespace(f.namespace), client.MatchingLabels{clusterv1.ClusterNameLabel: cluster.Name}))
	return machines.Items
}

func (f *fleet) proxyReport(cluster *clusterv1.Cluster) *v1alpha1.ProxyReport {
	f.Helper()
	report := &v1alpha1.ProxyReport{}
	f.must(client.IgnoreNotFound(f.client.Get(f.Context(), client.ObjectKeyFromObject(cluster), report)))
	return report
}

func (f *fleet) awaitCounts(cluster *clusterv1.Cluster, machines, outdated int32) v1alpha1.ProxyReportStatus {
	f.Helper()
	var status v1alpha1.ProxyReportStatus
	controlplanetest.Await(f, fmt.Sprintf("%d machines, %d outdated", machines, outdated), func(context.Context) (bool, error) {
		status = f.proxyReport(cluster).Status
		nodes := status.Nodes
		if nodes == nil || nodes.Machines != machines || nodes.Outdated != outdated || status.ProxyName != "rolling-"+f.namespace {
			return false, fmt.Errorf("%+v", status)
		}
		return true, nil
	})
	return status
}
