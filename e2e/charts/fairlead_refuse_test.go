package charts_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

func TestTheOperatorsChartRefusesBadValuesByTheirKeyAndWithoutShowingAPassword(t *testing.T) {
	const good = "http://me:" + s3cret + "@proxy.example:3128"
	spec := func(given values) values { return values{"corporateProxy": values{"spec": given}} }
	for name, test := range map[string]struct {
		given values
		want  []string
	}{
		"a typo at the top":                {values{"proxi": values{"http": good}}, []string{"proxi"}},
		"a typo in proxy":                  {values{"proxy": values{"noproxy": good}}, []string{"/proxy", "noproxy"}},
		"a typo in the spec":               {spec(values{"delegations": values{}}), []string{"/corporateProxy/spec", "delegations"}},
		"a typo in an entry":               {spec(values{"noProxy": []values{{"val": "a"}}}), []string{"/corporateProxy/spec/noProxy/0", "val"}},
		"a value of the spec":              {spec(values{"form": "exact"}), []string{"/corporateProxy/spec/form", "Exact"}},
		"a text for a number":              {spec(values{"priority": "high"}), []string{"/corporateProxy/spec/priority", "integer"}},
		"a password in the spec's URL":     {spec(values{"source": values{"url": values{"http": strings.Repeat(good, 30)}}}), []string{"/corporateProxy/spec/source/url/http"}},
		"a typo in the source":             {spec(values{"source": values{"url": values{"htp": good}}}), []string{"/corporateProxy/spec/source/url", "htp"}},
		"a typo in a toleration":           {values{"tolerations": []values{{"efect": "NoSchedule"}}}, []string{"/tolerations/0", "efect"}},
		"a typo in a peer":                 {values{"networkPolicy": values{"metricsFrom": []values{{"podselector": values{}}}}}, []string{"/networkPolicy/metricsFrom/0", "podselector"}},
		"a digest that is none":            {values{"image": values{"digest": "sha256:0"}}, []string{"/image/digest"}},
		"a level that is none":             {values{"logLevel": "warn"}, []string{"/logLevel", "info"}},
		"a list for a URL":                 {values{"proxy": values{"http": []string{good}}}, []string{"/proxy/http", "string"}},
		"numbers in noProxy":               {values{"proxy": values{"http": good, "noProxy": []any{1}}}, []string{"/proxy/noProxy/0", "string"}},
		"a name without a namespace":       {values{"managementCluster": "mgmt"}, []string{"/managementCluster"}},
		"no corporateProxy":                {values{"corporateProxy": nil}, []string{"missing", "corporateProxy"}},
		"nothing at all":                   {values{}, []string{"proxy.http", "proxy.https", "corporateProxy.create"}},
		"no proxy":                         {values{"proxy": nil}, []string{"proxy.http", "proxy.https", "corporateProxy.create"}},
		"a list without a URL":             {values{"proxy": proxy("", "", "a")}, []string{"proxy.http", "proxy.https"}},
		"blanks alone":                     {values{"proxy": proxy(" ", "\n", "a")}, []string{"proxy.http", "proxy.https"}},
		"a URL without a scheme":           {values{"proxy": proxy("me:"+s3cret+"@proxy.example:3128", "", "a")}, []string{"proxy.http ", "http://"}},
		"the other without a scheme":       {values{"proxy": proxy(good, s3cret+".example:3128", "a")}, []string{"proxy.https ", "http://"}},
		"another scheme":                   {values{"proxy": proxy("socks5://"+s3cret+":1080", "", "a")}, []string{"proxy.http ", "http://"}},
		"a URL without a port":             {values{"proxy": proxy("http://me:"+s3cret+"@proxy.example", "", "a")}, []string{"proxy.http ", "http://"}},
		"a URL of two lines":               {values{"proxy": proxy("http://me:"+s3cret+"\n@proxy.example:3128", "", "a")}, []string{"proxy.http ", "line end"}},
		"a blank in a host":                {values{"proxy": proxy("http://me:"+s3cret+"@proxy example:3128", "", "a")}, []string{"proxy.http ", "http://"}},
		"blanks for commas":                {values{"proxy": proxy(good, "", "a "+s3cret)}, []string{"proxy.noProxy", "blank"}},
		"blanks for commas in a list":      {values{"proxy": proxy(good, "", []string{"a", "b " + s3cret})}, []string{"proxy.noProxy", "blank"}},
		"a tab in the list":                {values{"proxy": proxy(good, "", "a\t"+s3cret)}, []string{"proxy.noProxy", "control character"}},
		"two sources":                      {values{"proxy": proxy(good, "", "a"), "corporateProxy": values{"spec": values{"source": values{"valuesRef": values{"name": "mine"}}}}}, []string{"corporateProxy.spec.source", "proxy"}},
		"a list beside another source":     {values{"proxy": proxy("", "", "a"), "corporateProxy": values{"spec": values{"source": values{"valuesRef": values{"name": "mine"}}}}}, []string{"corporateProxy.spec.source", "corporateProxy.spec.noProxy"}},
		"several, and no election":         {values{"proxy": proxy(good, "", "a"), "leaderElection": values{"enabled": false}}, []string{"leaderElection.enabled", "replicas"}},
		"a label that the chart sets":      {values{"proxy": proxy(good, "", "a"), "podLabels": values{"app.kubernetes.io/instance": "x"}}, []string{"podLabels", "app.kubernetes.io/instance"}},
		"the label that Kyverno sees":      {values{"proxy": proxy(good, "", "a"), "podLabels": values{"policies.kyverno.io/inject-proxy-env": "x"}}, []string{"podLabels", "inject-proxy-env"}},
		"a common label of the chart's":    {values{"proxy": proxy(good, "", "a"), "commonLabels": values{"app.kubernetes.io/component": "x"}}, []string{"commonLabels", "app.kubernetes.io/component"}},
		"a common label that Kyverno sees": {values{"proxy": proxy(good, "", "a"), "commonLabels": values{"policies.kyverno.io/inject-proxy-env": "x"}}, []string{"commonLabels", "inject-proxy-env"}},
		"a variable that the chart sets":   {values{"proxy": proxy(good, "", "a"), "extraEnv": []values{{"name": "GOGC", "value": s3cret}}}, []string{"extraEnv: the chart itself sets GOGC"}},
		"a variable of observe's":          {values{"proxy": proxy(good, "", "a"), "observe": values{"enabled": true, "extraEnv": []values{{"name": "GOMEMLIMIT", "value": s3cret}}}}, []string{"observe.extraEnv: the chart itself sets GOMEMLIMIT"}},
		"a typo in a variable":             {values{"extraEnv": []values{{"name": "A", "val": s3cret}}}, []string{"/extraEnv/0", "val"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := helm.Template(t.Context(), helm.Release{Chart: chartFolder("fairlead"), Name: "fairlead", Values: []any{test.given}})
			checkRefusal(t, out, err, test.want)
		})
	}
}

func checkRefusal(t *testing.T, out []byte, err error, want []string) {
	t.Helper()
	if errors.Is(err, tools.ErrUnavailable) {
		controlplanetest.Require(t, err)
	}
	if err == nil {
		t.Fatalf("rendered:\n%s", out)
	}
	for _, want := range want {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("does not say %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), s3cret) {
		t.Errorf("shows the password: %v", err)
	}
}

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
