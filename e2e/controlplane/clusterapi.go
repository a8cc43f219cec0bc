package controlplane

import (
	"context"

	"github.com/fairlead-io/fairlead/e2e/tools"
)

const clusterAPIModule = "sigs.k8s.io/cluster-api"

// contractLabels are the labels that kustomize adds to the CRDs of a provider: the contract that each
// API version fulfils. Cluster API's controllers look the version of a reference up there.
var contractLabels = map[string]string{
	"cluster.x-k8s.io/v1beta1": "v1beta1",
	"cluster.x-k8s.io/v1beta2": "v1beta2",
	// What clusterctl adds when it installs a provider: it moves objects of kinds that have it.
	"clusterctl.cluster.x-k8s.io": "",
}

// ClusterAPI are the CRDs of Cluster API and of its kubeadm providers, as they are before kustomize: without conversion
// webhooks, for which nobody would answer here. An object read in the version that it was not written in is therefore not
// converted: it has the same fields under another apiVersion, and lacks those that this one's schema does not know. No
// controller of theirs runs.
var ClusterAPI = Content{Name: "cluster-api", Labels: contractLabels, Read: FromModule(
	tools.ClusterAPI, clusterAPIModule, "core/config/crd/bases", "bootstrap/kubeadm/config/crd/bases", "controlplane/kubeadm/config/crd/bases",
)}

// AWSCluster is the CRD of the AWS provider's clusters.
var AWSCluster = Content{Name: "awscluster", Read: FromModule(
	"provider-crds", "sigs.k8s.io/cluster-api-provider-aws/v2", "config/crd/bases/infrastructure.cluster.x-k8s.io_awsclusters.yaml",
)}

// Clusterctl is the inventory that clusterctl init writes and clusterctl move compares: the core of
// Cluster API alone.
var Clusterctl = Content{Name: "clusterctl", Labels: contractLabels, Read: func(ctx context.Context) ([]byte, error) {
	crd, err := FromModule(tools.ClusterAPI, clusterAPIModule, "cmd/clusterctl/config/crd/bases/clusterctl.cluster.x-k8s.io_providers.yaml")(ctx)
	return append(crd, inventory...), err
}}

const inventory = `
---
apiVersion: v1
kind: Namespace
metadata: {name: capi-system}
---
apiVersion: clusterctl.cluster.x-k8s.io/v1alpha3
kind: Provider
metadata: {name: cluster-api, namespace: capi-system}
providerName: cluster-api
type: CoreProvider
version: v1.14.2
`
