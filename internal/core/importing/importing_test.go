package importing_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/importing"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

const examples = "../../../examples/import"

// formats are the formats of the examples.
var formats = map[string]string{
	"openshift.yaml": "openshift", "eks-anywhere.yaml": "eks-anywhere", "caren.yaml": "caren", "tkg.yaml": "tkg", "rke2-server": "rke2", "aks.json": "aks",
	"arc.sh": "arc", "http-proxy.conf": "drop-in", "proxy.env": "environment-file", "cluster-apps-operator.yaml": "cluster-apps-operator",
	"kyverno-policies-connectivity.yaml": "kyverno-policies-connectivity",
}

func read(t *testing.T, name, text string) []importing.Settings {
	t.Helper()
	settings, err := importing.Read(name, []byte(text), "")
	if err != nil {
		t.Fatal(err)
	}
	return settings
}

func join(t *testing.T, settings []importing.Settings, clusters ...*clusterv1.Cluster) importing.Import {
	t.Helper()
	joined, err := importing.Join(settings, clusters)
	if err != nil {
		t.Fatal(err)
	}
	return joined
}

// written returns the manifests, as documents of YAML.
func written(t *testing.T, i importing.Import) string {
	t.Helper()
	var text bytes.Buffer
	for _, m := range i.Manifests("default", "fairlead-system") {
		content, err := yaml.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		text.WriteString("---\n")
		text.Write(content)
	}
	return text.String()
}

func reported(i importing.Import) string {
	var text strings.Builder
	for _, l := range i.Lines {
		text.WriteString(l.String() + "\n")
	}
	return text.String()
}

// TestEveryExampleIsImportedAsBefore compares objects and report with testdata, which UPDATE=1 writes.
func TestEveryExampleIsImportedAsBefore(t *testing.T) {
	entries, err := os.ReadDir(examples)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, entry := range entries {
		name := entry.Name()
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join(examples, name))
			if err != nil {
				t.Fatal(err)
			}
			settings := read(t, name, string(text))
			if got := settings[0].System.Name; got != formats[name] {
				t.Errorf("recognised as %s, not %s", got, formats[name])
			}
			seen[settings[0].System.Name] = true
			joined := join(t, settings)
			objects := written(t, joined)
			checkStrictly(t, objects)
			if report := reported(joined); strings.Contains(report, "mySuper") {
				t.Errorf("the report has the password:\n%s", report)
			}
			compareGolden(t, filepath.Join("testdata", name+".golden"), objects+"\n"+reported(joined))
		})
	}
	for _, name := range importing.Names() {
		if !seen[name] {
			t.Errorf("there is no example of %s", name)
		}
	}
}

// checkStrictly reads what was written as the command line reads it: an unknown field is an error.
func checkStrictly(t *testing.T, objects string) {
	t.Helper()
	documents, err := document.Parse("objects", []byte(objects))
	if err != nil {
		t.Fatal(err)
	}
	proxies, err := document.OfKind[v1alpha1.CorporateProxy](documents, "CorporateProxy")
	if err != nil || len(proxies) != 1 {
		t.Errorf("%d CorporateProxies (%v)", len(proxies), err)
	}
	if _, err := document.OfKind[v1alpha1.ProxyOverride](documents, "ProxyOverride"); err != nil {
		t.Error(err)
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Error(diff)
	}
}

func eksa(name, proxy, extra string) string {
	return `apiVersion: anywhere.eks.amazonaws.com/v1alpha1
kind: Cluster
metadata: {name: ` + name + `}
spec:
  clusterNetwork: {pods: {cidrBlocks: [192.168.0.0/16]}, services: {cidrBlocks: [10.96.0.0/12]}}
  controlPlaneConfiguration: {endpoint: {host: 172.16.0.9}}
  proxyConfiguration:
    httpProxy: ` + proxy + `
    httpsProxy: ` + proxy + `
    noProxy: [shared.example, ` + extra + `]
---
`
}

