package mutation_test

import (
	"os"
	"path/filepath"
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
		} else if !values.HasProxy() {
			t.Errorf("%s: the proxy is lost", file)
		}
	}
}

func TestOurKeysInTheWrongPlaceOrSpellingAreErrors(t *testing.T) {
	for name, given := range map[string]string{
		"cluster.prxy":    "cluster: {prxy: {http: S3CRET}}",
		"cluster.Proxy":   "cluster: {Proxy: {http: S3CRET}}",
		"cluster.proxies": "cluster: {proxies: [S3CRET]}",
		"cluster.http":    "cluster: {http: S3CRET}",
		"cluster.noProxy": "cluster: {noProxy: S3CRET}",
		"no_proxy":        "cluster: {proxy: {no_proxy: S3CRET}}",
		"clusterProxy":    "clusterProxy: {http: S3CRET}",
	} {
		_, err := mutation.ReadValues([]byte(given))
		if err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: %v", given, err)
		}
	}
}

// What is told apart here is told apart there.
func TestTheChartKnowsTheSameForeignKeys(t *testing.T) {
	for file, pattern := range map[string]string{"values.yaml": mutation.Foreign, "templates/_helpers.tpl": mutation.Misplaced} {
		content, err := os.ReadFile(filepath.Join(chart, file))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(content), `"`+pattern+`"`) {
			t.Errorf("%s does not have %s", file, pattern)
		}
	}
}
