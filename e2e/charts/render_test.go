// Package charts_test tests both charts: the objects that they render, the values that they refuse, the files in their
// packages, and the result on a real API server with both engines. The effects of the policies on pods are tested in
// e2e/policies.
package charts_test

import (
	"bytes"
	"maps"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

type values = map[string]any

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// rendered are the objects of the chart, by kind and name.
type rendered map[string]*unstructured.Unstructured

func render(t *testing.T, given ...any) rendered {
	t.Helper()
	manifest, err := policies.Render(t.Context(), given...)
	controlplanetest.Require(t, err)
	return parse(t, manifest)
}

func parse(t *testing.T, manifest []byte) rendered {
	t.Helper()
	found := rendered{}
	for document := range bytes.SplitSeq(manifest, []byte("\n---\n")) {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal(document, &object.Object); err != nil {
			t.Fatalf("%v:\n%s", err, document)
		}
		if len(object.Object) > 0 {
			found[object.GetKind()+"/"+object.GetName()] = object
		}
	}
	return found
}

// data returns the data of a Secret.
func (r rendered) data(t *testing.T, name string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for key, value := range as[corev1.Secret](t, r, name).Data {
		found[key] = string(value)
	}
	return found
}

// text returns an object as YAML.
func (r rendered) text(t *testing.T, name string) string {
	t.Helper()
	if r[name] == nil {
		t.Fatalf("no %s is rendered", name)
	}
	content, err := yaml.Marshal(r[name].Object)
	controlplanetest.Require(t, err)
	return string(content)
}

func environment(http, https, noProxy string) map[string]string {
	return map[string]string{
		"HTTP_PROXY": http, "http_proxy": http, "HTTPS_PROXY": https, "https_proxy": https, "NO_PROXY": noProxy, "no_proxy": noProxy,
	}
}

func proxy(http, https string, noProxy any) values {
	return values{"http": http, "https": https, "noProxy": noProxy}
}

const (
	url      = "http://me:secret@proxy.example:3128"
	otherURL = "https://proxy.example:3129"
)

func TestTheSecretHasTheSixVariables(t *testing.T) {
	for name, test := range map[string]struct {
		given values
		want  map[string]string
	}{
		"both layouts of the values Secret": {
			values{"cluster": values{"proxy": proxy(url, otherURL, "a,b")}, "http_proxy": "x", "https_proxy": "x", "no_proxy": "x"},
			environment(url, otherURL, "a,b"),
		},
		"a list":                            {values{"proxy": proxy(url, url, []string{"a", "b"})}, environment(url, url, "a,b")},
		"one URL alone":                     {values{"proxy": proxy(url, "", "a")}, environment(url, "", "a")},
		"the other alone":                   {values{"proxy": proxy("", url, "a")}, environment("", url, "a")},
		"each of proxy over cluster.proxy":  {values{"cluster": values{"proxy": proxy(url, url, "a")}, "proxy": values{"https": otherURL}}, environment(url, otherURL, "a")},
		"a list over a string":              {values{"cluster": values{"proxy": proxy(url, url, "a")}, "proxy": values{"noProxy": []string{"b"}}}, environment(url, url, "b")},
		"an empty one over nothing":         {values{"cluster": values{"proxy": proxy(url, url, "a")}, "proxy": proxy("", "", []string{})}, environment(url, url, "a")},
		"blanks and a line end around":      {values{"proxy": proxy(" "+url+"\n", url, "a\n")}, environment(url, url, "a")},
		"URLs in capitals, a slash, IPv6":   {values{"proxy": proxy("HTTP://u:p@[fd00::1]:3128/", "http://10.0.0.1:80", "a")}, environment("HTTP://u:p@[fd00::1]:3128/", "http://10.0.0.1:80", "a")},
		"nothing":                           {nil, environment("", "", "")},
		"blank: a cluster that is Direct":   {values{"cluster": values{"proxy": proxy("", "", "")}, "http_proxy": "", "https_proxy": "", "no_proxy": ""}, environment("", "", "")},
		"no cluster.proxy":                  {values{"cluster": values{"proxy": nil}}, environment("", "", "")},
		"no cluster, no proxy":              {values{"cluster": nil, "proxy": nil}, environment("", "", "")},
		"a list without a URL":              {values{"proxy": proxy("", "", "a")}, environment("", "", "")},
		"ranges of a management cluster":    {management(proxy(url, url, "a"), "10.0.0.0/8", "endpoints.example"), environment(url, url, "a,10.0.0.0/8,endpoints.example"+tunnelServers)},
		"ranges that are there already":     {management(proxy(url, url, "a, 10.0.0.0/8"), "10.0.0.0/8", "b", "b"), environment(url, url, "a, 10.0.0.0/8,b"+tunnelServers)},
		"ranges after a comma":              {management(proxy(url, url, "a,"), "b"), environment(url, url, "a,b"+tunnelServers)},
		"ranges of one that is not proxied": {management(proxy("", "", ""), "b"), environment("", "", "")},
		"ranges of what is no such cluster": {values{"proxy": proxy(url, url, "a"), "managementCluster": values{"endpointRanges": []string{"b"}}}, environment(url, url, "a")},
		"tunnels' servers elsewhere": {
			values{"proxy": proxy(url, url, "a"), "managementCluster": values{"enabled": true, "endpointRanges": []string{"b"}, "tunnelNamespaces": []string{"hub"}}},
			environment(url, url, "a,b,.hub"),
		},
		"a CA, which is elsewhere": {values{"trustedCA": values{"enabled": true, "bundle": certificate}}, environment("", "", "")},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, render(t, test.given).data(t, "Secret/"+policies.Secret)); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func management(proxy values, ranges ...string) values {
	return values{"proxy": proxy, "managementCluster": values{"enabled": true, "endpointRanges": ranges}}
}

// tunnelServers are the entries that managementCluster.tunnelNamespaces adds by default.
const tunnelServers = ",.open-cluster-management-addon,.open-cluster-management-cluster-proxy,.multicluster-engine"

func TestTheBundleIsInAConfigMapAsItWas(t *testing.T) {
	long := "\n# ours\n" + certificate + "\n\n" + certificate
	for name, test := range map[string]struct {
		given values
		want  string
	}{
		"as it was":              {values{"enabled": true, "bundle": long}, "# ours\n" + certificate + "\n\n" + certificate + "\n"},
		"no longer handed out":   {values{"bundle": certificate}, certificate + "\n"},
		"none":                   {values{}, ""},
		"as ClusterTrustBundle":  {values{"enabled": true, "bundle": certificate, "through": "ClusterTrustBundle"}, certificate + "\n"},
		"as ConfigMap, to force": {values{"enabled": true, "bundle": certificate, "through": "ConfigMap"}, certificate + "\n"},
	} {
		objects := render(t, values{"trustedCA": test.given})
		configMap := objects["ConfigMap/"+policies.TrustedCA]
		if test.want == "" {
			if configMap != nil {
				t.Errorf("%s: there is one", name)
			}
			continue
		}
		got, _, _ := unstructured.NestedString(configMap.Object, "data", "ca.crt")
		if got != test.want || configMap.GetAnnotations()["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s: %q", name, got)
		}
		bundle := objects["ClusterTrustBundle/"+policies.TrustedCA]
		if (bundle != nil) != (test.given["through"] == "ClusterTrustBundle") {
			t.Errorf("%s: ClusterTrustBundle: %v", name, bundle)
		}
	}
}

// certificate is damaged where only a parser sees it.
const certificate = "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIIEXAMPLEA\n+/==\n-----END CERTIFICATE-----"

// An App merges the Secret over the ConfigMap. Here is every field that cluster-apps-operator writes, and more of a platform.
func TestWhatAPlatformWritesIsTakenAndNotRead(t *testing.T) {
	file := func(name string) []byte {
		return controlplanetest.ReadFile(t, filepath.Join(policies.Chart(), "ci", name))
	}
	further := values{"enabled": true, "nodes": 3, "mode": "a", "code": "b", "cluster": values{"httpEndpoint": "a", "proxyProtocol": values{"enabled": true}}}
	got := render(t, file("cluster-configmap.yaml"), file("cluster-secret.yaml"), further)
	const proxied = "http://myProxyUser:mySuperSecretPassword@192.168.52.220:3128"
	const direct = "cluster.local,10.96.0.0/12,10.244.0.0/16,192.168.52.10,172.16.0.0/16,internal.example.com,svc,127.0.0.1,localhost"
	if diff := cmp.Diff(environment(proxied, proxied, direct), got.data(t, "Secret/"+policies.Secret)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if diff := cmp.Diff(render(t, file("cluster-values.yaml")), got); diff != "" {
		t.Errorf("-merged before +merged by Helm:\n%s", diff)
	}
}

// networks are the namespaces of networks that are excluded by default.
const networks = ",tigera-operator,calico-system,kube-flannel,cilium"

// Agents of tunnels live in kube-system, which nothing else of ours acts in.
func TestTheReplicatorServesTheNamespacesOfTunnels(t *testing.T) {
	for excluded, given := range map[string]values{
		"--exclude-namespaces=kube-public,kube-node-lease,kyverno" + networks:             nil,
		"--exclude-namespaces=kube-system,kube-public,kube-node-lease,kyverno" + networks: {"tunnels": values{"enabled": false}},
		// One more takes none away.
		"--exclude-namespaces=kube-public,kube-node-lease,kyverno" + networks + ",legacy": {"exclude": values{"namespaces": []string{"legacy", "kyverno"}}},
		"--exclude-namespaces=legacy": {"exclude": values{"namespaces": []string{"legacy"}, "defaults": values{"namespaces": []string{"kube-system"}}}},
	} {
		text := render(t, given).text(t, "Deployment/fairlead-replicator")
		if !strings.Contains(text, "- "+excluded+"\n") {
			t.Errorf("with %v, the replicator is not told %s:\n%s", given, excluded, text)
		}
		if onDemand := strings.Contains(text, "- --on-demand-namespaces=kube-system\n"); onDemand != (given["tunnels"] == nil) {
			t.Errorf("with %v, kube-system gets the password only for who refers to it: %t", given, onDemand)
		}
	}
}

// With opt-in, the password is where somebody asks for it.
func TestOptInCopiesTheSecretOnDemandAlone(t *testing.T) {
	text := render(t, values{"optIn": true}).text(t, "Deployment/fairlead-replicator")
	if !strings.Contains(text, "- --on-demand-namespaces=*\n") {
		t.Errorf("the replicator copies it everywhere:\n%s", text)
	}
}

// What a selector can say is said there, once, and the rest by patterns: nothing of the list is lost, and no API server
// refuses the policy because of a label that there cannot be.
func TestExcludedLabelsAreInTheSelectorAsFarAsItGoes(t *testing.T) {
	given := values{"exclude": values{"names": []string{"a.b", "*mid*dle"}, "defaults": values{"labels": nil, "names": nil}, "labels": []string{"k.l/m=x.y*z", "*/owner=(me)", "a=x", "b/c=*", "a=y", "a=x", "d=", "e=x-*", "f=*", "f=x", "g=not a label", "H_/i=x", "j=a*b"}}}
	for _, engine := range []string{"MutatingPolicy", "MutatingAdmissionPolicy"} {
		objects := render(t, given, values{"engine": map[string]string{"MutatingPolicy": "Kyverno", "MutatingAdmissionPolicy": "Native"}[engine]})
		spec := objects[engine+"/"+policies.InjectProxyEnv].Object["spec"].(map[string]any)
		selector := spec["matchConstraints"].(map[string]any)["objectSelector"].(map[string]any)["matchExpressions"].([]any)
		requirement := func(key, operator string, values ...any) any {
			all := map[string]any{"key": key, "operator": operator}
			if values != nil {
				all["values"] = values
			}
			return all
		}
		want := []any{
			requirement("policies.kyverno.io/inject-proxy-env", "NotIn", "exclude"),
			requirement("a", "NotIn", "x", "y"), requirement("b/c", "DoesNotExist"), requirement("d", "NotIn", ""), requirement("f", "DoesNotExist"),
		}
		if diff := cmp.Diff(want, selector); diff != "" {
			t.Errorf("%s: the selector (-want +got):\n%s", engine, diff)
		}
		for _, variable := range spec["variables"].([]any) {
			v := variable.(map[string]any)
			patterns := map[string]string{
				"excludedLabels": `["^k\\.l/m=x\\.y.*z$","^.*/owner=\\(me\\)$","^e=x-.*$","^g=not a label$","^H_/i=x$","^j=a.*b$"]`,
				"excludedNames":  `["^a\\.b$","^.*mid.*dle$"]`,
			}[v["name"].(string)]
			if got := strings.NewReplacer("\n  ", "", "\n", "").Replace(v["expression"].(string)); patterns != "" && got != patterns {
				t.Errorf("%s: %s are %s, not %s", engine, v["name"], got, patterns)
			}
		}
	}
}

// Which families have no policy then is tested in internal/agents/mutation.
func TestTheReportSaysWhyThereIsNoRelay(t *testing.T) {
	for why, given := range map[string]values{
		`"carry Literal makes no Secret`:   {"carry": "Literal", "proxy": proxy(url, url, "a")},
		`"it leads to cluster.proxy.https`: {"proxy": proxy(url, "", "a")},
		`""`:                               {"proxy": proxy(url, url, "a")},
	} {
		text := render(t, policies.Sidecars(), given, family(nil)).text(t, "ValidatingPolicy/audit-tunnels")
		if !strings.Contains(text, why) || !strings.Contains(text, "mine") {
			t.Errorf("audit-tunnels does not say %s:\n%s", why, text)
		}
	}
}

// Else the files that people read and test would not be what they install.
func TestTheDefaultRenderingIsTheStaticPolicy(t *testing.T) {
	objects := render(t, policies.Values(), policies.Sidecars(), values{
		"trustedCA": values{"enabled": true, "bundle": certificate}, "exclude": values{"authorization": values{"enabled": true}},
	})
	maps.Copy(objects, render(t, policies.Values(), policies.Sidecars())) // there, no relay waits for a bundle, and none is to be kept from being a variable
	files, err := filepath.Glob(filepath.Join(policies.Folder(), "*", "*.yaml"))
	if err != nil || len(files) != 12 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		if filepath.Base(filepath.Dir(file)) == "inject-node-files" { // of the management cluster, and of the other chart
			continue
		}
		content := controlplanetest.ReadFile(t, file)
		for name, static := range parse(t, content) {
			got := objects[name]
			if got == nil {
				t.Errorf("%s is not rendered", name)
				continue
			}
			for _, part := range []string{"spec", "rules"} {
				if diff := cmp.Diff(static.Object[part], got.Object[part]); diff != "" {
					t.Errorf("%s (-static +rendered):\n%s", name, diff)
				}
			}
			if diff := cmp.Diff(static.GetAnnotations(), got.GetAnnotations()); diff != "" {
				t.Errorf("annotations of %s (-static +rendered):\n%s", name, diff)
			}
		}
	}
}
