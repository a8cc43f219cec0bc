package clusterapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/e2e/clusterapi"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/observe"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/internal/core/probe"
)

// Cluster API's core controllers are real, and so is what observes. Played are vSphere, kubelets (a Node is an object), and the
// probe. One API server is management and workload cluster.
func TestAMachineDeploymentWithTheReadinessGateWaitsForMachinesThatGetOut(t *testing.T) {
	tier.Full(t)
	f := newFleet(t)
	f.must(f.cp.ApplyFS(t.Context(), config.Observe))
	cluster := f.reachable("gated")
	f.workers(cluster)
	f.changeWorkers(func(md *clusterv1.MachineDeployment) { // the next one comes before the last one goes
		md.Spec.Rollout.Strategy.RollingUpdate.MaxSurge, md.Spec.Rollout.Strategy.RollingUpdate.MaxUnavailable = ptr.To(intstr.FromInt32(1)), ptr.To(intstr.FromInt32(0))
	})
	first := f.next(cluster)
	f.awaitAvailable(1)

	// The gate alone replaces no machine, and takes those that there are for unavailable.
	f.changeWorkers(func(md *clusterv1.MachineDeployment) {
		md.Spec.Template.Spec.ReadinessGates = []clusterv1.MachineReadinessGate{{ConditionType: v1alpha1.ConditionEgressVerified}}
	})
	f.awaitReady(first, "Unknown", v1alpha1.ConditionEgressVerified)
	f.awaitAvailable(0)

	f.publish(func(n *probe.Nodes) { n.Until = ptr.To(time.Now().Add(time.Hour)) })
	program, err := observe.Start(t.Context(), f.cp, "--period=1s", "--machines")
	f.must(err)
	f.awaitReady(first, "True", "")
	f.awaitAvailable(1)

	// Without the condition, a rollout waits.
	f.must(program.Stop())
	f.roll()
	second := f.next(cluster, first)
	f.awaitReady(second, "Unknown", v1alpha1.ConditionEgressVerified)
	f.stays(first)

	// With it, it goes on.
	_, err = observe.Start(t.Context(), f.cp, "--period=1s", "--machines")
	f.must(err)
	f.awaitReady(second, "True", "")
	f.awaitGoing(first)

	// A machine that was not tried yet is waited for. One that does not get out stops the rollout.
	f.publish(func(n *probe.Nodes) { n.Until = ptr.To(time.Now().Add(-time.Second)) })
	f.roll()
	third := f.next(cluster, first, second)
	f.awaitReady(third, "Unknown", v1alpha1.ConditionEgressVerified)
	f.publish(func(n *probe.Nodes) {
		n.Until, n.Failed, n.Worst = ptr.To(time.Now().Add(time.Hour)), 1, []probe.Node{{Name: third, State: probe.Failed}}
	})
	f.awaitReady(third, "False", v1alpha1.ConditionEgressVerified)
	f.stays(second)

	f.publish(func(n *probe.Nodes) { n.Until = ptr.To(time.Now().Add(time.Hour)) })
	f.awaitGoing(second)
}

// The gate is in the way of KubeadmControlPlane's count of ready machines, and of nothing that it does. Both providers are real;
// the components of a control plane are objects, and etcd is an external one that nobody dials.
func TestAKubeadmControlPlaneDoesNotLookAtTheReadinessGate(t *testing.T) {
	tier.Full(t)
	f := newFleet(t)
	f.apply(vsphere)
	cluster := f.cluster("gated-cp", nil)
	f.kubeconfig(cluster.Name)
	f.setEndpoint(cluster)
	before := cluster.DeepCopy()
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: controlplanev1.GroupVersion.Group, Kind: "KubeadmControlPlane", Name: "gated"}
	f.must(f.client.Patch(t.Context(), cluster, client.MergeFrom(before)))
	f.must(clusterapi.SetInfrastructureProvisioned(t.Context(), f.client, cluster))
	f.gatedControlPlane(cluster)

	first := f.nextOfControlPlane(cluster)
	f.awaitReady(first, "Unknown", v1alpha1.ConditionEgressVerified)
	what := "a control plane that counts no ready machine"
	kcp := awaitObject(f, what, &controlplanev1.KubeadmControlPlane{}, "gated", func(kcp *controlplanev1.KubeadmControlPlane) (bool, error) {
		status := kcp.Status
		initialized := ptr.Deref(status.Initialization.ControlPlaneInitialized, false)
		return controlplanetest.Holds(initialized && ptr.Deref(status.Replicas, 0) == 1 && ptr.Deref(status.ReadyReplicas, -1) == 0, "%+v", status)
	})
	f.must(f.client.Patch(t.Context(), kcp, merge(`{"spec":{"rollout":{"after":%q}}}`, time.Now().UTC().Format(time.RFC3339))))
	second := f.nextOfControlPlane(cluster, first)
	f.awaitReady(second, "Unknown", v1alpha1.ConditionEgressVerified)
	f.awaitGoing(first)
}

