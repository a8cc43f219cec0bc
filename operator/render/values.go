package render

import (
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/operator/resolve"
)

// values is the layout of the key "values". Every key is always there: an
// empty string overrides what a lower layer of Helm values may say, an absent
// key would let it through.
type values struct {
	Cluster struct {
		Proxy struct {
			HTTP    string `json:"http"`
			HTTPS   string `json:"https"`
			NoProxy string `json:"noProxy"`
		} `json:"proxy"`
	} `json:"cluster"`
	HTTPProxy  string `json:"http_proxy"`
	HTTPSProxy string `json:"https_proxy"`
	NoProxy    string `json:"no_proxy"`
}

// Values returns the Helm values of a cluster as YAML. Quoting is the YAML
// library's.
func Values(e resolve.Effective) ([]byte, error) {
	var v values
	v.Cluster.Proxy.HTTP = e.HTTP.Reveal()
	v.Cluster.Proxy.HTTPS = e.HTTPS.Reveal()
	v.Cluster.Proxy.NoProxy = e.NoProxy.Any.String()
	v.HTTPProxy, v.HTTPSProxy, v.NoProxy = v.Cluster.Proxy.HTTP, v.Cluster.Proxy.HTTPS, v.Cluster.Proxy.NoProxy
	return yaml.Marshal(v)
}
