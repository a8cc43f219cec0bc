package render

import (
	"encoding/base64"
	"maps"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// AddOnDeploymentConfig returns Open Cluster Management's object of that kind, as far
// as it is about proxies (open-cluster-management.io/api,
// addon/v1alpha1/types_addondeploymentconfig.go). It is for the hub, in the namespace that the hub
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
	config := map[string]string{
		"httpProxy": literalURL(http), "httpsProxy": literalURL(https), "noProxy": e.NoProxy.Any.String(),
		"caBundle": base64.StdEncoding.EncodeToString(e.Node.TrustedCA),
	}
	maps.DeleteFunc(config, func(_, value string) bool { return value == "" })
	return yaml.Marshal(map[string]any{
		"apiVersion": "addon.open-cluster-management.io/v1alpha1",
		"kind":       "AddOnDeploymentConfig",
		"metadata":   map[string]any{"name": PodSecretName, "namespace": e.Cluster, "labels": map[string]string{ManagedLabel: Manager}},
		// Without agentInstallNamespace the API server writes open-cluster-management-agent-addon, and
		// addons that are elsewhere by themselves, such as cluster-proxy, move there.
		"spec": map[string]any{"agentInstallNamespace": "", "proxyConfig": config},
	})
}
