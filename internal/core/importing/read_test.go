package importing_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
	"github.com/fairlead-io/fairlead/internal/core/importing"
	"github.com/fairlead-io/fairlead/internal/core/unitfile"
)

func TestUnusableFilesAreRefusedWithPlaceAndReason(t *testing.T) {
	const openshift = "apiVersion: config.openshift.io/v1\nkind: Proxy\nspec:\n  "
	for name, test := range map[string]struct{ file, text, from, want string }{
		"nothing known":           {"x.yaml", "a: b\n", "", "x.yaml: not recognised as any of openshift, eks-anywhere, "},
		"no YAML":                 {"x.yaml", "a: b\n  c: [S3CRET\n", "", "environment-file, cluster-apps-operator, kyverno-policies-connectivity (2: not valid YAML); say which with --from"},
		"no such format":          {"x.yaml", "a: b\n", "x", `there is no format "x": use one of openshift, `},
		"two formats":             {"x.yaml", "proxy: {http: 'http://a.example:1'}\ncluster: {proxy: {http: 'http://a.example:1'}}\n", "", "x.yaml: may be cluster-apps-operator or kyverno-policies-connectivity: say which with --from"},
		"another format":          {"x.yaml", "proxy: {http: 'http://a.example:1'}\n", "openshift", "x.yaml: no settings of OpenShift's Proxy/cluster in it"},
		"no URL":                  {"x.yaml", openshift + "noProxy: a.example\n", "", "x.yaml:1: no URL of a proxy in it: nothing goes through one there"},
		"a URL without port":      {"x.yaml", openshift + "httpProxy: http://me:S3CRET@a.example\n", "", "x.yaml:4: spec.httpProxy: the port is missing: clients disagree about the default"},
		"a bad password":          {"x.yaml", openshift + "httpProxy: http://me:S3%CRET@a.example:1\n", "", "x.yaml:4: spec.httpProxy: the user information has a % at byte 6 that starts no percent-encoding: write %25"},
		"a mapping for a string":  {"x.yaml", openshift + "httpProxy: {a: b}\n", "", "x.yaml:4: spec.httpProxy: a string is expected"},
		"no mapping":              {"x.yaml", "apiVersion: config.openshift.io/v1\nkind: Proxy\nspec: x\n", "", "x.yaml:3: spec: a mapping is expected"},
		"a list of lists":         {"x.yaml", openshift + "httpProxy: http://a.example:1\n  noProxy: [a, [b]]\n", "", "x.yaml:5: spec.noProxy[1]: a string is expected"},
		"no base64":               {"x.json", `{"httpProxyConfig": {"httpProxy": "http://a.example:1", "trustedCa": "%"}}`, "", "x.json:1: httpProxyConfig.trustedCa: not base64 of a PEM bundle"},
		"no certificate":          {"x.json", `{"httpProxyConfig": {"httpProxy": "http://a.example:1", "trustedCa": "S3CRET"}}`, "", "x.json:1: httpProxyConfig.trustedCa: not base64 of a PEM bundle"},
		"off":                     {"x.yaml", "TKG_HTTP_PROXY_ENABLED: false\nTKG_HTTP_PROXY: http://a.example:1\n", "", "x.yaml:1: TKG_HTTP_PROXY_ENABLED: is off: there is nothing to import"},
		"two values":              {"x.env", "HTTP_PROXY=http://me:S3CRET@a.example:1\nhttp_proxy=http://me:S3CRET2@a.example:1\n", "", "x.env:2: http_proxy: is given a second time with another value: the first is in x.env:1: HTTP_PROXY"},
		"a shell's variable":      {"x.sh", "az connectedk8s connect --proxy-http $HTTP_PROXY\n", "", "x.sh:1: --proxy-http: is a variable of the shell: write its value"},
		"a shell's line":          {"x.env", "HTTP_PROXY=http://me:S3CRET@a.example:1\nif true; then S3CRET\n", "", "kyverno-policies-connectivity (2: no assignment, which systemd drops); say which with --from"},
		"a byte order mark":       {"x.env", "\ufeffHTTP_PROXY=http://me:S3CRET@a.example:1\n", "", "kyverno-policies-connectivity (1: no assignment, which systemd drops); say which with --from"},
		"a flag before its value": {"x.sh", "az connectedk8s connect --proxy-http --proxy-https http://a.example:1\n", "", "x.sh:1: --proxy-http: has no value"},
		"a flag without a value":  {"x.sh", "az connectedk8s connect \\\n --proxy-http\n", "", "x.sh:2: --proxy-http: has no value"},
		"a dropped line":          {"x.conf", "[Service]\nEnvironment=\"HTTP_PROXY=http://me:S3%40CRET@a.example:1\"\n", "", "x.conf: no URL of a proxy in it (x.conf:2: HTTP_PROXY: not supported: systemd reads % as a specifier, so this variable does not arrive: write %% for each % (character 13))"},
		"a specifier":             {"x.conf", "[Service]\nEnvironment=\"HTTP_PROXY=http://me:S3%hCRET@a.example:1\"\n", "", "so this variable arrives as another one, or not at all: write %% for each % (character 13))"},
		"outside of [Service]":    {"x.conf", "Environment=HTTP_PROXY=http://me:S3CRET@a.example:1\n", "", "x.conf:1: Environment= stands outside of [Service]: systemd ignores it"},
		"the same with --from":    {"x.conf", "[Unit]\nEnvironment=HTTP_PROXY=http://me:S3CRET@a.example:1\n", "drop-in", "x.conf: no URL of a proxy in it (x.conf:2: not supported: Environment= stands outside of [Service]: systemd ignores it)"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := importing.Read(test.file, []byte(test.text), test.from)
			if err == nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "S3CRET") {
				t.Errorf("says %v, want %s", err, test.want)
			}
		})
	}
}

