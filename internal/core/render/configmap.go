package render

import (
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// ConfigMap is the content of the ConfigMap <cluster>-cluster-values. There is no
// secret in it.
type ConfigMap struct {
	Namespace, Name string
	Labels          map[string]string
	Data            map[string]string
}

// plainValues is the part of values that is no secret. There is no URL, not even
// one without credentials: it would be merged with others into a proxy that
// nobody has set.
type plainValues struct {
	Cluster struct {
		Proxy struct {
			NoProxy string `json:"noProxy"`
		} `json:"proxy"`
	} `json:"cluster"`
	NoProxy string `json:"no_proxy"`
}

// ValuesConfigMap returns the ConfigMap that stands beside the Secret with the Helm
// values. It is for what Secrets has carried: it fits wherever that does.
func ValuesConfigMap(e resolve.Effective) (ConfigMap, error) {
	var v plainValues
	v.Cluster.Proxy.NoProxy = e.NoProxy.Any.String()
	v.NoProxy = v.Cluster.Proxy.NoProxy
	text, err := yaml.Marshal(v)
	return ConfigMap{
		Namespace: e.Namespace,
		Name:      e.Cluster + ValuesSuffix,
		Labels: map[string]string{
			ConfigMapLabel: ValuesRole,
			ClusterLabel:   e.Cluster,
			ManagedLabel:   Manager,
			MoveLabel:      "",
			FluxWatchLabel: FluxWatchEnabled,
		},
		Data: map[string]string{ValuesKey: string(text)},
	}, err
}