func TestWhatNotEveryClusterHasIsItsOwn(t *testing.T) {
	settings := read(t, "clusters.yaml", eksa("a", "http://p.example:1", "a.example")+eksa("b", "http://p.example:1", "b.example"))
	joined := join(t, settings)
	var common, own []string
	for _, k := range joined.NoProxy {
		common = append(common, k.Entry.String())
	}
	for _, o := range joined.Own {
		own = append(own, o.Namespace+"/"+o.Name+" "+o.NoProxy[0].Entry.String())
	}
	if !slices.Equal(common, []string{"shared.example"}) || !slices.Equal(own, []string{"eksa-system/a a.example", "eksa-system/b b.example"}) {
		t.Errorf("for all: %s, for one: %s", common, own)
	}
	checkStrictly(t, written(t, joined))
}

// The CorporateProxy may forbid it, and other clusters are not to have it.
func TestWhatIsTooBroadForAProxyOverrideIsLeftOut(t *testing.T) {
	const all = "http://p.example:1"
	joined := join(t, read(t, "clusters.yaml", eksa("a", all, "8.0.0.0/8, '*', a.example")+eksa("b", all, "'*'")+eksa("c", all, "c.example")))
	if len(joined.NoProxy) != 1 || len(joined.Own) != 2 || len(joined.Own[0].NoProxy) != 1 {
		t.Errorf("for all: %v, for one: %v", joined.NoProxy, joined.Own)
	}
	for _, line := range []string{
		"clusters.yaml:10: spec.proxyConfiguration.noProxy[1]: not supported: 8.0.0.0/8: a ProxyOverride may not have it unless delegation.noProxy is Any: it ",
		"clusters.yaml:10: spec.proxyConfiguration.noProxy[2]: not supported: *: a ProxyOverride may not have it unless delegation.noProxy is Any: it covers everything\n",
		"clusters.yaml:10: spec.proxyConfiguration.noProxy[3]: understood: a.example\n",
		"clusters.yaml:21: spec.proxyConfiguration.noProxy[1]: not supported: *: ",
	} {
		if !strings.Contains(reported(joined), line) {
			t.Errorf("no %s in\n%s", line, reported(joined))
		}
	}
	everywhere := join(t, read(t, "clusters.yaml", eksa("a", all, "'*'")+eksa("b", all, "'*'")))
	if len(everywhere.NoProxy) != 2 || len(everywhere.Own) != 0 {
		t.Errorf("for all: %v, for one: %v", everywhere.NoProxy, everywhere.Own)
	}
}

func TestTwoProxiesAreNotOneImport(t *testing.T) {
	settings := read(t, "clusters.yaml", eksa("a", "http://me:S3CRET1@p.example:1", "a.example")+eksa("b", "http://me:S3CRET2@p.example:1", "b.example"))
	_, err := importing.Join(settings, nil)
	want := "clusters.yaml:19: spec.proxyConfiguration.httpProxy: another proxy, or other credentials, than in clusters.yaml:8: " +
		"spec.proxyConfiguration.httpProxy: import each proxy by itself, with a --name of its own"
	if err == nil || err.Error() != want {
		t.Errorf("says %v, want %s", err, want)
	}
}

