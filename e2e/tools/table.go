package tools

import "cmp"

// Tool is a program that tests run, built from the tool module in the folder of the same name as Module.
type Tool struct {
	// Name is the file name of the program.
	Name string
	// Module is the folder below e2e/tools with the go.mod to build from.
	Module string
	// Package is the main package.
	Package string
	// Version is for people; what is built is what the go.mod says.
	Version string
	// LDFlags for the linker, beside -s -w.
	LDFlags string
	// Tags are build tags, comma-separated.
	Tags string
	// Full says that only make test-all runs it.
	Full bool
	// Duration of a first build on two cores, for people who wait.
	Duration string
}

const (
	kubernetesVersion = "v1.36.3"
	kubernetesLDFlags = "-X k8s.io/component-base/version.gitVersion=" + kubernetesVersion +
		" -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=36"
	clusterAPIVersion = "v1.14.2"
	kyvernoVersion    = "v1.19.1"
	frp044Version     = "v0.44.0"
	frp061Version     = "v0.61.0"
	frp070Version     = "v0.70.1"
	anp01Version      = "v0.1.6"
	anp031Version     = "v0.31.4"
	anp034Version     = "v0.34.0"

	clusterProxyVersion = "v0.10.0"
)

// Where programs of several rows are.
const (
	flux = "github.com/fluxcd/"
	frp  = "github.com/fatedier/frp/cmd/"
	anp  = "sigs.k8s.io/apiserver-network-proxy/cmd/"
	ocm  = "open-cluster-management.io/cluster-proxy/cmd/"
)

// The programs. A new one is a row here and a folder with its go.mod and go.sum.
var (
	KubeAPIServer         = ofKubernetes(Tool{Name: "kube-apiserver", Package: "k8s.io/kubernetes/cmd/kube-apiserver", Duration: "3 minutes"})
	KubeControllerManager = ofKubernetes(Tool{Name: "kube-controller-manager", Package: "k8s.io/kubernetes/cmd/kube-controller-manager", Duration: "1 minute"})
	Kubeadm               = ofKubernetes(Tool{Name: "kubeadm", Package: "k8s.io/kubernetes/cmd/kubeadm", Duration: "30 seconds"})
	KubeProxy             = ofKubernetes(Tool{Name: "kube-proxy", Package: "k8s.io/kubernetes/cmd/kube-proxy", Duration: "30 seconds"})
	Kubectl               = ofKubernetes(Tool{Name: "kubectl", Module: "kubectl", Package: "k8s.io/kubernetes/cmd/kubectl", Duration: "30 seconds"})

	ClusterAPICore      = ofClusterAPI(Tool{Name: "cluster-api-core", Package: "sigs.k8s.io/cluster-api/core", Duration: "1 minute"})
	KubeadmBootstrap    = ofClusterAPI(Tool{Name: "cluster-api-kubeadm-bootstrap", Package: "sigs.k8s.io/cluster-api/bootstrap/kubeadm", Duration: "15 seconds"})
	KubeadmControlPlane = ofClusterAPI(Tool{Name: "cluster-api-kubeadm-control-plane", Package: "sigs.k8s.io/cluster-api/controlplane/kubeadm", Duration: "15 seconds"})
	Clusterctl          = ofClusterAPI(Tool{Name: "clusterctl", Package: "sigs.k8s.io/cluster-api/cmd/clusterctl", Full: true, Duration: "20 seconds"})

	Kyverno        = ofKyverno(Tool{Name: "kyverno", Package: "github.com/kyverno/kyverno/cmd/kyverno", Duration: "5 minutes"})
	KyvernoReports = ofKyverno(Tool{Name: "kyverno-reports-controller", Package: "github.com/kyverno/kyverno/cmd/reports-controller", Full: true, Duration: "20 seconds"})
	KyvernoCLI     = ofKyverno(Tool{Name: "kubectl-kyverno", Package: "github.com/kyverno/kyverno/cmd/cli/kubectl-kyverno", Duration: "1 minute"})

	Etcd             = Tool{Name: "etcd", Module: "etcd", Package: "go.etcd.io/etcd/server/v3", Version: "v3.6.16", Duration: "30 seconds"}
	IgnitionValidate = Tool{Name: "ignition-validate", Module: "ignition", Package: "github.com/coreos/ignition/v2/validate", Version: "v2.26.0", Duration: "5 seconds"}
	Helm             = Tool{Name: "helm", Module: "helm", Package: "helm.sh/helm/v4/cmd/helm", Version: "v4.2.4", Duration: "30 seconds"}
	KubeStateMetrics = Tool{Name: "kube-state-metrics", Module: "kube-state-metrics", Package: "k8s.io/kube-state-metrics/v2", Version: "v2.18.0", Full: true, Duration: "90 seconds"}

	FluxHelmController   = Tool{Name: "helm-controller", Module: FluxHelmControllerModule, Package: flux + "helm-controller", Version: "v1.4.0", Full: true, Duration: "3 minutes"}
	FluxSourceController = Tool{Name: "source-controller", Module: FluxHelmControllerModule, Package: flux + "source-controller", Version: "v1.7.0", Full: true, Duration: "3 minutes"}

	// Tunnels: one module for each version, so that none lifts the gRPC of another.
	FRPC044 = Tool{Name: "frpc-0.44.0", Module: "frp-0.44.0", Package: frp + "frpc", Version: frp044Version, Full: true, Duration: "10 seconds"}
	FRPS044 = Tool{Name: "frps-0.44.0", Module: "frp-0.44.0", Package: frp + "frps", Version: frp044Version, Full: true, Duration: "5 seconds"}
	FRPC061 = Tool{Name: "frpc-0.61.0", Module: "frp-0.61.0", Package: frp + "frpc", Version: frp061Version, Duration: "10 seconds"}
	FRPS061 = Tool{Name: "frps-0.61.0", Module: "frp-0.61.0", Package: frp + "frps", Version: frp061Version, Duration: "5 seconds"}
	FRPC070 = Tool{Name: "frpc-0.70.1", Module: "frp-0.70.1", Package: frp + "frpc", Version: frp070Version, Tags: "noweb", Full: true, Duration: "10 seconds"}

	ANPAgent01   = Tool{Name: "anp-agent-0.1.6", Module: "anp-0.1.6", Package: anp + "agent", Version: anp01Version, Full: true, Duration: "10 seconds"}
	ANPServer01  = Tool{Name: "anp-server-0.1.6", Module: "anp-0.1.6", Package: anp + "server", Version: anp01Version, Full: true, Duration: "5 seconds"}
	ANPAgent031  = Tool{Name: "anp-agent-0.31.4", Module: "anp-0.31.4", Package: anp + "agent", Version: anp031Version, Duration: "10 seconds"}
	ANPServer031 = Tool{Name: "anp-server-0.31.4", Module: "anp-0.31.4", Package: anp + "server", Version: anp031Version, Duration: "5 seconds"}
	ANPAgent034  = Tool{Name: "anp-agent-0.34.0", Module: "anp-0.34.0", Package: anp + "agent", Version: anp034Version, Duration: "10 seconds"}
	ANPServer034 = Tool{Name: "anp-server-0.34.0", Module: "anp-0.34.0", Package: anp + "server", Version: anp034Version, Duration: "5 seconds"}

	ClusterProxy           = Tool{Name: "cluster-proxy", Module: "cluster-proxy", Package: ocm + "cluster-proxy", Version: clusterProxyVersion, Duration: "20 seconds"}
	ClusterProxyAddonAgent = Tool{Name: "cluster-proxy-addon-agent", Module: "cluster-proxy", Package: ocm + "addon-agent", Version: clusterProxyVersion, Duration: "5 seconds"}
	Chisel                 = Tool{Name: "chisel", Module: "chisel", Package: "github.com/jpillora/chisel", Version: "v1.11.3", Duration: "5 seconds"}

	// Ours, around one function or controller of theirs each.
	UserData          = ofClusterAPI(Tool{Name: "userdata", Package: "./userdata", Duration: "3 seconds"})
	TalosEnvironment  = Tool{Name: "talos-environment", Module: "talos", Package: "./environment", Version: "v1.13.0", Full: true, Duration: "30 seconds"}
	ArgoCDRepository  = Tool{Name: "argocd-repository", Module: "argocd", Package: "./repository", Version: "v3.5.7", Full: true, Duration: "3 minutes"}
	PrometheusClients = Tool{Name: "prometheus-clients", Module: "prometheus", Package: "./clients", Version: "v0.305.0", Full: true, Duration: "30 seconds"}
	CoreDNS           = Tool{Name: "coredns", Module: "coredns", Package: "./server", Version: "v1.14.0", Duration: "1 minute"}
	Aggregate         = ofKubernetes(Tool{Name: "aggregate", Package: "./aggregate", Duration: "5 seconds"})
	Expand            = Tool{Name: "expand", Module: "kubernetes", Package: "./expand", Version: kubernetesVersion, Duration: "1 second"}
)

