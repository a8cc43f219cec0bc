package main

import (
	"context"
	"encoding/json"
	"fmt"
	"sync/atomic"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"golang.org/x/sync/errgroup"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/operator"
)

const (
	clustersInNamespace = 20
	creators            = 16 // parallel requests of who makes the fleet
	proxyName           = "corporate"
	entries             = "10.0.0.0/8,172.16.0.0/12,192.168.0.0/16,.corp.example,.lab.example,registry.corp.example," +
		"git.corp.example,vault.corp.example,ntp.corp.example,169.254.169.254,ldap.corp.example:636,mirror.corp.example"
)

// fleetNames are the clusters, some in each namespace.
func fleetNames(prefix string, count int) []types.NamespacedName {
	names := make([]types.NamespacedName, count)
	for i := range names {
		names[i] = types.NamespacedName{
			Namespace: fmt.Sprintf("org-%04d", i/clustersInNamespace),
			Name:      fmt.Sprintf("%s-%05d", prefix, i),
		}
	}
	return names
}

// token is the password of a fan-out, by which the Secrets that have it are known.
func token(n int) string { return fmt.Sprintf("%s%06d", tokenPrefix, n) }

// sourceData is what the proxy's Secret has.
func sourceData(token string) map[string][]byte {
	url := []byte("http://fleet:" + token + "@proxy.corp.example:3128")
	return map[string][]byte{"http": url, "https": url, "noProxy": []byte(entries)}
}

func createProxy(ctx context.Context, c client.Client, token string) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: proxyName}, Data: sourceData(token)}
	if err := c.Create(ctx, secret); err != nil {
		return err
	}
	return c.Create(ctx, &v1alpha1.CorporateProxy{
		ObjectMeta: metav1.ObjectMeta{Name: proxyName},
		Spec: v1alpha1.CorporateProxySpec{
			Source: v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: proxyName}},
		},
	})
}

// newCluster is a vSphere cluster, a kind whose object has no facts to read.
func newCluster(key types.NamespacedName, i int) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: key.Namespace, Name: key.Name,
			Labels: map[string]string{"environment": "production", "release": "25.4.1", "site": fmt.Sprintf("dc-%d", i%7)},
		},
		Spec: clusterv1.ClusterSpec{
			ClusterNetwork: clusterv1.ClusterNetwork{
				ServiceDomain: "cluster.local",
				Services:      clusterv1.NetworkRanges{CIDRBlocks: []string{"100.64.0.0/13"}},
				Pods:          clusterv1.NetworkRanges{CIDRBlocks: []string{"100.96.0.0/11"}},
			},
			ControlPlaneEndpoint: clusterv1.APIEndpoint{Host: fmt.Sprintf("178.%d.%d.%d", 16+i/62500, i/250%250, 1+i%250), Port: 6443},
			ControlPlaneRef:      clusterv1.ContractVersionedObjectReference{APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: key.Name},
			InfrastructureRef:    clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "VSphereCluster", Name: key.Name},
		},
	}
}

func newMachine(cluster types.NamespacedName, i int) *clusterv1.Machine {
	name := fmt.Sprintf("%s-md-0-7k2xq-%05d", cluster.Name, i)
	ready := true
	return &clusterv1.Machine{
		TypeMeta: metav1.TypeMeta{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine"},
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cluster.Namespace, Name: name,
			Labels: map[string]string{
				clusterv1.ClusterNameLabel: cluster.Name, clusterv1.MachineDeploymentNameLabel: cluster.Name + "-md-0",
				clusterv1.MachineSetNameLabel: cluster.Name + "-md-0-7k2xq", "machine-template-hash": "1893427651-7k2xq",
			},
			Finalizers:      []string{clusterv1.MachineFinalizer},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "MachineSet", Name: cluster.Name + "-md-0-7k2xq", UID: "0b0a4c1e-5b0e-4d0e-9f43-6f9d2f1c8a11", Controller: &ready, BlockOwnerDeletion: &ready}},
		},
		Spec: clusterv1.MachineSpec{
			ClusterName:       cluster.Name,
			Version:           "v1.34.2",
			Bootstrap:         clusterv1.Bootstrap{ConfigRef: clusterv1.ContractVersionedObjectReference{APIGroup: "bootstrap.cluster.x-k8s.io", Kind: "KubeadmConfig", Name: name}},
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.cluster.x-k8s.io", Kind: "VSphereMachine", Name: name},
		},
	}
}

// each does something for all, several at a time, and counts.
func each[T any](ctx context.Context, p *progress, parallel int, all []T, do func(context.Context, int, T) error) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	var done atomic.Int64
	for i, one := range all {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			err := do(ctx, i, one)
			p.counts(int(done.Add(1)), len(all))
			return err
		})
	}
	return group.Wait()
}

func createNamespaces(ctx context.Context, p *progress, c client.Client, clusters []types.NamespacedName) error {
	var names []string
	for _, cluster := range clusters {
		if len(names) == 0 || names[len(names)-1] != cluster.Namespace {
			names = append(names, cluster.Namespace)
		}
	}
	return each(ctx, p, creators, names, func(ctx context.Context, _ int, name string) error {
		return c.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	})
}

func createClusters(ctx context.Context, p *progress, c client.Client, clusters []types.NamespacedName) error {
	return each(ctx, p, creators, clusters, func(ctx context.Context, i int, key types.NamespacedName) error {
		return c.Create(ctx, newCluster(key, i))
	})
}

// createMachines sends bodies and reads no answers: there may be a hundred thousand.
func (s *side) createMachines(ctx context.Context, p *progress, clusters []types.NamespacedName, count int) error {
	type machine struct {
		cluster types.NamespacedName
		i       int
	}
	var all []machine
	for i := range count {
		for _, cluster := range clusters {
			all = append(all, machine{cluster, i})
		}
	}
	return each(ctx, p, creators, all, func(ctx context.Context, _ int, m machine) error {
		body, err := json.Marshal(newMachine(m.cluster, m.i))
		if err != nil {
			return err
		}
		path := "/apis/" + clusterv1.GroupVersion.String() + "/namespaces/" + m.cluster.Namespace + "/machines"
		return s.admin.Post().AbsPath(path).SetHeader("Content-Type", "application/json").Body(body).Do(ctx).Error()
	})
}