// A password has no variable of a shell in it, unless it is quoted.
func TestWhatAShellReplacesIsRefused(t *testing.T) {
	for text, refused := range map[string]bool{
		"az connectedk8s connect --proxy-http http://me:$S3CRET@a.example:1":                          true,
		"az connectedk8s connect --proxy-http=\"http://me:${S3CRET}@a.example:1\"":                    true,
		"az connectedk8s connect --proxy-http http://me:$(S3CRET)@a.example:1":                        true,
		"az connectedk8s connect --proxy-http http://me:`S3CRET`@a.example:1":                         true,
		"az connectedk8s connect --proxy-http http://a.example:1 --proxy-skip-range a,$_S3CRET":       true,
		"az connectedk8s connect --proxy-http 'http://me:$S3CRET@a.example:1'":                        false,
		"az connectedk8s connect --proxy-http http://me:\\$S3CRET@a.example:1":                        false,
		"az connectedk8s connect --proxy-http \"http://me:\\$S3CRET@a.example:1\"":                    false,
		"az connectedk8s connect --name $S3CRET --proxy-http http://a.example:1 --proxy-cert $S3CRET": false,
		"export HTTP_PROXY=http://me:$S3CRET@a.example:1":                                             true,
		"export HTTP_PROXY=\"http://me:${S3CRET}@a.example:1\"":                                       true,
		"HTTP_PROXY=http://me:$S3CRET@a.example:1\nexport NO_PROXY=a":                                 true,
		"export HTTP_PROXY='http://me:$S3CRET@a.example:1'":                                           false,
		"export HTTP_PROXY=http://me:\\$S3CRET@a.example:1":                                           false,
		"export HTTP_PROXY=http://a.example:1\nexport PATH=$S3CRET":                                   false,
		"HTTP_PROXY=http://me:$S3CRET@a.example:1":                                                    false, // systemd takes it as it is
	} {
		_, err := importing.Read("x", []byte(text), "")
		if refused != (err != nil) || err != nil && (!strings.HasSuffix(err.Error(), ": is a variable of the shell: write its value") || strings.Contains(err.Error(), "S3CRET")) {
			t.Errorf("%s: says %v", text, err)
		}
	}
}

