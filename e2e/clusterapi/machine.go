package clusterapi

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KubernetesVersion is the version of Kubernetes on the machines.
const KubernetesVersion = "v1.36.3"

const dataInterval = 50 * time.Millisecond

// CreateControlPlaneMachine creates the first Machine of a cluster and its KubeadmConfig, both of this name
// and of this spec, to which what kubeadm init needs is added. The core controllers, which would link the two,
// need not run.
func CreateControlPlaneMachine(ctx context.Context, c client.Client, cluster *clusterv1.Cluster, name string, spec bootstrapv1.KubeadmConfigSpec) (*bootstrapv1.KubeadmConfig, error) {
	meta := metav1.ObjectMeta{
		Namespace: cluster.Namespace,
		Name:      name,
		Labels:    map[string]string{clusterv1.ClusterNameLabel: cluster.Name, clusterv1.MachineControlPlaneLabel: ""},
	}
	machine := &clusterv1.Machine{
		ObjectMeta: *meta.DeepCopy(),
		Spec: clusterv1.MachineSpec{
			ClusterName: cluster.Name,
			Version:     KubernetesVersion,
			Bootstrap: clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: bootstrapv1.GroupVersion.Group, Kind: "KubeadmConfig", Name: name,
			}},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "AnyMachine", Name: name,
			},
		},
	}
	if err := c.Create(ctx, machine); err != nil {
		return nil, fmt.Errorf("create Machine %s: %w", name, err)
	}
	// At least one property of each must be set: that makes it "init" rather than "join".
	if !spec.ClusterConfiguration.IsDefined() {
		spec.ClusterConfiguration.CertificateValidityPeriodDays = 365
	}
	if !spec.InitConfiguration.IsDefined() {
		spec.InitConfiguration.Timeouts.ControlPlaneComponentHealthCheckSeconds = ptr.To[int32](240)
	}
	meta.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(machine, clusterv1.GroupVersion.WithKind("Machine"))}
	config := &bootstrapv1.KubeadmConfig{ObjectMeta: meta, Spec: spec}
	if err := c.Create(ctx, config); err != nil {
		return nil, fmt.Errorf("create KubeadmConfig %s: %w", name, err)
	}
	return config, nil
}

// SetInfrastructureProvisioned says what an infrastructure provider would: the bootstrap provider does
// nothing before.
func SetInfrastructureProvisioned(ctx context.Context, c client.Client, cluster *clusterv1.Cluster) error {
	before := cluster.DeepCopy()
	cluster.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	if err := c.Status().Patch(ctx, cluster, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("set the infrastructure of Cluster %s provisioned: %w", cluster.Name, err)
	}
	return nil
}

// BootstrapData is the user data of a machine, byte for byte.
type BootstrapData struct {
	Format string // cloud-config or ignition
	Value  []byte
}

// AwaitBootstrapData waits, for as long as the context lets it, until the provider has made the data. The
// error says what the provider waits for.
func AwaitBootstrapData(ctx context.Context, c client.Client, config *bootstrapv1.KubeadmConfig) (data BootstrapData, err error) {
	key := client.ObjectKeyFromObject(config)
	secret := &corev1.Secret{}
	err = wait.PollUntilContextCancel(ctx, dataInterval, true, func(ctx context.Context) (bool, error) {
		err := c.Get(ctx, key, secret)
		return err == nil, client.IgnoreNotFound(err)
	})
	if err != nil {
		return data, fmt.Errorf("await the bootstrap data of %s: %w: %s", key, err, waitsFor(c, config))
	}
	return BootstrapData{Format: string(secret.Data["format"]), Value: secret.Data["value"]}, nil
}

// waitsFor is the provider's own answer. The caller's time is up: this takes its own.
func waitsFor(c client.Client, config *bootstrapv1.KubeadmConfig) string {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	current := &bootstrapv1.KubeadmConfig{}
	if err := c.Get(ctx, client.ObjectKeyFromObject(config), current); err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%+v", meta.FindStatusCondition(current.Status.Conditions, bootstrapv1.KubeadmConfigDataSecretAvailableCondition))
}