func (f *fleet) gatedControlPlane(cluster *clusterv1.Cluster) {
	f.Helper()
	certificate, key, err := certutil.GenerateSelfSignedCertKey("192.0.2.1", nil, nil)
	f.must(err)
	for _, name := range []string{"-etcd", "-apiserver-etcd-client"} {
		secret := observe.SecretOf(f.namespace, cluster.Name, nil)
		secret.Name, secret.Data = cluster.Name+name, map[string][]byte{"tls.crt": certificate, "tls.key": key}
		f.must(f.client.Create(f.Context(), secret))
	}
	const system = metav1.NamespaceSystem
	f.must(client.IgnoreAlreadyExists(f.client.Create(f.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "default"}})))
	f.must(f.client.Create(f.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: system, Name: "kubeadm-config"},
		Data:       map[string]string{"ClusterConfiguration": "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n"},
	}))
	kcp := &controlplanev1.KubeadmControlPlane{}
	f.must(yaml.UnmarshalStrict([]byte(`
metadata: {name: gated}
spec:
  replicas: 1
  version: `+clusterapi.KubernetesVersion+`
  kubeadmConfigSpec:
    clusterConfiguration:
      etcd: {external: {endpoints: ["https://192.0.2.1:2379"], caFile: /a, certFile: /b, keyFile: /c}}
  machineTemplate:
    spec:
      infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VSphereMachineTemplate, name: mycluster-control-plane}
      readinessGates: [{conditionType: EgressVerified}]
`), kcp))
	kcp.Namespace, kcp.Labels = f.namespace, map[string]string{clusterv1.ClusterNameLabel: cluster.Name}
	f.must(f.client.Create(f.Context(), kcp))
}

// nextOfControlPlane awaits a machine beside those that are known, and brings it and its components up.
func (f *fleet) nextOfControlPlane(cluster *clusterv1.Cluster, known ...string) string {
	f.Helper()
	name := ""
	controlplanetest.Await(f, "another machine of the control plane", func(ctx context.Context) (bool, error) {
		for _, m := range f.machines(cluster) {
			if !slices.Contains(known, m.Name) {
				name = m.Name
			}
		}
		if name == "" {
			kcp := &controlplanev1.KubeadmControlPlane{}
			err := f.client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: "gated"}, kcp)
			return false, fmt.Errorf("%+v, %w", kcp.Status.Conditions, err)
		}
		return true, nil
	})
	for _, component := range []string{"kube-apiserver", "kube-controller-manager", "kube-scheduler"} {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: metav1.NamespaceSystem, Name: component + "-" + name, Labels: map[string]string{"component": component, "tier": "control-plane"},
			},
			Spec: corev1.PodSpec{NodeName: name, Containers: []corev1.Container{{Name: "c", Image: "c"}}},
		}
		f.must(f.client.Create(f.Context(), pod))
		controlplanetest.ChangeStatus(f, f.client, pod, func(p *corev1.Pod) {
			p.Status.Phase, p.Status.Conditions = corev1.PodRunning, nil
			for _, kind := range []corev1.PodConditionType{corev1.PodScheduled, corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
				p.Status.Conditions = append(p.Status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue})
			}
		})
	}
	awaitObject(f, "bootstrap data of "+name, &clusterv1.Machine{}, name, func(m *clusterv1.Machine) (bool, error) {
		return controlplanetest.Holds(m.Spec.Bootstrap.DataSecretName != nil, "%+v", m.Status.Conditions)
	})
	f.bringUp(name, map[string]string{"node-role.kubernetes.io/control-plane": ""})
	return name
}

// reachable is a cluster whose kubeconfig is this API server's, with a control plane that is up.
func (f *fleet) reachable(name string) *clusterv1.Cluster {
	f.Helper()
	f.apply(vsphere)
	cluster := f.cluster(name, nil)
	f.kubeconfig(name)
	f.setEndpoint(cluster)
	f.must(clusterapi.SetInfrastructureProvisioned(f.Context(), f.client, cluster))
	machine := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": vsphereAPI, "kind": "VSphereMachine",
		"metadata": map[string]any{"namespace": f.namespace, "name": "cp", "labels": map[string]any{clusterv1.ClusterNameLabel: name}},
		"spec":     map[string]any{"template": "ubuntu-2404", "network": map[string]any{"devices": []any{map[string]any{"networkName": "VM Network", "dhcp4": true}}}},
	}}
	f.must(f.client.Create(f.Context(), machine))
	f.must(f.client.Create(f.Context(), &clusterv1.Machine{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: f.namespace, Name: "cp", Labels: map[string]string{clusterv1.ClusterNameLabel: name, clusterv1.MachineControlPlaneLabel: ""},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName: name, Version: clusterapi.KubernetesVersion, Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("any")},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "VSphereMachine", Name: "cp"},
		},
	}))
	f.bringUp("cp", nil)
	return cluster
}

