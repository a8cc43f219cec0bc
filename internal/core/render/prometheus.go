package render

import (
	_ "embed"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// What Prometheus and Alertmanager need beside the variables, which they read only
// where their configuration says so (github.com/prometheus/common, config/http_config.go,
// ProxyConfig). Nothing in it depends on the cluster.
var (
	//go:embed snippets/prometheus.yaml
	prometheusSnippet []byte
	//go:embed snippets/alertmanager.yaml
	alertmanagerSnippet []byte
)

// Prometheus returns lines to merge into a Prometheus' configuration; none without
// a proxy.
func Prometheus(e resolve.Effective) ([]byte, error) { return snippet(e, prometheusSnippet) }

// Alertmanager returns lines to merge into an Alertmanager's configuration; none
// without a proxy.
func Alertmanager(e resolve.Effective) ([]byte, error) { return snippet(e, alertmanagerSnippet) }

func snippet(e resolve.Effective, text []byte) ([]byte, error) {
	if !e.HasProxy() {
		return nil, nil
	}
	return text, nil
}