// A network of a cluster is no entry of a company, once it is known which cluster it is.
func TestWhatFairleadDerivesOfAClusterIsLeftOut(t *testing.T) {
	settings := read(t, "proxy.env", "HTTP_PROXY=http://p.example:1\nNO_PROXY=.svc,svc,100.64.0.0/13,100.64.0.5,foo.svc.cluster.local,kubernetes.default,10.9.9.9,corp.example\n")
	c := &clusterv1.Cluster{}
	c.Spec.ClusterNetwork.Services.CIDRBlocks = []string{"100.64.0.0/13"}
	c.Spec.ControlPlaneEndpoint.Host = "10.9.9.9"
	for name, test := range map[string]struct {
		clusters []*clusterv1.Cluster
		want     string
	}{
		"no cluster":                   {nil, "100.64.0.0/13 100.64.0.5 kubernetes.default 10.9.9.9 corp.example"},
		"its cluster":                  {[]*clusterv1.Cluster{c}, "100.64.0.5 kubernetes.default corp.example"},
		"another cluster beside it":    {[]*clusterv1.Cluster{c, {}}, "100.64.0.0/13 100.64.0.5 kubernetes.default 10.9.9.9 corp.example"},
		"the same cluster twice":       {[]*clusterv1.Cluster{c, c}, "100.64.0.5 kubernetes.default corp.example"},
		"a cluster with other numbers": {[]*clusterv1.Cluster{{}}, "100.64.0.0/13 100.64.0.5 kubernetes.default 10.9.9.9 corp.example"},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, k := range join(t, settings, test.clusters...).NoProxy {
				got = append(got, k.Entry.String())
			}
			if strings.Join(got, " ") != test.want {
				t.Errorf("keeps %s, want %s", got, test.want)
			}
		})
	}
}

// The expected entries of other systems are taken from their sources.
func TestOtherSystemsAddWhatTheirSourcesSay(t *testing.T) {
	cluster := resolve.Cluster{ServiceDomain: "k8s.corp", ServiceCIDRs: []string{"S/1"}, PodCIDRs: []string{"P/1"}, EndpointHost: "E", Infrastructure: resolve.Kind{Kind: "AWSCluster"}}
	want := map[string]string{
		"openshift":                     "127.0.0.1 localhost .svc .cluster.local S/1 P/1 E |",
		"eks-anywhere":                  "P/1 S/1 | localhost 127.0.0.1 .svc vcenter.internal.corpdomain.example E",
		"caren":                         "localhost 127.0.0.1 P/1 S/1 kubernetes kubernetes.default .svc .svc.k8s.corp .svc.k8s.corp. 169.254.169.254 .elb.amazonaws.com |",
		"tkg":                           "| S/1 P/1 localhost 127.0.0.1 .svc .svc.cluster.local",
		"rke2":                          "| .svc .k8s.corp P/1 S/1",
		"aks":                           "| 127.0.0.1 localhost 169.254.169.254 168.63.129.16 konnectivity S/1 P/1 E",
		"arc":                           "|",
		"drop-in":                       "|",
		"environment-file":              "|",
		"cluster-apps-operator":         "k8s.corp S/1 P/1 E | svc 127.0.0.1 localhost",
		"kyverno-policies-connectivity": "| svc 127.0.0.1 localhost E k8s.corp k8s.corp. P/1 S/1",
	}
	for file, format := range formats {
		text, err := os.ReadFile(filepath.Join(examples, file))
		if err != nil {
			t.Fatal(err)
		}
		settings := read(t, file, string(text))[0]
		before, after := settings.Added(cluster)
		var got []string
		for _, e := range before {
			got = append(got, e.Text)
		}
		got = append(got, "|")
		for _, e := range after {
			got = append(got, e.Text)
		}
		if strings.Join(got, " ") != want[format] {
			t.Errorf("%s adds %s, want %s", format, got, want[format])
		}
	}
}

func TestSystemsThatAddNothingToSomeLists(t *testing.T) {
	for name, text := range map[string]string{
		"openshift.yaml": "{apiVersion: config.openshift.io/v1, kind: Proxy, spec: {httpProxy: 'http://p.example:1', noProxy: '*'}}",
		"kyverno.yaml":   "proxy: {enabled: true, http: 'http://p.example:1'}",
	} {
		settings := read(t, name, text)[0]
		if before, after := settings.Added(resolve.Cluster{EndpointHost: "E"}); len(before)+len(after) > 0 {
			t.Errorf("%s: adds %v, %v", name, before, after)
		}
	}
}
