package charts_test

import (
	"testing"

	"github.com/fairlead-io/fairlead/e2e/helm"
)

// What docs/reference/versions.md says that the charts refuse. Helm knows what an API server serves when it asks one; these lists
// are as it would find them.
func TestWhatAClusterLacksIsRefused(t *testing.T) {
	const (
		pod         = "v1/Pod"
		nativeKind  = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
		kyvernoKind = "policies.kyverno.io/v1/MutatingPolicy"
		v1beta1     = "cluster.x-k8s.io/v1beta1/Cluster"
		v1beta2     = "cluster.x-k8s.io/v1beta2/Cluster"
		proxied     = "proxy.http=http://p:1,proxy.noProxy=a"
		wired       = "corporateProxy.create=false,nodeFiles.enabled=true,nodeFiles.engine="
	)
	kubernetes := func(version string) []string { return []string{"--kube-version", version} }
	serves := func(kinds ...string) (flags []string) {
		for _, kind := range kinds {
			flags = append(flags, "--api-versions", kind)
		}
		return flags
	}
	for name, row := range map[string]struct {
		chart, set string
		cluster    []string
		want       string
	}{
		"operator, Kubernetes 1.29": {"fairlead", proxied, kubernetes("v1.29.9"), "kubeVersion"},
		"operator, Kubernetes 1.30": {"fairlead", proxied, kubernetes("v1.30.0"), ""},
		"operator, Kubernetes 1.36": {"fairlead", proxied, kubernetes("v1.36.3-gke.100"), ""},
		"policies, Kubernetes 1.29": {"fairlead-policies", proxied, kubernetes("v1.29.9"), "kubeVersion"},
		"policies, Kubernetes 1.30": {"fairlead-policies", proxied, kubernetes("v1.30.0"), ""},
		"policies, Kubernetes 1.36": {"fairlead-policies", proxied, kubernetes("v1.36.3-gke.100"), ""},

		"no Cluster API yet":               {"fairlead", proxied, nil, ""},
		"Cluster API 1.10 and older":       {"fairlead", proxied, serves(v1beta1), "Cluster API 1.11"},
		"Cluster API 1.11 and newer":       {"fairlead", proxied, serves(v1beta1, v1beta2), ""},
		"Cluster API without the old kind": {"fairlead", proxied, serves(v1beta2), ""},
		"no Cluster API at all, yet":       {"fairlead", proxied, serves(pod), ""},

		"no API server is asked":             {"fairlead-policies", "engine=Native", nil, ""},
		"nor for Kyverno":                    {"fairlead-policies", "engine=Kyverno", nil, ""},
		"Native, Kubernetes 1.36":            {"fairlead-policies", "engine=Native", serves(pod, nativeKind), ""},
		"Native, Kubernetes 1.35":            {"fairlead-policies", "engine=Native", serves(pod, kyvernoKind), "engine is Native"},
		"Kyverno is there":                   {"fairlead-policies", "engine=Kyverno", serves(pod, kyvernoKind), ""},
		"Kyverno is not there, or too old":   {"fairlead-policies", "engine=Kyverno", serves(pod, nativeKind), "engine is Kyverno"},
		"a list that is not an API server's": {"fairlead-policies", "engine=Native", serves("monitoring.coreos.com/v1"), ""},

		"templates by Native":                  {"fairlead", wired + "Native", serves(pod, nativeKind), ""},
		"templates by Kyverno":                 {"fairlead", wired + "Kyverno", serves(pod, kyvernoKind), ""},
		"templates by Native, Kubernetes 1.35": {"fairlead", wired + "Native", serves(pod, kyvernoKind), "nodeFiles.engine is Native"},
		"templates by Kyverno, without it":     {"fairlead", wired + "Kyverno", serves(pod, nativeKind), "nodeFiles.engine is Kyverno"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := helm.Run(t.Context(), append([]string{"template", chartFolder(row.chart), "--set", row.set}, row.cluster...)...)
			wantRefused(t, err, row.want)
		})
	}
}