func TestTheReportSaysHowASettingWasRead(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"containerd alone": {"CONTAINERD_HTTP_PROXY=http://me:S3CRET@a.example:1\nCONTAINERD_NO_PROXY=b\n", `x:1: CONTAINERD_HTTP_PROXY: understood: with user information, which goes into a Secret; for containerd alone there; Fairlead sets it for machines and pods
x:2: CONTAINERD_NO_PROXY: understood: for containerd alone there; Fairlead sets it for machines and pods
x:2: CONTAINERD_NO_PROXY[0]: understood: b
`},
		"containerd beside others": {"HTTP_PROXY=http://a.example:1\nCONTAINERD_HTTP_PROXY=http://a.example:1\nNO_PROXY=b\nCONTAINERD_NO_PROXY=b,c\n", `x:1: HTTP_PROXY: understood
x:2: CONTAINERD_HTTP_PROXY: understood
x:3: NO_PROXY[0]: understood: b
x:4: CONTAINERD_NO_PROXY: understood: merged with NO_PROXY, since Fairlead writes one list
x:4: CONTAINERD_NO_PROXY[1]: understood: c
`},
		"a piece of a password as a key": {"proxy: {https: http://a.example:1, http: http://me:12,S3CRET@a.example:1, S3CRET, b: c}\n", `x:1: proxy.https: understood
x:1: proxy.http: understood
x:1: proxy: not recognised: a key that is not shown, since it may be a piece of a password: are quotes missing?
x:1: proxy: not recognised: a key that is not shown, since it may be a piece of a password: are quotes missing?
x:1: proxy.b: not recognised
`},
		"a flag with its value in it": {"az connectedk8s connect --proxy-http http://a.example:1 --proxy-https:http://me:S3CRET@a.example:1 --proxy-x --proxy-y z --proxy-skip-range b", `x:1: --proxy-http: understood
x:1: --proxy-: not recognised
x:1: --proxy-x: not recognised
x:1: --proxy-y: not recognised
x:1: --proxy-skip-range[0]: understood: b
`},
		"OpenShift uses another URL": {"{apiVersion: config.openshift.io/v1, kind: Proxy, spec: {httpProxy: 'http://a.example:1', noProxy: null}, status: {httpProxy: 'http://me:S3CRET@a.example:1', httpsProxy: ''}}", `x:1: spec.httpProxy: understood
x:1: status.httpProxy: not supported: is in use, and another one than in spec, which is imported
x:1: status.httpsProxy: understood: the same as in spec
`},
		"no status yet": {"{apiVersion: config.openshift.io/v1, kind: Proxy, spec: {httpProxy: 'http://a.example:1'}, status: null}", "x:1: spec.httpProxy: understood\n"},
		"what is written otherwise": {"HTTP_PROXY=http://a.example:1\nNO_PROXY=10.1.2.3/8,*.B.example,b.example\n", `x:1: HTTP_PROXY: understood
x:2: NO_PROXY[0]: understood: 10.1.2.3/8, written as 10.0.0.0/8
x:2: NO_PROXY[1]: understood: *.B.example, written as .b.example
x:2: NO_PROXY[2]: understood: b.example
`},
		"other documents": {"---\n# none\n---\n{kind: ConfigMap, metadata: {name: b}}\n---\n" + eksa("a", "http://p.example:1", "b") + "{apiVersion: anywhere.eks.amazonaws.com/v1alpha1, kind: Cluster, metadata: {name: b}}\n", `x:4: ConfigMap b: not recognised: another document, which was not read
x:13: spec.proxyConfiguration.httpProxy: understood
x:14: spec.proxyConfiguration.httpsProxy: understood
x:15: spec.proxyConfiguration.noProxy[0]: understood: shared.example
x:15: spec.proxyConfiguration.noProxy[1]: understood: b
x:17: Cluster b: not supported: has no proxy there: set spec.clusterSelector of the CorporateProxy, or mode: Direct in a ProxyOverride
`},
		"a list of AKS": {`[{"httpProxyConfig": {"httpProxy": "http://a.example:1"}},
{"httpProxyConfig": null}]`, "x:1: httpProxyConfig.httpProxy: understood\nx:2: not recognised: another document, which was not read\n"},
		"overrides of CAREN": {`apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: c}
spec:
  topology:
    class: x
    version: v1.30.0
    variables: [{name: clusterConfig, value: {proxy: {http: 'http://a.example:1'}}}]
    controlPlane: {variables: {overrides: [{name: other, value: 1}]}}
    workers:
      machineDeployments:
      - {class: d, name: md, variables: {overrides: [{name: clusterConfig, value: {proxy: {http: 'http://b.example:1'}}}]}}
`, `x:8: clusterConfig.proxy.http: understood
x:12: clusterConfig.proxy: not supported: an override for some machines: all machines of a cluster have one proxy
`},
		"the last wins": {"HTTP_PROXY=http://me:S3CRET@b.example:1\nHTTP_PROXY=http://a.example:1\n", `x:1: HTTP_PROXY: understood: set again below, which wins: left out
x:2: HTTP_PROXY: understood
`},
		"pieces of a password": {"[Service]\nEnvironment=HTTP_PROXY=http://a.example:1 S3CRET=x S3%CRET=%x\nEnvironment=OTHER=1\nEnvironment=S3%CRET=1\nS3CRET=word@a.example:1\n", `x:2: Environment: not supported: systemd reads % as a specifier, so this variable arrives as another one, or not at all: write %% for each % (character 1)
x:2: HTTP_PROXY: understood
x:2: Environment: not recognised: no variable of a proxy
x:3: OTHER: not recognised: no variable of a proxy
x:4: Environment: not recognised: no variable of a proxy
x:5: not recognised: not about the environment
`},
		"EKS Anywhere without a scheme": {eksa("a", "10.0.0.1:3128", "b"), `x:8: spec.proxyConfiguration.httpProxy: understood: http:// is put in front: EKS Anywhere takes it without
x:9: spec.proxyConfiguration.httpsProxy: understood: http:// is put in front: EKS Anywhere takes it without
x:10: spec.proxyConfiguration.noProxy[0]: understood: shared.example
x:10: spec.proxyConfiguration.noProxy[1]: understood: b
`},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, reported(join(t, read(t, "x", test.text)))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAListWithUserInformationIsShownNowhere(t *testing.T) {
	for text, place := range map[string]string{
		"HTTP_PROXY=http://a.example:1\nNO_PROXY=b.example,http://me:S3CRET@a.example:1\n":                                                              "x:2: NO_PROXY[1]: ",
		"{apiVersion: config.openshift.io/v1, kind: Proxy, spec: {httpProxy: 'http://a.example:1'}, status: {noProxy: 'http://me:S3CRET@a.example:1'}}": "x:1: status.noProxy[0]: ",
	} {
		_, err := importing.Join(read(t, "x", text), nil)
		if err == nil || !strings.HasPrefix(err.Error(), place) || strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("says %v, want %s", err, place)
		}
	}
}

