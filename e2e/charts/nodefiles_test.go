package charts_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
)

// A template that names a key that no Secret has keeps its machines waiting: the chart says so where it can know.
func TestWiredTemplatesNameNoKeyThatTheChartsCorporateProxyDoesNotAskFor(t *testing.T) {
	node := func(more values) values {
		all := values{"files": []any{"EnvironmentFile"}, "base64Twins": true}
		maps.Copy(all, more)
		return values{"node": all}
	}
	relay := values{"delivery": "Relay", "files": []any{}}
	for name, test := range map[string]struct{ nodeFiles, spec, want any }{
		"all is there":                 {values{}, node(nil), ""},
		"no twins":                     {values{}, node(values{"base64Twins": false}), "base64Twins"},
		"no file of variables":         {values{}, node(values{"files": []any{"StaticPods"}}), "EnvironmentFile"},
		"nothing":                      {values{}, values{}, "base64Twins"},
		"authorities of none":          {values{"trustedCA": "RHEL"}, node(nil), "trustedCARef"},
		"a relay":                      {values{"delivery": "Relay"}, node(relay), ""},
		"a relay that nobody asks for": {values{"delivery": "Relay"}, node(nil), "nodeFiles.delivery is Relay"},
		"a relay that is not expected": {values{}, node(relay), "nodeFiles.delivery is Literal"},
		"a relay's image that is none": {values{"delivery": "Relay", "relayImage": true}, node(relay), "relay.image"},
	} {
		t.Run(name, func(t *testing.T) {
			given := values{"proxy": proxy(url, url, "a"), "nodeFiles": test.nodeFiles, "corporateProxy": values{"spec": test.spec}}
			given["nodeFiles"].(values)["enabled"] = true
			_, err := helm.Template(t.Context(), helm.Release{Chart: chartFolder("fairlead"), Name: "fairlead", Namespace: "other", Values: []any{given}})
			wantRefused(t, err, test.want.(string))
		})
	}
}

func wantRefused(t *testing.T, err error, want string) {
	t.Helper()
	if want == "" {
		controlplanetest.Require(t, err)
	} else if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("said %v, want %q", err, want)
	}
}
