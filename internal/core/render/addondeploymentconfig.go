package render

import (
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// addOnDeploymentConfig is Open Cluster Management's, as far as it is about proxies
// (open-cluster-management.io/api, addon/v1alpha1/types_addondeploymentconfig.go).
type addOnDeploymentConfig struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Metadata   struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		Labels    map[string]string `json:"labels"`
	} `json:"metadata"`
	Spec struct {
		// Without it the API server writes open-cluster-management-agent-addon, and
		// addons that are elsewhere by themselves, such as cluster-proxy, move there.
		AgentInstallNamespace string `json:"agentInstallNamespace"`
		ProxyConfig           struct {
			HTTPProxy  string `json:"httpProxy,omitempty"`
			HTTPSProxy string `json:"httpsProxy,omitempty"`
			NoProxy    string `json:"noProxy,omitempty"`
			CABundle   []byte `json:"caBundle,omitempty"`
		} `json:"proxyConfig"`
	} `json:"spec"`
}

// AddOnDeploymentConfig returns the object for the hub, in the namespace that the hub
// has for the managed cluster, which is named as the Cluster is. Many may read it: the
// proxy's user and password are in it only if credentials says so. Without a proxy its
// proxyConfig is empty. A proxy that speaks TLS itself is a Problem: to such a one the
// agent of cluster-proxy says CONNECT, and the password, in clear (grpc/grpc-go,
// Documentation/proxy.md). Addons take the URLs into variables of pods.
func AddOnDeploymentConfig(e resolve.Effective, credentials bool) ([]byte, error) {
	for _, proxy := range []struct{ field, scheme string }{{"httpProxy", e.HTTP.Scheme()}, {"httpsProxy", e.HTTPS.Scheme()}} {
		if proxy.scheme == "https" {
			return nil, problemAt(e, "AddOnDeploymentConfig spec.proxyConfig."+proxy.field, notCarriable(
				"the proxy's URL begins with https, and the agent of cluster-proxy speaks no TLS to a proxy: its CONNECT would go there in clear; "+
					"name the proxy's http port, or lead the agent through fairlead-relay (charts/fairlead-policies, tunnels.families.cluster-proxy)"))
		}
	}
	http, https := e.HTTP, e.HTTPS
	if !credentials {
		http, https = http.WithoutCredentials(), https.WithoutCredentials()
	}
	c := addOnDeploymentConfig{APIVersion: "addon.open-cluster-management.io/v1alpha1", Kind: "AddOnDeploymentConfig"}
	c.Metadata.Name, c.Metadata.Namespace = PodSecretName, e.Cluster
	c.Metadata.Labels = map[string]string{ManagedLabel: Manager}
	c.Spec.ProxyConfig.HTTPProxy, c.Spec.ProxyConfig.HTTPSProxy = literalURL(http), literalURL(https)
	c.Spec.ProxyConfig.NoProxy, c.Spec.ProxyConfig.CABundle = e.NoProxy.Any.String(), e.Node.TrustedCA
	return yaml.Marshal(c)
}
