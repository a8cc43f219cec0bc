package lists

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// how is what a kind's controller makes of the settings.
type how struct {
	adds bool // what the cluster needs, or the reader asks for nothing of it
	bare bool // the proxy is host:port, without a scheme
	inGo bool // programs in Go alone read the list
	none bool // without a list, agents have none
	ours bool // Fairlead writes the list anew, for each client
	url  bool // proxyURL is that of a proxy
}

// kinds whose settings are not read as they stand, by group and kind.
var kinds = map[string]how{
	// aws/eks-anywhere: pkg/providers/*/template.go, with common.NoProxyDefaults; it goes to containerd.
	"anywhere.eks.amazonaws.com/Cluster": {adds: true, bare: true, inGo: true},
	// openshift/cluster-network-operator: pkg/util/proxyconfig/no_proxy.go.
	"config.openshift.io/Proxy":             {adds: true},
	"hypershift.openshift.io/HostedCluster": {adds: true},
	// AKS: effectiveNoProxy is the list with what AKS adds.
	"infrastructure.cluster.x-k8s.io/AzureManagedControlPlane":         {adds: true},
	"infrastructure.cluster.x-k8s.io/AzureManagedControlPlaneTemplate": {adds: true},
	// What becomes of a variable, the ClusterClass decides.
	"cluster.x-k8s.io/Cluster":                               {adds: true},
	"addon.open-cluster-management.io/AddOnDeploymentConfig": {none: true},
	"config.open-cluster-management.io/KlusterletConfig":     {url: true},
	// What these reach, they name: no Service of the cluster.
	"agent-install.openshift.io/InfraEnv": {adds: true},
	"monitoring.coreos.com/ScrapeConfig":  {adds: true, url: true},
}

// leftOut are groups whose objects have no settings of their own, or are for other verbs.
var leftOut = []string{"fairlead.io", "apiextensions.k8s.io", "admissionregistration.k8s.io", "wgpolicyk8s.io", "openreports.io", "kyverno.io"}

func groupOf(object map[string]any) string {
	return (&unstructured.Unstructured{Object: object}).GroupVersionKind().Group
}

func isLeftOut(object map[string]any) bool {
	of := "." + groupOf(object)
	inGroup := func(group string) bool { return strings.HasSuffix(of, "."+group) }
	return object["kind"] == "Event" || object["sops"] != nil || slices.ContainsFunc(leftOut, inGroup)
}

// isElsewhere tells whether a file is for programs that run in no cluster: Compose, or a pipeline.
func isElsewhere(file map[string]any) bool {
	return file["kind"] == nil && (file["services"] != nil || file["jobs"] != nil || file["stages"] != nil || file["steps"] != nil)
}

// clusterOf is the cluster that an object of Cluster API belongs to.
func clusterOf(object map[string]any) string {
	name, _, _ := unstructured.NestedString(object, "metadata", "labels", "cluster.x-k8s.io/cluster-name") // clusterv1.ClusterNameLabel
	if name == "" {
		return ""
	}
	return (&unstructured.Unstructured{Object: object}).GetNamespace() + "/" + name
}

func howOf(object map[string]any) how {
	kind, _ := object["kind"].(string)
	return kinds[groupOf(object)+"/"+kind]
}