func ofKubernetes(t Tool) Tool {
	t.Module, t.Version, t.LDFlags = cmp.Or(t.Module, "kubernetes"), kubernetesVersion, kubernetesLDFlags
	return t
}

func ofClusterAPI(t Tool) Tool {
	t.Module, t.Version = ClusterAPI, clusterAPIVersion
	return t
}

func ofKyverno(t Tool) Tool {
	t.Module, t.Version = KyvernoModule, kyvernoVersion
	return t
}

// All lists every program, for building them ahead of the tests: what takes long comes first.
func All() []Tool {
	return []Tool{
		Kyverno, KubeAPIServer, KubeControllerManager, KubeProxy, Kubeadm, KyvernoCLI, KyvernoReports, CoreDNS,
		Helm, Kubectl, ClusterAPICore, KubeadmBootstrap, KubeadmControlPlane, Clusterctl, UserData,
		FluxHelmController, FluxSourceController, ArgoCDRepository, KubeStateMetrics, PrometheusClients, TalosEnvironment, Etcd, Aggregate, Expand, IgnitionValidate,
		FRPC044, FRPS044, FRPC061, FRPS061, FRPC070,
		ANPAgent01, ANPServer01, ANPAgent031, ANPServer031, ANPAgent034, ANPServer034,
		ClusterProxy, ClusterProxyAddonAgent, Chisel,
	}
}

// Folders of tool modules, for ModuleDir too.
const (
	ClusterAPI               = "cluster-api"
	KyvernoModule            = "kyverno"
	FluxHelmControllerModule = "flux-helm-controller"
)
