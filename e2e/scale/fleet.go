package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

const creators = 16 // parallel requests of who makes the fleet

// fleetNames are the clusters, some in each namespace.
func fleetNames(prefix string, count, inNamespace int) []types.NamespacedName {
	names := make([]types.NamespacedName, count)
	for i := range names {
		names[i] = types.NamespacedName{
			Namespace: fmt.Sprintf("org-%04d", i/inNamespace),
			Name:      fmt.Sprintf("%s-%05d", prefix, i),
		}
	}
	return names
}

// newCluster is a vSphere cluster, a kind whose object has no facts to read.
func newCluster(key types.NamespacedName, i int, delivered bool) *clusterv1.Cluster {
	cluster := operator.Cluster(key.Namespace, key.Name)
	cluster.Labels = map[string]string{"environment": "production", "release": "25.4.1", "site": fmt.Sprintf("dc-%d", i%7)}
	cluster.Spec.ControlPlaneEndpoint.Host = fmt.Sprintf("178.%d.%d.%d", 16+i/62500, i/250%250, 1+i%250)
	cluster.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: key.Name}
	if delivered {
		cluster.Labels[v1alpha1.DeliverLabel] = key.Name
	}
	return cluster
}

// newMachine has no owner: one that does not exist has the garbage collector delete the machine.
func newMachine(cluster types.NamespacedName, i int) *clusterv1.Machine {
	name := fmt.Sprintf("%s-md-0-7k2xq-%05d", cluster.Name, i)
	return &clusterv1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace, Name: name,
			Labels: map[string]string{
				clusterv1.ClusterNameLabel: cluster.Name, clusterv1.MachineDeploymentNameLabel: cluster.Name + "-md-0",
				clusterv1.MachineSetNameLabel: cluster.Name + "-md-0-7k2xq", "machine-template-hash": "1893427651-7k2xq",
			},
			Finalizers: []string{clusterv1.MachineFinalizer},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName:       cluster.Name,
			Version:           "v1.34.2",
			Bootstrap:         clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfig", Name: name}},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "VSphereMachine", Name: name},
		},
	}
}

// each does something for all, several at a time.
func each[T any](ctx context.Context, parallel int, all []T, do func(context.Context, int, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, one := range all {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error { return do(ctx, i, one) })
	}
	return group.Wait()
}

func createNamespaces(ctx context.Context, c client.Client, clusters []types.NamespacedName) error {
	var names []string
	for _, cluster := range clusters {
		names = append(names, cluster.Namespace)
	}
	return each(ctx, creators, slices.Compact(names), func(ctx context.Context, _ int, name string) error {
		return c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	})
}

// createMachines sends bodies and reads no answers: there may be a hundred thousand.
func (s *side) createMachines(ctx context.Context, clusters []types.NamespacedName, count int) error {
	all := slices.Repeat(clusters, count) // each cluster has its first machine before one has its second
	return each(ctx, creators, all, func(ctx context.Context, n int, cluster types.NamespacedName) error {
		body, err := json.Marshal(newMachine(cluster, n/len(clusters)))
		if err != nil {
			return err
		}
		path := "/apis/" + clusterv1.GroupVersion.String() + "/namespaces/" + cluster.Namespace + "/machines"
		return s.admin.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	})
}
