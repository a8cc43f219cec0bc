package lint_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

const infrastructure = "infrastructure.cluster.x-k8s.io"

func entriesAt(tb testing.TB, layer noproxy.Layer, field, text string) noproxy.List {
	tb.Helper()
	if text == "" {
		return nil
	}
	list, err := resolve.ParseEntries(resolve.ReasonInvalidProxy, noproxy.Filled(text, noproxy.Source{Layer: layer, Field: field}), nil)
	if err != nil {
		tb.Fatal(err)
	}
	return list
}

func TestThatNobodyListedTheNodesIsSaidWhereTheProviderDoesNotTell(t *testing.T) {
	const values, spec = "data.noProxy", "spec.noProxy[0].value"
	for name, test := range map[string]struct {
		kind, endpoint string
		field, list    string // of the installation
		override, read string // by the owner, by the provider
		form           resolve.Form
		missing        bool
	}{
		"vSphere":                                  {kind: "VSphereCluster", missing: true},
		"Nutanix":                                  {kind: "NutanixCluster", missing: true},
		"Metal3":                                   {kind: "Metal3Cluster", missing: true},
		"Cloud Director":                           {kind: "VCDCluster", missing: true},
		"a kind that nobody knows":                 {kind: "BoatCluster", missing: true},
		"no infrastructure":                        {kind: ""},
		"another network of the installation":      {kind: "VSphereCluster", field: values, list: "172.16.0.0/16", missing: true},
		"the endpoint alone":                       {kind: "VSphereCluster", field: values, list: "10.0.0.5,10.0.0.5/32", missing: true},
		"the endpoint's":                           {kind: "VSphereCluster", field: values, list: "10.0.0.0/22"},
		"any, where the endpoint is a name":        {kind: "VSphereCluster", endpoint: "api.corp.example", field: values, list: "172.16.0.0/16"},
		"none, where the endpoint is a name":       {kind: "VSphereCluster", endpoint: "api.corp.example", field: values, list: "corp.example", missing: true},
		"a part of the pods'":                      {kind: "VSphereCluster", endpoint: "api.corp.example", field: values, list: "100.96.0.0/16", missing: true},
		"more than the pods'":                      {kind: "VSphereCluster", endpoint: "api.corp.example", field: values, list: "100.64.0.0/10"},
		"for these clusters, by a CorporateProxy":  {kind: "VCDCluster", field: spec, list: "192.168.7.0/24"},
		"for this cluster, by its owner":           {kind: "VCDCluster", override: "192.168.7.0/24"},
		"what the operator waits for":              {kind: "AWSCluster"},
		"the same in a form that does not have it": {kind: "AWSCluster", form: resolve.FormExact, missing: true},
		"what a provider may tell, and does not":   {kind: "GCPCluster", missing: true},
		"what a provider may tell, and does":       {kind: "GCPCluster", read: "10.40.0.0/20"},
	} {
		t.Run(name, func(t *testing.T) {
			c := cluster
			c.Infrastructure.Group, c.Infrastructure.Kind, c.EndpointHost = infrastructure, test.kind, "10.0.0.5"
			if test.endpoint != "" {
				c.EndpointHost = test.endpoint
			}
			in := resolve.Input{Cluster: c, Installation: resolve.Installation{
				HTTP: url(t, "http://192.168.52.220:3128"), HTTPS: proxyurl.URL{}, Form: test.form,
				NoProxy: entriesAt(t, noproxy.LayerInstallation, test.field, test.list),
			}}
			if test.override != "" {
				in.Override.NoProxy = noproxy.Elements([]string{test.override}, noproxy.Source{Layer: noproxy.LayerCluster})
			}
			if test.read != "" {
				in.Facts.Read = []noproxy.Element{{Text: test.read, Source: noproxy.Source{Layer: noproxy.LayerProvider}}}
			}
			e, err := resolve.Resolve(in)
			if err != nil {
				t.Fatal(err)
			}
			found := lint.Run(lint.Effective(e, c))
			at := slices.IndexFunc(found, func(f lint.Finding) bool { return f.Code == lint.MissingNodes })
			if (at >= 0) != test.missing {
				t.Fatalf("%q", summaries(found))
			}
			if at >= 0 && (found[at].Severity != lint.Warning || !strings.Contains(found[at].Why, test.kind) || !strings.Contains(found[at].Mend, "spec.noProxy")) {
				t.Errorf("%+v", found[at])
			}
		})
	}
}

func TestAListAsItStandsHasTheNodesIfSomebodyWroteThem(t *testing.T) {
	c := cluster
	c.Infrastructure.Group, c.Infrastructure.Kind, c.EndpointHost = infrastructure, "AWSCluster", "api.elb.example"
	for list, want := range map[string]int{"100.64.0.0/13,100.96.0.0/11,.svc": 1, "100.64.0.0/13,100.96.0.0/11,10.0.0.0/16": 0, "*": 0} {
		in := readList(list)
		in.Cluster = &c
		found := slices.DeleteFunc(lint.Run(in), func(f lint.Finding) bool { return f.Code != lint.MissingNodes })
		if len(found) != want {
			t.Errorf("%s: %q", list, summaries(found))
		}
	}
}

func TestAnIPv6NetworkThatTheProviderTellsIsOfListsForGo(t *testing.T) {
	c := cluster
	c.Infrastructure.Group, c.Infrastructure.Kind, c.EndpointHost = infrastructure, "AWSCluster", "api.elb.example"
	for audience, want := range map[noproxy.Audience]int{noproxy.AudienceAny: 0, noproxy.AudienceGo: 1} {
		in := readList("100.64.0.0/13,100.96.0.0/11,.svc")
		in.Cluster, in.Audience, in.Told = &c, audience, []noproxy.Element{{Text: "fd00:1::/56"}}
		found := slices.DeleteFunc(lint.Run(in), func(f lint.Finding) bool { return f.Code != lint.MissingNodes })
		if len(found) != want {
			t.Errorf("%s: %q", audience, summaries(found))
		}
	}
}

func TestWhatMakesTheMachinesIsOffered(t *testing.T) {
	for address, want := range map[string]string{
		"vcenter.corp.example":                       "vcenter.corp.example",
		"vcenter.corp.example:8443":                  "vcenter.corp.example",
		"https://me:S3CRET@vcd.corp.example:8443/ui": "vcd.corp.example",
		"10.9.8.7":               "10.9.8.7",
		"https://[fd00::7]:9440": "fd00::7",
		"":                       "",
		"what is no host":        "",
		"vcenter.listed.example": "",
		"10.1.2.3":               "",
	} {
		in := readList(".listed.example,10.1.0.0/16")
		in.API = lint.ProviderAddress{Name: "vCenter", Address: address, Object: "VSphereCluster org-acme/mycluster", Field: "spec.server"}
		var got string
		for _, f := range lint.Run(in) {
			if f.Code != lint.ProviderAPI {
				continue
			}
			if got = want; f.Severity != lint.Info || !strings.Contains(f.Why, "the vCenter "+want+" (VSphereCluster org-acme/mycluster, spec.server)") || strings.Contains(f.Why+f.Mend, "S3CRET") {
				t.Errorf("%q: %+v", address, f)
			}
		}
		if got != want {
			t.Errorf("%q: nothing is said", address)
		}
	}
}
