package render

import (
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
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

// literalURL returns the URL as it can stand in a variable of a pod, in which kubelet
// takes $$ for $ and $(NAME) for another variable: its only $, in the user
// information, is percent-encoded, which every reader of URLs undoes.
func literalURL(u proxyurl.URL) string { return strings.ReplaceAll(u.Reveal(), "$", "%24") }

// Values returns the Helm values of a cluster as YAML. Quoting is the YAML
// library's. Charts take the URLs into variables of pods, see resolve.Form.
func Values(e resolve.Effective) ([]byte, error) {
	var v values
	v.Cluster.Proxy.HTTP, v.Cluster.Proxy.HTTPS = e.HTTP.Reveal(), e.HTTPS.Reveal()
	if e.Form.Literal() {
		v.Cluster.Proxy.HTTP, v.Cluster.Proxy.HTTPS = literalURL(e.HTTP), literalURL(e.HTTPS)
	}
	v.Cluster.Proxy.NoProxy = e.NoProxy.Any.String()
	v.HTTPProxy, v.HTTPSProxy, v.NoProxy = v.Cluster.Proxy.HTTP, v.Cluster.Proxy.HTTPS, v.Cluster.Proxy.NoProxy
	return yaml.Marshal(v)
}
