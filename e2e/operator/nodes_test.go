package operator_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

// Machines, their pools and owners are objects only here: no controller of
// Cluster API acts on them.

func anyOf(kind string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: kind, Name: "any"}
}

func (f *fixture) meta(name, cluster string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: f.namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}}
}

func (f *fixture) controlPlane(cluster string) *controlplanev1.KubeadmControlPlane {
	f.Helper()
	kcp := controlPlaneOf(f.meta(cluster+"-cp", cluster))
	f.must(f.client.Create(f.Context(), kcp))
	return kcp
}

func controlPlaneOf(meta metav1.ObjectMeta) *controlplanev1.KubeadmControlPlane {
	return &controlplanev1.KubeadmControlPlane{
		ObjectMeta: meta,
		Spec: controlplanev1.KubeadmControlPlaneSpec{
			Replicas: ptr.To[int32](3), Version: "v1.36.3",
			MachineTemplate: controlplanev1.KubeadmControlPlaneMachineTemplate{
				Spec: controlplanev1.KubeadmControlPlaneMachineTemplateSpec{InfrastructureRef: anyOf("VSphereMachineTemplate")},
			},
			KubeadmConfigSpec: bootstrapv1.KubeadmConfigSpec{PreKubeadmCommands: []string{"systemctl daemon-reload"}},
		},
	}
}

func (f *fixture) deployment(cluster, name string) *clusterv1.MachineDeployment {
	f.Helper()
	md := &clusterv1.MachineDeployment{ObjectMeta: f.meta(name, cluster), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: cluster, Replicas: ptr.To[int32](2),
		Selector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.MachineDeploymentNameLabel: name}},
		Template: clusterv1.MachineTemplateSpec{Spec: machineSpec(cluster)},
	}}
	f.must(f.client.Create(f.Context(), md))
	return md
}

func machineSpec(cluster string) clusterv1.MachineSpec {
	return clusterv1.MachineSpec{
		ClusterName: cluster, InfrastructureRef: anyOf("VSphereMachine"),
		Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("any")},
	}
}