func TestAReasonIsAsLongAsItMayBe(t *testing.T) {
	name := strings.Repeat("folder/", 200) + "x.env"
	objects := written(t, join(t, read(t, name, "HTTP_PROXY=http://a.example:1\nNO_PROXY=b\n")))
	_, reason, _ := strings.Cut(objects, "reason: ")
	reason, _, _ = strings.Cut(reason, "value: ")
	if reason = strings.Join(strings.Fields(reason), " "); len(reason) > 1024+len("''") || !strings.HasSuffix(reason, "folder/x.env:2: NO_PROXY[0]'") {
		t.Errorf("%d: %s", len(reason), reason)
	}
}

// value reads HTTP_PROXY and NO_PROXY as one text.
func value(t *testing.T, file, text string) string {
	t.Helper()
	settings := read(t, file, text)[0]
	var list []string
	for _, e := range settings.NoProxy {
		list = append(list, e.Text)
	}
	return settings.HTTP.WithoutCredentials().String() + " " + strings.Join(list, "|")
}

func TestFilesOfVariablesAreReadAsSystemdReadsThem(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"plain":                    {"HTTP_PROXY=http://a.example:1\nNO_PROXY=b,c", "http://a.example:1 b|c"},
		"quotes":                   {"HTTP_PROXY='http://a.example:1'\nNO_PROXY=\"b,c\"\n", "http://a.example:1 b|c"},
		"blanks and comments":      {"# x\n; y\n\n HTTP_PROXY= http://a.example:1  \nNO_PROXY=b,c#d\n", "http://a.example:1 b|c#d"},
		"a line that goes on":      {"HTTP_PROXY=http://a.example:1\nNO_PROXY=b,\\\nc\n", "http://a.example:1 b|c"},
		"lines in quotes":          {"HTTP_PROXY=http://a.example:1\nNO_PROXY=\"b,\nc\"\n", "http://a.example:1 b|c"},
		"escapes":                  {"HTTP_PROXY=http\\://a.example:1\nNO_PROXY=\"b\\d,\\$c\"\n", `http://a.example:1 b\d|$c`},
		"no escapes in ''":         {"HTTP_PROXY=http://a.example:1\nNO_PROXY='b\\$'\n", `http://a.example:1 b\$`},
		"ends of lines of Windows": {"HTTP_PROXY=http://a.example:1\r\nNO_PROXY=b\r\n", "http://a.example:1 b"},
		"export":                   {"export HTTP_PROXY=http://a.example:1\n", "http://a.example:1 "},
		"the last wins":            {"HTTP_PROXY=http://b.example:1\nNO_PROXY=b\nHTTP_PROXY=http://a.example:1\nNO_PROXY=c\nno_proxy=d\n", "http://a.example:1 c|d"},
		"containerd alone":         {"CONTAINERD_HTTP_PROXY=http://a.example:1\nCONTAINERD_NO_PROXY=b\n", "http://a.example:1 b"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := value(t, "x", test.text); got != test.want {
				t.Errorf("is %q, want %q", got, test.want)
			}
		})
	}
}

