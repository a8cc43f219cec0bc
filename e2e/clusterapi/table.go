package clusterapi

import "github.com/fairlead-io/fairlead/e2e/tools"

// The controllers.
var (
	core = row{
		tool: tools.ClusterAPICore, folder: "core",
		probe: `
apiVersion: cluster.x-k8s.io/v1beta2
kind: Cluster
metadata: {name: probe, namespace: default}
spec:
  clusterNetwork: {pods: {cidrBlocks: [100.96.0.0/11]}}
  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AnyCluster, name: probe}
`,
	}
	kubeadmBootstrap = row{
		tool: tools.KubeadmBootstrap, folder: "bootstrap/kubeadm",
		probe: `
apiVersion: bootstrap.cluster.x-k8s.io/v1beta2
kind: KubeadmConfigTemplate
metadata: {name: probe, namespace: default}
spec: {template: {spec: {verbosity: 1}}}
`,
	}
	kubeadmControlPlane = row{
		tool: tools.KubeadmControlPlane, folder: "controlplane/kubeadm",
		probe: `
apiVersion: controlplane.cluster.x-k8s.io/v1beta2
kind: KubeadmControlPlane
metadata: {name: probe, namespace: default}
spec:
  replicas: 1
  version: v1.36.3
  kubeadmConfigSpec: {verbosity: 1}
  machineTemplate:
    spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: AnyMachineTemplate, name: probe}}
`,
	}
)