// machine creates a Machine of an owner: a control plane by reference, a
// MachineDeployment by label, as Cluster API does, or nil.
func (f *fixture) machine(cluster, name string, owner client.Object) *clusterv1.Machine {
	f.Helper()
	m := &clusterv1.Machine{ObjectMeta: f.meta(name, cluster), Spec: machineSpec(cluster)}
	switch owner := owner.(type) {
	case *controlplanev1.KubeadmControlPlane:
		m.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(owner, controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"))}
	case *clusterv1.MachineDeployment:
		m.Labels[clusterv1.MachineDeploymentNameLabel] = owner.Name
	}
	f.must(f.client.Create(f.Context(), m))
	return m
}

// nextSecondOf waits until new objects are created later than a time.
func (f *fixture) nextSecondOf(at metav1.Time) {
	f.Helper()
	controlplanetest.Await(f, "the next second", func(context.Context) (bool, error) {
		return controlplanetest.Holds(metav1.Now().Rfc3339Copy().After(at.Time), "it is still that of %s", at)
	})
}

// awaitNodes awaits counts: machines, outdated, pools, outdated pools.
func (f *fixture) awaitNodes(cluster string, want ...int32) *v1alpha1.ReportedNodes {
	f.Helper()
	return f.awaitReport(cluster, fmt.Sprint("counts ", want), func(r *v1alpha1.ProxyReport) bool {
		n := r.Status.Nodes
		return n != nil && slices.Equal([]int32{n.Machines, n.Outdated, n.MachinePools, n.OutdatedMachinePools}, want)
	}).Status.Nodes
}

// changeSource changes the Secret of the example's proxy, and awaits that it has
// reached a cluster.
func (f *fixture) changeSource(cluster string, change func(map[string][]byte)) {
	f.Helper()
	before := f.secret(cluster + render.SystemdSuffix).ResourceVersion
	f.setSource("example-"+f.namespace, change)
	controlplanetest.Await(f, "the change in "+cluster, func(context.Context) (bool, error) {
		return controlplanetest.Holds(f.secret(cluster+render.SystemdSuffix).ResourceVersion != before, "its Secret is that of before")
	})
}

func otherPassword(password string) func(map[string][]byte) {
	return func(data map[string][]byte) {
		data["http"] = []byte("http://myProxyUser:" + password + "@192.168.52.220:3128")
	}
}

// otherOrder turns the list round.
func otherOrder(data map[string][]byte) {
	entries := strings.Split(string(data["noProxy"]), ",")
	slices.Reverse(entries)
	data["noProxy"] = []byte(strings.Join(entries, ","))
}

func TestMachinesBuiltBeforeAChangeAreCountedInReportAndMetric(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.servedCluster("c1")
	kcp, md := f.controlPlane("c1"), f.deployment("c1", "c1-md")
	f.machine("c1", "cp-0", kcp)
	f.machine("c1", "md-0", md)
	f.machine("c1", "md-1", md)
	alone := f.machine("c1", "alone", nil)
	f.must(f.client.Create(t.Context(), &clusterv1.MachinePool{ObjectMeta: f.meta("mp", "c1"), Spec: clusterv1.MachinePoolSpec{
		ClusterName: "c1", Template: clusterv1.MachineTemplateSpec{Spec: machineSpec("c1")},
	}}))
	f.machine("another", "another-0", nil)
	if since := f.awaitNodes("c1", 4, 0, 1, 0).Since; since != nil {
		t.Errorf("since %v, although nothing has changed", since)
	}

	f.nextSecondOf(alone.CreationTimestamp)
	f.changeSource("c1", otherPassword("changed"))
	nodes := f.awaitNodes("c1", 4, 4, 1, 1)
	if diff := cmp.Diff([]v1alpha1.ReportedOwner{
		{Machines: 1, Outdated: 1},
		{Kind: "KubeadmControlPlane", Name: "c1-cp", Machines: 1, Outdated: 1},
		{Kind: "MachineDeployment", Name: "c1-md", Machines: 2, Outdated: 2},
	}, nodes.Owners); diff != "" {
		t.Error(diff)
	}
	report := f.report("c1", "Applied")
	if !meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionMachinesOutdated) {
		t.Errorf("nothing says so: %+v", report.Status.Conditions)
	}
	series := fmt.Sprintf(`{cluster="c1",namespace="%s"}`, f.namespace)
	page, err := f.operator.Metrics(t.Context())
	f.must(err)
	if process.Sum(page, "fairlead_outdated_machines"+series) != 4 || process.Sum(page, "fairlead_outdated_machine_pools"+series) != 1 {
		t.Error("the metrics say something else")
	}

	// One replaced, one being deleted, one gone.
	f.nextSecondOf(*nodes.Since)
	f.machine("c1", "md-2", md)
	f.must(f.client.Delete(t.Context(), alone))
	going := &clusterv1.Machine{ObjectMeta: f.meta("md-0", "c1")}
	modify(f, going, func(m *clusterv1.Machine) { m.Finalizers = []string{"fairlead.test/held"} })
	f.must(f.client.Delete(t.Context(), going))
	f.awaitNodes("c1", 3, 2, 1, 1)
	modify(f, going, func(m *clusterv1.Machine) { m.Finalizers = nil })
	f.must(f.client.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: f.meta("md-1", "c1")}))
	f.must(f.client.Delete(t.Context(), &clusterv1.Machine{ObjectMeta: f.meta("cp-0", "c1")}))
	f.awaitNodes("c1", 1, 0, 1, 1)
	if report := f.report("c1", "Applied"); meta.IsStatusConditionTrue(report.Status.Conditions, v1alpha1.ConditionMachinesOutdated) {
		t.Error("the condition stays")
	}
}

func TestWhatTellsMachinesNothingNewMakesNoneOutdated(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.servedCluster("c1")
	f.machine("c1", "m", nil)
	f.changeSource("c1", otherPassword("first"))
	counted := f.awaitNodes("c1", 1, 1, 0, 0).Since
	f.nextSecond("c1")
	f.nextSecondOf(*counted)

	same := func(what string) {
		t.Helper()
		nodes := f.reapply("c1", what).Status.Nodes
		if !nodes.Since.Equal(counted) {
			t.Errorf("%s moved since from %v to %v", what, counted, nodes.Since)
		}
	}
	f.changeSource("c1", otherOrder)
	same("another order")
	f.must(f.client.Delete(t.Context(), f.secret("c1-systemd-proxy")))
	same("a Secret that is written again")
}

func TestALostWriteMemoryMakesNoMachineOutdatedAndALaterChangeDoes(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	before := f.report("c1", "Applied").Status.Nodes.HMAC
	f.machine("c1", "m", nil)
	f.awaitNodes("c1", 1, 0, 0, 0)
	f.nextSecond("c1")
	f.must(f.client.Delete(t.Context(), secretNamed(operator.Namespace, "fairlead-write-memory")))
	after := f.awaitReport("c1", "another key", func(r *v1alpha1.ProxyReport) bool { return r.Status.Nodes.HMAC != before })
	if after.Status.Nodes.Since != nil || after.Status.Nodes.Outdated != 0 {
		t.Errorf("%+v", after.Status.Nodes)
	}

	// While the operator is down, what it reads changes; it writes when it is back.
	f.must(f.operator.Stop())
	f.setSource("example-"+f.namespace, otherPassword("changed"))
	f.machine("c1", "built-while-it-was-down", nil)
	f.startOperator()
	f.awaitNodes("c1", 2, 2, 0, 0)
}
