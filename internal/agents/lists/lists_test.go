package lists_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/agents/lists"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// wrong has an entry that lint names.
const wrong = "a.example,10.*"

const proxies = `httpProxy: "http://p:1", httpsProxy: "http://p:1", `

// said is the worst code of each list in an object, after its field.
func findingsIn(t *testing.T, text string) []string {
	t.Helper()
	var object map[string]any
	if err := yaml.Unmarshal([]byte(text), &object); err != nil {
		t.Fatal(err)
	}
	judged, err := lists.Judge(lists.In("", "it", object), func(in lint.Input) ([]lint.Result, error) {
		return []lint.Result{{Findings: lint.Structure(in)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, l := range judged {
		var places []string
		for _, place := range l.Places {
			places = append(places, place.String())
		}
		line := strings.Join(places, " + ")
		for _, f := range l.Findings {
			if f.Severity != lint.Info {
				line += " " + string(f.Severity) + " " + string(f.Code)
			}
		}
		if shown := fmt.Sprintf("%+v", l); strings.Contains(strings.ToUpper(shown), "S3CRET") {
			t.Errorf("shows a password: %s", shown)
		}
		all = append(all, strings.ReplaceAll(line, "it ", ""))
	}
	return all
}

func container(container string) string {
	return "{apiVersion: apps/v1, kind: Deployment, spec: {template: {spec: {containers: [{name: c, " + container + "}]}}}}"
}

const at = "spec.template.spec.containers[0]."

func TestEachListIsFoundWhereverItStands(t *testing.T) {
	for name, test := range map[string]struct {
		object string
		want   []string
	}{
		"AddOnDeploymentConfig":       {"{apiVersion: addon.open-cluster-management.io/v1beta1, kind: AddOnDeploymentConfig, spec: {proxyConfig: {" + proxies + "noProxy: '" + wrong + "'}}}", []string{"spec.proxyConfig.noProxy Error Unreadable"}},
		"AddOnDeploymentConfig, none": {"{apiVersion: addon.open-cluster-management.io/v1beta1, kind: AddOnDeploymentConfig, spec: {proxyConfig: {httpsProxy: 'http://p:1'}}}", []string{"spec.proxyConfig Warning EmptyList"}},
		"KlusterletConfig":            {"{apiVersion: config.open-cluster-management.io/v1alpha1, kind: KlusterletConfig, spec: {hubKubeAPIServerConfig: {proxyURL: 'http://me:S3CRET@p'}}}", []string{"spec.hubKubeAPIServerConfig Error ProxyURL"}},
		"EKS Anywhere":                {"{apiVersion: anywhere.eks.amazonaws.com/v1alpha1, kind: Cluster, spec: {proxyConfiguration: {httpProxy: 'p:1', httpsProxy: 'p:1', noProxy: [a.example, com]}}}", []string{"spec.proxyConfiguration.noProxy Error TooBroad"}},
		"EKS Anywhere, which adds":    {"{apiVersion: anywhere.eks.amazonaws.com/v1alpha1, kind: Cluster, spec: {proxyConfiguration: {httpProxy: 'p:1', httpsProxy: 'p:1', noProxy: []}}}", nil},
		"OpenShift":                   {"{apiVersion: config.openshift.io/v1, kind: Proxy, spec: {noProxy: '" + wrong + "'}, status: {noProxy: '10.*'}}", []string{"spec.noProxy Error Unreadable"}},
		"in a ManifestWork":           {"{apiVersion: work.open-cluster-management.io/v1, kind: ManifestWork, spec: {workload: {manifests: [{apiVersion: config.openshift.io/v1, kind: Proxy, metadata: {name: cluster}, spec: {noProxy: '10.*'}}]}}}", []string{"spec.workload.manifests[0].spec.noProxy Error Unreadable"}},
		"a HelmRelease":               {"{apiVersion: helm.toolkit.fluxcd.io/v2, kind: HelmRelease, spec: {values: {global: {noProxy: '10.*'}}}}", []string{"spec.values.global.noProxy Error Unreadable"}},
		"parameters of a chart":       {`{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {helm: {parameters: [{name: x.noProxy, value: 'a.example\,10.*'}]}}}}`, []string{"spec.source.helm.parameters[0].value Error Unreadable"}},
		"values as a text":            {"{apiVersion: argoproj.io/v1alpha1, kind: Application, spec: {source: {helm: {values: \"a: 1\\nproxy: {no_proxy: '10.*'}\\n\"}}}}", []string{"spec.source.helm.values proxy.no_proxy Error Unreadable"}},
		"a ConfigMap":                 {"{apiVersion: v1, kind: ConfigMap, data: {HTTP_PROXY: 'http://p:1', NO_PROXY: '10.*'}}", []string{"data.NO_PROXY Error Unreadable"}},
		"a ConfigMap, empty":          {"{apiVersion: v1, kind: ConfigMap, data: {HTTP_PROXY: 'http://p:1', NO_PROXY: ''}}", []string{"data.NO_PROXY Error EmptyList"}},
		"a file of variables":         {"{apiVersion: v1, kind: ConfigMap, data: {env: \"export NO_PROXY='10.*'\\n# NO_PROXY=a.example\\n\"}}", []string{"data.env NO_PROXY Error Unreadable"}},
		"a drop-in on a machine":      {"{apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfig, spec: {files: [{content: \"[Service]\\nEnvironment=\\\"NO_PROXY=10.*\\\"\\n\"}]}}", []string{"spec.files[0].content NO_PROXY Error Unreadable"}},
		"with blanks, in quotes":      {"{apiVersion: v1, kind: ConfigMap, data: {a.conf: \"[Service]\\nEnvironment=\\\"NO_PROXY=a.example 10.0.0.1,b.example\\\"\\n\"}}", []string{"data.a.conf NO_PROXY Error Unreadable"}},
		"with blanks, without":        {"{apiVersion: v1, kind: ConfigMap, data: {env: \"NO_PROXY=a.example, b.example\\n\"}}", []string{"data.env NO_PROXY Warning Blank"}},
		"two in a line":               {"{apiVersion: v1, kind: ConfigMap, data: {env: \"NO_PROXY=a.example,b.example HTTP_PROXY=http://p:1 x\\n\"}}", []string{"data.env NO_PROXY"}},
		"a file in base64":            {"{apiVersion: bootstrap.cluster.x-k8s.io/v1beta2, kind: KubeadmConfig, spec: {files: [{encoding: base64, content: Tk9fUFJPWFk9MTAuKgo=}]}}", []string{"spec.files[0].content NO_PROXY Error Unreadable"}},
		"quoted in a shell's text":    {"{apiVersion: v1, kind: ConfigMap, data: {a.sh: 'echo \"NO_PROXY=\\\"a.example,10.*\\\"\" >>/etc/environment'}}", []string{"data.a.sh NO_PROXY Error Unreadable"}},
		"twice in a text":             {"{apiVersion: v1, kind: ConfigMap, data: {a.sh: \"NO_PROXY=10.* a\\nNO_PROXY=a.example b\\n\"}}", []string{"data.a.sh NO_PROXY Error Unreadable", "data.a.sh NO_PROXY"}},
		"in a file of that name":      {"{apiVersion: v1, kind: ConfigMap, data: {keycloak.env: 'NO_PROXY=10.*'}}", []string{"data.keycloak.env NO_PROXY Error Unreadable"}},
		"Fairlead's values, empty":    {"{apiVersion: v1, kind: Secret, stringData: {values: \"proxy: {http: 'http://p:1', noProxy: ''}\\n\"}}", nil},
		"a Secret":                    {"{apiVersion: v1, kind: Secret, data: {NO_PROXY: MTAuKg==}}", []string{"data.NO_PROXY Error Unreadable"}},
		"the annotation of a pod":     {"{apiVersion: v1, kind: Pod, metadata: {annotations: {fairlead.io/no-proxy: '10.*'}}}", []string{"metadata.annotations.fairlead.io/no-proxy Error Unreadable"}},

		"a variable":                {container(`env: [{name: NO_PROXY, value: "10.*"}]`), []string{at + "env[0].value Error Unreadable"}},
		"the lower one alone":       {container(`env: [{name: NO_PROXY, value: a.example}, {name: no_proxy, value: "10.*"}]`), []string{at + "env[0].value Error Unreadable Warning Spellings"}},
		"both are wrong":            {container(`env: [{name: NO_PROXY, value: "10.*"}, {name: no_proxy, value: "11.*"}]`), []string{at + "env[0].value Error Unreadable Error Unreadable Warning Spellings"}},
		"both cases":                {container(`env: [{name: NO_PROXY, value: a.example}, {name: no_proxy, value: b.example}]`), []string{at + "env[0].value Warning Spellings"}},
		"an empty one":              {container(`env: [{name: HTTP_PROXY, value: "http://p:1"}, {name: NO_PROXY, value: ""}]`), []string{at + "env[1].value Error EmptyList"}},
		"one without a value":       {container(`env: [{name: HTTP_PROXY, value: "http://p:1"}, {name: NO_PROXY}]`), []string{at + "env[1] Error EmptyList"}},
		"an empty one, by a Secret": {container(`env: [{name: HTTP_PROXY, valueFrom: {}}, {name: NO_PROXY, value: ""}]`), []string{at + "env[1].value Error EmptyList"}},
		"none":                      {container(`env: [{name: HTTP_PROXY, value: "http://p:1"}]`), []string{at + "env Warning EmptyList"}},
		"of a key server":           {"{apiVersion: v1, kind: Pod, spec: {containers: [{name: keycloak, args: [--no-proxy=10.*]}]}}", []string{"spec.containers[0].args[0] Error Unreadable"}},
		"a flag":                    {container(`args: [--no-proxy=10.*]`), []string{at + "args[0] Error Unreadable"}},
		"a flag and the next":       {container(`args: [--noproxy, 10.*]`), []string{at + "args[1] Error Unreadable"}},
		"a shell":                   {container(`command: [sh, -c, "NO_PROXY=10.* exec x"]`), []string{at + "command[2] NO_PROXY Error Unreadable"}},
		"a list with a password":    {container(`env: [{name: NO_PROXY, value: "http://me:S3CRET@p:1,10.*"}]`), []string{at + "env[0].value Error Unreadable"}},
		"a proxy with a password":   {container(`env: [{name: HTTP_PROXY, value: "me:S3CRET@p:1"}, {name: NO_PROXY, value: a.example}]`), []string{at + "env[1].value Error ProxyURL"}},
		"below a URL":               {`{apiVersion: v1, kind: ConfigMap, data: {c.json: '{"proxies": {"tcp://me:S3CRET@docker:2376": {"noProxy": "10.*"}}}'}}`, []string{"data.c.json proxies.***@docker:2376.noProxy Error Unreadable"}},
		"none, an agent's own":      {container(`command: [cattle-agent], env: [{name: CATTLE_SERVER, value: "https://r"}, {name: HTTPS_PROXY, value: "http://p:1"}]`), []string{at + "env Warning EmptyList"}},
		"none, of one server":       {container(`command: [frpc], env: [{name: HTTPS_PROXY, value: "http://p:1"}]`), []string{at + "env"}},
		"an empty one, of such":     {container(`command: [frpc], env: [{name: HTTPS_PROXY, value: "http://p:1"}, {name: NO_PROXY, value: ""}]`), nil},
		"two that are alike":        {"{apiVersion: v1, kind: List, items: [" + container(`args: [--no-proxy=10.*]`) + ", " + container(`args: [--no-proxy=10.*]`) + "]}", []string{"items[0]." + at + "args[0] + items[1]." + at + "args[0] Error Unreadable"}},
		"a list that is right":      {container(`env: [{name: HTTP_PROXY, value: "http://p:1"}, {name: NO_PROXY, value: a.example}]`), []string{at + "env[1].value"}},

		"none, perhaps from a source":  {container(`envFrom: [{configMapRef: {name: m}}], env: [{name: HTTP_PROXY, value: "http://p:1"}]`), []string{at + "env"}},
		"none, without a proxy":        {container(`env: [{name: HTTP_PROXY, value: ""}, {name: NO_PROXY, value: ""}]`), nil},
		"one that is elsewhere":        {container(`env: [{name: HTTP_PROXY, value: "http://p:1"}, {name: NO_PROXY, valueFrom: {}}]`), nil},
		"one with a variable":          {container(`env: [{name: NO_PROXY, value: "$(MINE),10.*"}]`), nil},
		"in a password":                {container(`args: [--password, "x NO_PROXY=S3CRET"], env: [{name: DB_PASSWORD, value: "x NO_PROXY=S3CRET"}]`), nil},
		"in a ConfigMap's password":    {"{apiVersion: v1, kind: ConfigMap, data: {db.password: 'x NO_PROXY=S3CRET'}}", nil},
		"a flag without a value":       {container(`args: [--no-proxy, "--password=S3CRET"], command: [wget, --no-proxy, "http://a/?S3CRET"]`), nil},
		"an assignment behind it":      {container(`args: [--set-env-vars, "NO_PROXY=a.example,DB_PASSWORD=S3CRET"]`), []string{at + "args[1] NO_PROXY Error Unreadable"}},
		"a flag behind it":             {container(`args: ['NO_PROXY="10.* --password S3CRET"']`), []string{at + "args[0] NO_PROXY Error Unreadable"}},
		"behind a flag without value":  {container(`args: [--no-proxy, "S3CRET!"]`), nil},
		"passwords of any spelling":    {container(`args: ["NO_PROXY='password: S3CRET,S3CRET2'"], env: [{name: NO_PROXY, value: "a.example,token:S3CRET,S3CRET3"}]`), []string{at + "args[0] NO_PROXY Error Unreadable", at + "env[0].value Error Unreadable"}},
		"below a key with a password":  {`{apiVersion: v1, kind: ConfigMap, data: {c.json: '{"password=S3CRET": {"noProxy": "10.*"}}'}}`, []string{"data.c.json password=***.noProxy Error Unreadable"}},
		"labels, and what is a switch": {`{apiVersion: v1, kind: Pod, metadata: {labels: {no-proxy: a,b}}, spec: {nodeSelector: {noProxy: "10.*"}, noProxy: disabled}}`, nil},
		"what SOPS encrypts":           {`{apiVersion: v1, kind: Secret, stringData: {noProxy: "ENC[AES256_GCM,data:x]"}, sops: {}}`, nil},
		"a line of YAML":               {`{apiVersion: v1, kind: ConfigMap, data: {b.yaml: 'noProxy: 10.*', README.md: 'NO_PROXY=10.*'}}`, []string{"data.b.yaml noProxy Error Unreadable"}},
		"for a probe":                  {container(`args: [sh, -c, "NO_PROXY='*' curl -s http://localhost"], command: [wget, --no-proxy, "localhost:8080/healthz"]`), nil},
		"a template's":                 {container(`args: ["NO_PROXY=%s"], env: [{name: NO_PROXY, value: "<path:secret#np>"}]`), nil},
		"spoken of":                    {"{apiVersion: v1, kind: ConfigMap, data: {a.sh: 'HTTP_PROXY=http://p:1; grep \"NO_PROXY=\" f'}}", []string{"data.a.sh"}},
		"a URL that is no proxy's":     {"{apiVersion: v1, kind: ConfigMap, data: {proxy_url: oauth.example, a.json: '{\"proxyURL\": \"/kiali\"}'}}", nil},
		"for one command":              {container(`command: [curl, --noproxy, "*", "http://localhost/"]`), nil},
		"a switch of that name":        {"{apiVersion: x/v1, kind: X, spec: {httpProxy: enabled, noProxy: true}}", nil},
		"prose":                        {"{apiVersion: x/v1, kind: X, metadata: {annotations: {a: 'NO_PROXY=10.*'}}, spec: {description: 'NO_PROXY=10.*'}}", nil},
		"a schema":                     {"{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, spec: {noProxy: '10.*'}}", nil},
		"what lint --proxy reads":      {"{apiVersion: fairlead.io/v1alpha1, kind: CorporateProxy, spec: {noProxy: ['10.*']}}", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := findingsIn(t, test.object); !slices.Equal(got, test.want) {
				t.Errorf("%q\nwant %q", got, test.want)
			}
		})
	}
}
