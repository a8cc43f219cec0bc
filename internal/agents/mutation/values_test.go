package mutation_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
)

const chart = "../../../charts/fairlead-policies"

func TestTheValuesThatTheChartTakesAreRead(t *testing.T) {
	files, err := filepath.Glob(chart + "/ci/*-values.yaml")
	if err != nil || len(files) < 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		values, err := mutation.ReadValues(content)
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if chart, err := values.Render(); err != nil || !chart.HasProxy {
			t.Errorf("%s: the proxy is lost: %v", file, err)
		}
	}
}

func TestOurKeysInTheWrongPlaceOrSpellingAreErrors(t *testing.T) {
	for name, given := range map[string]string{
		"cluster.prxy":       "cluster: {prxy: {http: S3CRET}}",
		"cluster.Proxy":      "cluster: {Proxy: {http: S3CRET}}",
		"cluster.proxies":    "cluster: {proxies: [S3CRET]}",
		"cluster.http":       "cluster: {http: S3CRET}",
		"cluster.noProxy":    "cluster: {noProxy: S3CRET}",
		"cluster.no_proxy":   "cluster: {no_proxy: S3CRET}",
		"cluster.porxy":      "cluster: {porxy: {http: S3CRET}}",
		"cluster.https":      "cluster: {https: S3CRET}",
		"cluster.httpProxy":  "cluster: {httpProxy: S3CRET}",
		"cluster.http_proxy": "cluster: {http_proxy: S3CRET}",
		"no_proxy":           "cluster: {proxy: {no_proxy: S3CRET}}",
		"clusterProxy":       "clusterProxy: {http: S3CRET}",

		"unknown key optin: it is not read; did you mean optIn?":           "optin: S3CRET",
		"unknown key failure-policy: it is not read; did you mean failure": "failure-policy: S3CRET",
		"unknown key egine: it is not read; did you mean engine?":          "egine: S3CRET",
		"unknown key xeclude: it is not read; did you mean exclude?":       "xeclude: {names: [S3CRET]}",
		"unknown key tunnel: it is not read; did you mean tunnels?":        "tunnel: S3CRET",
		"unknown key replicater: it is not read; did you mean replicator?": "replicater: S3CRET",
		"unknown key clusters: it is not read; did you mean cluster?":      "clusters: {proxy: {http: S3CRET}}",
		"unknown key relya: it is not read; did you mean relay?":           "relya: S3CRET",
		"unknown key noProxy: the settings are cluster.proxy.http":         "noProxy: S3CRET",
		"unknown key no-proxy: the settings are cluster.proxy.http":        "no-proxy: S3CRET",
		"unknown key httpProxy: the settings are cluster.proxy.http":       "httpProxy: S3CRET",
		"unknown key httpsProxy: the settings are cluster.proxy.http":      "httpsProxy: S3CRET",
		"unknown key proxies: the settings are cluster.proxy.http":         "proxies: [S3CRET]",
		"unknown key porxy: the settings are cluster.proxy.http":           "porxy: {http: S3CRET}",
		`unknown field "foo"`: "exclude: {foo: S3CRET}",
	} {
		_, err := mutation.ReadValues([]byte(given))
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: %v", given, err)
		}
	}
}

func TestKeysOfAPlatformAreTakenAndNotRead(t *testing.T) {
	read := func(name string) []byte {
		content, err := os.ReadFile(filepath.Join(chart, "ci", name))
		if err != nil {
			t.Fatal(err)
		}
		return content
	}
	render := func(files ...[]byte) []*mutation.Policy {
		values, err := mutation.ReadValues(files...)
		if err != nil {
			t.Fatal(err)
		}
		chart, err := values.Render()
		if err != nil {
			t.Fatal(err)
		}
		return chart.Policies
	}
	further := []byte("{enabled: true, nodes: 3, mode: a, code: b, cluster: {httpEndpoint: a, proxyProtocol: {enabled: true}}}")
	want, got := render(read("cluster-values.yaml")), render(read("cluster-configmap.yaml"), read("cluster-secret.yaml"), further)
	if !reflect.DeepEqual(want, got) {
		t.Error("others than of one file")
	}
}
