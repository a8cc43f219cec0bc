package render

import (
	"maps"
	"strings"

	yamlv2 "go.yaml.in/yaml/v2"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// literalURL returns the URL as it can stand in a variable of a pod, in which kubelet
// takes $$ for $ and $(NAME) for another variable: its only $, in the user
// information, is percent-encoded, which every reader of URLs undoes.
func literalURL(u proxyurl.URL) string { return strings.ReplaceAll(u.Reveal(), "$", "%24") }

// Values returns the Helm values of a cluster as YAML. Every key but previous, which earlier charts refuse, is always
// there: an empty string overrides what a lower layer of Helm values may say, an absent key would let it through. With
// delivery Relay, previous is, too. Charts take the URLs into variables of pods, see resolve.Form.
func Values(e resolve.Effective) ([]byte, error) {
	spell := proxyurl.URL.Reveal
	if e.Form.Literal() {
		spell = literalURL
	}
	http, https, list := spell(e.HTTP), spell(e.HTTPS), e.NoProxy.Any.String()
	proxy := map[string]any{"http": http, "https": https, "noProxy": list}
	if !e.Previous.IsZero() || e.Node.Delivery == resolve.DeliveryRelay {
		proxy["previous"] = map[string]string{"http": spell(e.Previous.HTTP), "https": spell(e.Previous.HTTPS)}
	}
	cluster := map[string]any{"proxy": proxy}
	marshal := yamlv2.Marshal // of maps and texts the same, without the way over JSON
	if e.Probed != nil {
		cluster["probes"] = probes(*e.Probed)
		marshal = yaml.Marshal
	}
	return marshal(map[string]any{
		"cluster":     cluster,
		"http_proxy":  http,
		"https_proxy": https,
		"no_proxy":    list,
	})
}

// probes returns what the probe of a cluster is told. The key is there only where the installation asks for probes: an upgrade
// changes no Secret by itself.
func probes(p resolve.Probed) any {
	credentials := map[string]string{"current": p.Credentials.Current, "previous": p.Credentials.Previous}
	maps.DeleteFunc(credentials, func(_, fingerprint string) bool { return fingerprint == "" })
	return struct {
		Targets     []probe.Target    `json:"targets"`
		Credentials map[string]string `json:"credentials,omitempty"`
		Revision    string            `json:"revision,omitempty"`
	}{append([]probe.Target{}, p.Targets...), credentials, p.Revision}
}

// ConfigMap is the content of the ConfigMap <cluster>-cluster-values. There is no
// secret in it.
type ConfigMap struct {
	Namespace, Name string
	Labels          map[string]string
	Data            map[string]string
}

// ValuesConfigMap returns the ConfigMap that stands beside the Secret with the Helm
// values. It is for what Secrets has carried: it fits wherever that does. There is no
// URL in it, not even one without credentials: it would be merged with others into a
// proxy that nobody has set.
func ValuesConfigMap(e resolve.Effective) (ConfigMap, error) {
	list := e.NoProxy.Any.String()
	text, err := yaml.Marshal(map[string]any{
		"cluster":  map[string]any{"proxy": map[string]string{"noProxy": list}},
		"no_proxy": list,
	})
	labels := clusterLabels(e, ConfigMapLabel, ValuesRole)
	labels[FluxWatchLabel] = FluxWatchEnabled
	return ConfigMap{e.Namespace, e.Cluster + ValuesSuffix, labels, map[string]string{ValuesKey: string(text)}}, err
}