// kubeconfig is an administrator's. By its type, KubeadmControlPlane takes it for one that a user gave, and renews nothing in it.
func (f *fleet) kubeconfig(cluster string) {
	f.Helper()
	text := controlplanetest.ReadFile(f, f.cp.AdminKubeconfig())
	secret := observe.SecretOf(f.namespace, cluster, text)
	secret.Type = corev1.SecretTypeOpaque
	f.must(f.client.Create(f.Context(), secret))
}

// bringUp plays vSphere and the kubelet of a machine, whose node has its name.
func (f *fleet) bringUp(name string, labels map[string]string) {
	f.Helper()
	machine := &clusterv1.Machine{}
	f.must(f.client.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, machine))
	id := "vsphere://" + f.namespace + "-" + name
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.NodeSpec{ProviderID: id}}
	for role := range labels {
		node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: role, Effect: corev1.TaintEffectNoSchedule})
	}
	f.must(f.client.Create(f.Context(), node))
	controlplanetest.ChangeStatus(f, f.client, node, func(n *corev1.Node) { // which Cluster API labels as soon as it is there
		n.Status.Conditions = []corev1.NodeCondition{
			{Type: corev1.NodeReady, Status: corev1.ConditionTrue},
			{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse},
			{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse},
		}
	})
	f.setProvisioned(f.named(vsphereAPI, "VSphereMachine", machine.Spec.InfrastructureRef.Name), `{"providerID":"`+id+`"}`)
}

// next awaits a worker beside those that are known, and brings it up.
func (f *fleet) next(cluster *clusterv1.Cluster, known ...string) string {
	f.Helper()
	name := ""
	controlplanetest.Await(f, "another worker", func(context.Context) (bool, error) {
		for _, m := range f.machines(cluster) {
			if m.Name != "cp" && !strings.Contains(strings.Join(known, " "), m.Name) && m.Spec.InfrastructureRef.Name != "" {
				name = m.Name
			}
		}
		return controlplanetest.Holds(name != "", "there is none but %q", known)
	})
	f.bringUp(name, nil)
	return name
}

func (f *fleet) changeWorkers(change func(*clusterv1.MachineDeployment)) {
	f.Helper()
	md := &clusterv1.MachineDeployment{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "workers"}}
	controlplanetest.Change(f, f.client, md, change)
}

func (f *fleet) roll() {
	f.Helper()
	f.changeWorkers(func(md *clusterv1.MachineDeployment) { md.Spec.Rollout.After = metav1.Now() })
}

func (f *fleet) awaitAvailable(n int32) {
	f.Helper()
	awaitObject(f, fmt.Sprintf("%d available workers", n), &clusterv1.MachineDeployment{}, "workers", func(md *clusterv1.MachineDeployment) (bool, error) {
		available := ptr.Deref(md.Status.AvailableReplicas, -1)
		return controlplanetest.Holds(available == n, "%d: %+v", available, md.Status.Conditions)
	})
}

// awaitReady awaits what Cluster API says of a Machine, and why.
func (f *fleet) awaitReady(name, status, why string) {
	f.Helper()
	awaitObject(f, name+" Ready="+status, &clusterv1.Machine{}, name, func(machine *clusterv1.Machine) (bool, error) {
		conditions := machine.Status.Conditions
		ready, node := meta.FindStatusCondition(conditions, clusterv1.MachineReadyCondition), meta.IsStatusConditionTrue(conditions, clusterv1.MachineNodeHealthyCondition)
		says := ready != nil && string(ready.Status) == status && strings.Contains(ready.Message, why)
		return controlplanetest.Holds(says && node, "%+v", conditions)
	})
}

// stays requires that a Machine is not replaced, for as long as it takes to be replaced otherwise.
func (f *fleet) stays(name string) {
	f.Helper()
	for range 10 {
		machine := &clusterv1.Machine{}
		f.must(f.client.Get(f.Context(), client.ObjectKey{Namespace: f.namespace, Name: name}, machine))
		if machine.DeletionTimestamp != nil {
			f.Fatalf("%s goes", name)
		}
		time.Sleep(time.Second) // that nothing happens can only be waited for
	}
}

func (f *fleet) awaitGoing(name string) {
	f.Helper()
	controlplanetest.Await(f, "the end of "+name, func(ctx context.Context) (bool, error) {
		machine := &clusterv1.Machine{}
		err := f.client.Get(ctx, client.ObjectKey{Namespace: f.namespace, Name: name}, machine)
		return err != nil || machine.DeletionTimestamp != nil, client.IgnoreNotFound(err)
	})
}

// publish plays the probe. Its result counts for an hour.
func (f *fleet) publish(change func(*probe.Nodes)) {
	f.Helper()
	result := observe.Good(time.Now())
	result.Period, result.Nodes = "1h", &probe.Nodes{Total: 3}
	change(result.Nodes)
	f.must(observe.Publish(f.Context(), f.client, result))
}