func TestDropInsAreReadAsSystemdReadsThem(t *testing.T) {
	for name, test := range map[string]struct{ text, want string }{
		"quotes around":              {`Environment="HTTP_PROXY=http://a.example:1" "NO_PROXY=b,c"`, "http://a.example:1 b|c"},
		"quotes within":              {`Environment=HTTP_PROXY="http://a.example:1" NO_PROXY='b,c'`, "http://a.example:1 b|c"},
		"blanks end it":              {"Environment=HTTP_PROXY=http://a.example:1\nEnvironment=NO_PROXY=b, c", "http://a.example:1 b"},
		"a line that goes on":        {"Environment=HTTP_PROXY=http://a.example:1 \\\n# x\n \"NO_PROXY=b,c\"", "http://a.example:1 b|c"},
		"the last wins":              {"Environment=HTTP_PROXY=http://a.example:1 NO_PROXY=b\nEnvironment=NO_PROXY=c", "http://a.example:1 c"},
		"empty forgets":              {"Environment=NO_PROXY=b\nEnvironment=\nEnvironment=HTTP_PROXY=http://a.example:1", "http://a.example:1 "},
		"other sections do not":      {"Environment=HTTP_PROXY=http://a.example:1\n[Unit]\nEnvironment=NO_PROXY=b", "http://a.example:1 "},
		"escapes":                    {`Environment="HTTP_PROXY=http://a.example:1" "NO_PROXY=b\x2cc\054d\u002ce"`, "http://a.example:1 b|c|d|e"},
		"per cent":                   {`Environment="HTTP_PROXY=http://a.example:1" "NO_PROXY=b%%c"`, "http://a.example:1 b%c"},
		"a specifier":                {`Environment="HTTP_PROXY=http://a.example:1" "NO_PROXY=b%hc"`, "http://a.example:1 "},
		"an unknown escape":          {"Environment=HTTP_PROXY=http://a.example:1\nEnvironment=NO_PROXY=b\\dc", "http://a.example:1 "},
		"a quote that is not closed": {"Environment=HTTP_PROXY=http://a.example:1\nEnvironment=\"NO_PROXY=b", "http://a.example:1 "},
	} {
		t.Run(name, func(t *testing.T) {
			if got := value(t, "x.conf", "[Service]\n"+test.text+"\n"); got != test.want {
				t.Errorf("is %q, want %q", got, test.want)
			}
		})
	}
}

func TestKubectlsListsAndAliasesAreRead(t *testing.T) {
	for name, text := range map[string]string{
		"a List":   "{apiVersion: v1, kind: List, items: [{apiVersion: config.openshift.io/v1, kind: Proxy, spec: {httpProxy: 'http://a.example:1', noProxy: b}}]}",
		"an alias": "apiVersion: config.openshift.io/v1\nkind: Proxy\nmetadata: {annotations: {a: &a 'http://a.example:1'}}\nspec: {httpProxy: *a, noProxy: b}\n",
		"JSON":     "{\n\t\"apiVersion\": \"config.openshift.io/v1\",\n\t\"kind\": \"Proxy\",\n\t\"spec\": {\"httpProxy\": \"http://a.example:1\", \"noProxy\": \"b\"}\n}\n",
	} {
		if got := value(t, "x", text); got != "http://a.example:1 b" {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestObjectsOfTanzuAreRead(t *testing.T) {
	const proxy = "{httpProxy: 'http://a.example:1', httpsProxy: 'http://a.example:1', noProxy: [b]}"
	for name, test := range map[string]struct{ text, cluster string }{
		"TanzuKubernetesCluster":  {"{apiVersion: run.tanzu.vmware.com/v1alpha3, kind: TanzuKubernetesCluster, metadata: {name: c, namespace: ns}, spec: {settings: {network: {proxy: " + proxy + "}}}}", "ns/c"},
		"TkgServiceConfiguration": {"{apiVersion: run.tanzu.vmware.com/v1alpha3, kind: TkgServiceConfiguration, spec: {proxy: " + proxy + "}}", ""},
		"a variable":              {"{apiVersion: cluster.x-k8s.io/v1beta1, kind: Cluster, metadata: {name: c, namespace: ns}, spec: {topology: {class: x, version: v1.30.0, variables: [{name: proxy, value: " + proxy + "}]}}}", "ns/c"},
	} {
		settings := read(t, "x", test.text)[0]
		cluster := ""
		if settings.Cluster != nil {
			cluster = settings.Cluster.Namespace + "/" + settings.Cluster.Name
		}
		if settings.System.Name != "tkg" || cluster != test.cluster || len(settings.NoProxy) != 1 {
			t.Errorf("%s: %s, cluster %q, %d entries", name, settings.System.Name, cluster, len(settings.NoProxy))
		}
	}
}

func TestCertificatesGoIntoAConfigMap(t *testing.T) {
	pem, _ := cabundletest.Authority(t, "Corp")
	joined := join(t, read(t, "x.json", `{"httpProxyConfig": {"httpProxy": "http://a.example:1", "trustedCa": "`+base64.StdEncoding.EncodeToString([]byte(pem))+`"}}`))
	objects := written(t, joined)
	for _, part := range []string{"kind: ConfigMap", "name: default-proxy-ca", "BEGIN CERTIFICATE", "trustedCARef:"} {
		if !strings.Contains(objects, part) {
			t.Errorf("no %s in\n%s", part, objects)
		}
	}
	checkStrictly(t, objects)
}

// FuzzRead feeds every parser. Nothing panics; a password goes nowhere but into the Secret.
func FuzzRead(f *testing.F) {
	for file := range formats {
		text, err := os.ReadFile(filepath.Join(examples, file))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(file, string(text))
	}
	f.Fuzz(func(t *testing.T, file, text string) {
		for _, format := range append(importing.Names(), "") {
			settings, err := importing.Read(file, []byte(text), format)
			if err != nil {
				continue
			}
			joined, err := importing.Join(settings, nil)
			if err != nil {
				continue
			}
			const secret = "mySuperSecretPassword"
			if everywhere := strings.Count(text, secret); everywhere == strings.Count(text, "http://myProxyUser:"+secret+"@") && strings.Contains(reported(joined), secret) {
				t.Errorf("the report has the password:\n%s", reported(joined))
			}
			joined.Manifests("default", "fairlead-system")
			checkLines(t, settings[0], text)
		}
	})
}

// checkLines finds a line of the report for each line of a file for systemd.
func checkLines(t *testing.T, s importing.Settings, text string) {
	t.Helper()
	lines := map[int]bool{}
	joined, _ := importing.Join([]importing.Settings{s}, nil)
	for _, l := range joined.Lines {
		lines[l.Place.Line] = true
	}
	switch s.System.Name {
	case "environment-file", "rke2":
		for _, a := range unitfile.Assignments([]byte(text)) {
			if !lines[a.Line] {
				t.Errorf("nothing is said of line %d of %q", a.Line, text)
			}
		}
	case "drop-in":
		for _, l := range unitfile.Lines([]byte(text)) {
			if l.Section == unitfile.Service && !lines[l.Number] {
				t.Errorf("nothing is said of line %d of %q", l.Number, text)
			}
		}
	}
}
