package charts_test

import (
	"maps"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/command"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

// Whatever has it in its values must not show it.
const s3cret = "S3CRET"

func TestBadValuesAreRefusedByTheNameOfTheirKeyAndWithoutShowingAPassword(t *testing.T) {
	const good = "http://me:" + s3cret + "@proxy.example:3128"
	for name, test := range map[string]struct {
		given values
		want  []string
	}{
		"an end without a replicator":       {values{"carry": "Literal", "exclude": values{"until": values{"enabled": true}}}, []string{"exclude.until.enabled", "carry SecretRef"}},
		"a typo at the top":                 {values{"engin": "Native"}, []string{"unknown key engin: it is not read; did you mean engine?"}},
		"a letter too many at the top":      {values{"clusters": values{"proxy": values{"http": good}}}, []string{"unknown key clusters", "did you mean cluster?"}},
		"a list at the top":                 {values{"noProxy": s3cret}, []string{"unknown key noProxy:", "cluster.proxy.http, https and noProxy"}},
		"a URL at the top":                  {values{"httpProxy": good}, []string{"unknown key httpProxy", "cluster.proxy.http, https and noProxy"}},
		"a typo in proxy":                   {values{"proxy": values{"htp": good}}, []string{"/proxy", "htp"}},
		"a typo in cluster":                 {values{"cluster": values{"prxy": values{"http": good}}}, []string{"cluster.prxy", "cluster.proxy.http"}},
		"a typo in cluster.proxy":           {values{"cluster": values{"proxy": values{"no_proxy": "a"}}}, []string{"/cluster/proxy", "no_proxy"}},
		"a key a level too high":            {values{"cluster": values{"noProxy": s3cret}}, []string{"cluster.noProxy"}},
		"a case in cluster.proxy":           {values{"cluster": values{"proxy": values{"noproxy": s3cret}}}, []string{"/cluster/proxy", "noproxy"}},
		"cluster in another case":           {values{"Cluster": values{"proxy": values{"http": good}}}, []string{"Cluster"}},
		"alerts without a probe":            {values{"probe": values{"prometheusRule": values{"enabled": true}}}, []string{"probe.prometheusRule.enabled needs probe.enabled"}},
		"a label that the chart sets":       {values{"replicator": values{"podLabels": values{"app.kubernetes.io/component": "x"}}}, []string{"replicator.podLabels", "app.kubernetes.io/component"}},
		"an annotation that the chart sets": {values{"relay": values{"enabled": true, "annotations": values{"helm.sh/resource-policy": "x"}}, "proxy": proxy(good, good, "a")}, []string{"relay.annotations: the chart itself sets helm.sh/resource-policy"}},
		"an account's of the chart's":       {values{"relay": values{"enabled": true, "serviceAccount": values{"annotations": values{"helm.sh/resource-policy": "x"}}}, "proxy": proxy(good, good, "a")}, []string{"relay.serviceAccount.annotations: the chart itself sets"}},
		"a typo in exclude":                 {values{"exclude": values{"name": []string{}}}, []string{"/exclude", "name"}},
		"a typo in trustedCA":               {values{"trustedCA": values{"bundel": s3cret}}, []string{"/trustedCA", "bundel"}},
		"a value of engine":                 {values{"engine": "native"}, []string{"/engine", "Kyverno", "Native"}},
		"a value of carry":                  {values{"carry": "Secret"}, []string{"/carry", "SecretRef", "Literal", "Relay"}},
		"a source with Literal":             {values{"carry": "Literal", "source": values{"existing": true}, "proxy": proxy(good, good, "a")}, []string{"source.existing", "Relay", "Literal"}},
		"a source for a management cluster": {values{"source": values{"existing": true}, "managementCluster": values{"enabled": true, "endpointRanges": []string{"10.0.0.0/8"}}}, []string{"managementCluster.enabled", "source.existing", "Relay"}},
		"a URL of before without a scheme":  {values{"proxy": values{"http": good, "noProxy": "a", "previous": values{"http": s3cret + ":1"}}}, []string{"proxy.previous.http", "http://"}},
		"a URL of before of two lines":      {values{"cluster": values{"proxy": values{"previous": values{"https": good + "\n"}}}, "proxy": values{"previous": values{"https": "http://" + s3cret + "\nb:1"}}}, []string{"proxy.previous.https", "line end"}},
		"Relay without noProxy":             {values{"carry": "Relay", "proxy": values{"http": good}}, []string{"noProxy", "proxy.http"}},
		"a CA with Relay":                   {values{"carry": "Relay", "trustedCA": values{"enabled": true, "bundle": certificate}}, []string{"trustedCA.enabled", "Relay", "ClusterTrustBundle"}},
		"a list that CEL does not take, 2":  {values{"carry": "Relay", "proxy": proxy(good, "", long(50_000))}, []string{"noProxy", "Relay", "SecretRef"}},
		"a name for an address":             {values{"relay": values{"clusterIP": "fairlead-relay"}}, []string{"/relay/clusterIP"}},
		"a name for a network":              {values{"relay": values{"sources": []string{"pods"}}}, []string{"/relay/sources/0"}},
		"nobody who may ask":                {values{"relay": values{"sources": []string{}}}, []string{"/relay/sources"}},
		"an end that is too short":          {values{"relay": values{"terminationGracePeriodSeconds": 20}}, []string{"/relay/terminationGracePeriodSeconds"}},
		"no relay at once":                  {values{"relay": values{"maxSurge": "0%"}}, []string{"/relay/maxSurge"}},
		"settings of machines by nobody":    {values{"node": values{"enabled": true}}, []string{"node.enabled", "cluster.proxy.http", "source.existing"}},
		"direct, and nothing denied":        {values{"carry": "Relay", "proxy": proxy(good, good, "a"), "relay": values{"direct": values{"namespaces": []string{"shop"}}}}, []string{"relay.denied", "relay.direct"}},
		"a domain with a port":              {values{"relay": values{"direct": values{"domains": []string{"a.example:443"}}}}, []string{"/relay/direct/domains/0"}},
		"a value of failurePolicy":          {values{"failurePolicy": "ignore"}, []string{"/failurePolicy", "Fail", "Ignore"}},
		"a text for a truth":                {values{"optIn": "false"}, []string{"/optIn", "boolean"}},
		"a list for a URL":                  {values{"proxy": values{"http": []string{good}}}, []string{"/proxy/http", "string"}},
		"numbers in noProxy":                {values{"proxy": values{"noProxy": []any{"a", 1}}}, []string{"/proxy/noProxy/1", "string"}},
		"a label without a value":           {values{"exclude": values{"labels": []string{"app"}}}, []string{"/exclude/labels/0"}},
		"no carry":                          {values{"carry": nil}, []string{"missing", "carry"}},
		"a pattern of namespaces":           {values{"exclude": values{"namespaces": []string{"capi-*"}}}, []string{"/exclude/namespaces/0"}},
		"a suffix for a namespace":          {values{"managementCluster": values{"tunnelNamespaces": []string{".hub"}}}, []string{"/managementCluster/tunnelNamespaces/0"}},
		"a typo in a family":                {family(values{"trough": "None"}), []string{"/tunnels/families/mine", "trough"}},
		"a family without labels":           {family(values{"labels": nil}), []string{"/tunnels/families/mine", "labels"}},
		"a label of a family without value": {family(values{"labels": values{"app": []string{}}}), []string{"/tunnels/families/mine/labels/app"}},
		"a family that goes by nothing":     {family(values{"through": nil}), []string{"/tunnels/families/mine", "through"}},
		"another way":                       {family(values{"through": "Tunnel"}), []string{"/tunnels/families/mine/through", "Environment", "Relay", "None"}},
		"an agent that reads nothing":       {family(values{"through": "Environment"}), []string{"/tunnels/families/mine", "reads"}},
		"a variable that is none":           {family(values{"reads": []string{"PROXY"}}), []string{"/tunnels/families/mine/reads/0", "http_proxy"}},
		"a flag without its value":          {family(values{"arguments": [][]string{{"--keepalive-time"}}}), []string{"/tunnels/families/mine/arguments/0"}},
		"a target without a port":           {family(values{"targets": []string{"hub.example"}}), []string{"/tunnels/families/mine/targets/0"}},
		"a name that no policy can have":    {values{"tunnels": values{"families": values{"My_Tunnel": values{}}}}, []string{"/tunnels/families", "My_Tunnel"}},
		"two ranges in one":                 {values{"managementCluster": values{"endpointRanges": []string{"10.0.0.0/8,b"}}}, []string{"/managementCluster/endpointRanges/0"}},
		"blanks for commas":                 {values{"proxy": proxy(good, "", "a b")}, []string{"proxy.noProxy", "blank"}},
		"blanks for commas in a list":       {values{"proxy": proxy(good, "", []string{"a", "b c"})}, []string{"proxy.noProxy", "blank"}},
		"a blank in a host":                 {values{"proxy": proxy("http://me:"+s3cret+"@proxy example:3128", "", "a")}, []string{"proxy.http", "http://"}},
		"a list that Linux does not take":   {values{"proxy": proxy(good, "", long(131_001))}, []string{"131000", "noProxy"}},
		"a list that CEL does not take":     {values{"carry": "Literal", "proxy": proxy(good, "", long(50_000))}, []string{"noProxy", "Literal", "SecretRef"}},
		"a URL without a scheme":            {values{"proxy": proxy("me:"+s3cret+"@proxy.example:3128", "", "a")}, []string{"proxy.http", "http://"}},
		"a URL of cluster without a scheme": {values{"cluster": values{"proxy": proxy("", s3cret+".example:3128", "a")}}, []string{"cluster.proxy.https", "http://"}},
		"another scheme":                    {values{"proxy": proxy("socks5://"+s3cret+":1080", "", "a")}, []string{"proxy.http", "http://"}},
		"a URL without a port":              {values{"proxy": proxy("http://me:"+s3cret+"@proxy.example", "", "a")}, []string{"proxy.http", "http://"}},
		"a URL without a host":              {values{"proxy": proxy("http://me:"+s3cret+"@:3128", "", "a")}, []string{"proxy.http", "http://"}},
		"a URL of two lines":                {values{"proxy": proxy("http://me:"+s3cret+"\n@proxy.example:3128", "", "a")}, []string{"proxy.http", "line end"}},
		"a list of two lines":               {values{"proxy": proxy(good, "", "a,\nb")}, []string{"proxy.noProxy", "line end"}},
		"no noProxy":                        {values{"proxy": values{"http": good}}, []string{"noProxy", "proxy.http"}},
		"an empty list":                     {values{"proxy": proxy("", good, []string{})}, []string{"noProxy", "proxy.https"}},
		"a list of nothing":                 {values{"cluster": values{"proxy": proxy(good, good, " , ,")}}, []string{"noProxy", "cluster.proxy.http"}},
		"no noProxy but ranges":             {management(proxy(good, "", ""), "10.0.0.0/8"), []string{"noProxy", "proxy.http"}},
		"a management cluster, no ranges":   {management(proxy(good, "", "a")), []string{"managementCluster.endpointRanges"}},
		"Literal without noProxy":           {values{"carry": "Literal", "proxy": values{"http": good}}, []string{"noProxy", "proxy.http"}},
		"a CA with Literal":                 {values{"carry": "Literal", "trustedCA": values{"enabled": true, "bundle": certificate}}, []string{"trustedCA.enabled", "SecretRef"}},
		"no variable for a CA":              {values{"trustedCA": values{"variables": []string{}}}, []string{"/trustedCA/variables"}},
		"a variable for a CA that is none":  {values{"trustedCA": values{"variables": []string{"A=b"}}}, []string{"/trustedCA/variables/0"}},
		"a CA without a bundle":             {values{"trustedCA": values{"enabled": true, "bundle": " \n"}}, []string{"trustedCA.bundle", "empty"}},
		"a bundle that is none":             {values{"trustedCA": values{"enabled": true, "bundle": s3cret}}, []string{"trustedCA.bundle"}},
		"a bundle and more":                 {values{"trustedCA": values{"enabled": true, "bundle": certificate + "\n" + s3cret}}, []string{"trustedCA.bundle"}},
		"a bundle without an end":           {values{"trustedCA": values{"enabled": true, "bundle": certificate + "\n-----BEGIN CERTIFICATE-----\nMII" + s3cret}}, []string{"trustedCA.bundle"}},
		"damaged base64":                    {values{"trustedCA": values{"enabled": true, "bundle": certificate + "\n" + strings.Replace(certificate, "MIIB", "MIIB=", 1)}}, []string{"trustedCA.bundle", "certificate 2"}},
		"base64 of something else":          {values{"trustedCA": values{"enabled": true, "bundle": strings.Replace(certificate, "MIIB", "AAAA", 1)}}, []string{"trustedCA.bundle", "certificate 1"}},
		"a private key in a bundle":         {values{"trustedCA": values{"enabled": true, "bundle": certificate + "\n-----BEGIN EC PRIVATE KEY-----\n" + s3cret + "\n-----END EC PRIVATE KEY-----"}}, []string{"trustedCA.bundle", "private key"}},
		"a private key that is not used":    {values{"trustedCA": values{"bundle": "# -----BEGIN PRIVATE KEY-----\n# " + s3cret}}, []string{"trustedCA.bundle", "private key"}},
		"Literal, and no ranges":            {values{"carry": "Literal", "managementCluster": values{"enabled": true}, "proxy": proxy(good, "", "a")}, []string{"managementCluster.endpointRanges"}},
		"Literal, too long for Linux":       {values{"carry": "Literal", "proxy": proxy(good, "", long(131_001))}, []string{"noProxy"}},
		"a parent's key of the chart":       {values{"fairlead-policies": values{"carry": "Literal"}}, []string{"fairlead-policies"}},
		"a source with Relay, no noProxy":   {values{"carry": "Relay", "source": values{"existing": true}, "proxy": values{"https": good}}, []string{"noProxy", "proxy.https"}},
		"claims for a relay":                {values{"tunnels": values{"relay": values{"resources": values{"claims": []values{{"name": "x"}}}}}}, []string{"/tunnels/relay/resources", "claims"}},
		"a list for a quantity":             {values{"tunnels": values{"relay": values{"resources": values{"limits": values{"cpu": []int{1}}}}}}, []string{"/tunnels/relay/resources/limits/cpu"}},
		"a family's throughTLS of null":     {family(values{"throughTLS": nil}), []string{"throughTLS"}},
		"a family of null that is not ours": {values{"tunnels": values{"families": values{"mine": nil}}}, []string{"mine"}},
		"a family of no labels":             {family(values{"labels": values{}}), []string{"/tunnels/families/mine/labels"}},
		"a family's container of no name":   {family(values{"containers": []string{""}}), []string{"/tunnels/families/mine/containers/0"}},
		"a pattern of nothing":              {values{"exclude": values{"names": []string{""}}}, []string{"/exclude/names/0"}},
		"a source of nothing":               {values{"exclude": values{"sources": []string{""}}}, []string{"/exclude/sources/0"}},
		"a relay's digest that is none":     {values{"tunnels": values{"relay": values{"image": values{"digest": "latest"}}}}, []string{"/tunnels/relay/image/digest"}},
	} {
		t.Run(name, func(t *testing.T) {
			out, err := policies.Render(t.Context(), test.given)
			checkRefusal(t, out, err, test.want)
			if !chartAlone[name] {
				checkCommandRefuses(t, test.given, err)
			}
		})
	}
}

// chartAlone are rows about what the chart installs beside the policies. fairlead mutate does not read it.
var chartAlone = map[string]bool{
	"a CA with Literal": true, "a CA with Relay": true, "a CA without a bundle": true, "a bundle and more": true,
	"a bundle that is none": true, "a bundle without an end": true, "a label that the chart sets": true,
	"a list that Linux does not take": true, "a management cluster, no ranges": true, "a private key in a bundle": true,
	"a private key that is not used": true, "alerts without a probe": true, "an account's of the chart's": true,
	"an annotation that the chart sets": true, "an end without a replicator": true, "base64 of something else": true,
	"damaged base64": true, "direct, and nothing denied": true, "settings of machines by nobody": true,
}

// ofTemplate matches the message of a template's fail.
var ofTemplate = regexp.MustCompile(`execution error at \([^)]*\): (.*)`)

// checkCommandRefuses: fairlead mutate refuses what the chart's templates refuse in the same words, and what its schema refuses in
// its own.
func checkCommandRefuses(t *testing.T, given values, refusal error) {
	t.Helper()
	status, out, said := command.Run(t, nil, "mutate", "-o", "policies", "--policy-values", valuesFile(t, given))
	if status == 0 || !strings.HasPrefix(said, "fairlead: ") || strings.Contains(out+said, s3cret) {
		t.Errorf("the command takes it, or shows the password: %d: %.500s", status, said)
	}
	if words := ofTemplate.FindStringSubmatch(refusal.Error()); words != nil && !strings.Contains(said, words[1]) {
		t.Errorf("the chart says: %s\nthe command: %s", words[1], said)
	}
}

// family is one that goes through a relay, changed.
func family(change values) values {
	mine := values{"labels": values{"app": []string{"mine"}}, "containers": []string{}, "through": "Relay"}
	maps.Copy(mine, change)
	return values{"tunnels": values{"families": values{"mine": mine}}}
}

// long is a list of so many characters.
func long(length int) string { return strings.Repeat("a", length) }

// What docs/reference/versions.md says that the charts refuse. Helm knows what an API server serves when it asks one; these lists
// are as it would find them.
func TestWhatAClusterLacksIsRefused(t *testing.T) {
	const (
		pod         = "v1/Pod"
		nativeKind  = "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy"
		kyvernoKind = "policies.kyverno.io/v1/MutatingPolicy"
		v1beta1     = "cluster.x-k8s.io/v1beta1/Cluster"
		v1beta2     = "cluster.x-k8s.io/v1beta2/Cluster"
		proxied     = "proxy.http=http://p:1,proxy.noProxy=a"
		wired       = "corporateProxy.create=false,nodeFiles.enabled=true,nodeFiles.engine="
	)
	kubernetes := func(version string) []string { return []string{"--kube-version", version} }
	serves := func(kinds ...string) (flags []string) {
		for _, kind := range kinds {
			flags = append(flags, "--api-versions", kind)
		}
		return flags
	}
	for name, row := range map[string]struct {
		chart, set string
		cluster    []string
		want       string
	}{
		"operator, Kubernetes 1.29": {"fairlead", proxied, kubernetes("v1.29.9"), "kubeVersion"},
		"operator, Kubernetes 1.30": {"fairlead", proxied, kubernetes("v1.30.0"), ""},
		"operator, Kubernetes 1.36": {"fairlead", proxied, kubernetes("v1.36.3-gke.100"), ""},
		"policies, Kubernetes 1.29": {"fairlead-policies", proxied, kubernetes("v1.29.9"), "kubeVersion"},
		"policies, Kubernetes 1.30": {"fairlead-policies", proxied, kubernetes("v1.30.0"), ""},
		"policies, Kubernetes 1.36": {"fairlead-policies", proxied, kubernetes("v1.36.3-gke.100"), ""},

		"no Cluster API yet":               {"fairlead", proxied, nil, ""},
		"Cluster API 1.10 and older":       {"fairlead", proxied, serves(v1beta1), "Cluster API 1.11"},
		"Cluster API 1.11 and newer":       {"fairlead", proxied, serves(v1beta1, v1beta2), ""},
		"Cluster API without the old kind": {"fairlead", proxied, serves(v1beta2), ""},
		"no Cluster API at all, yet":       {"fairlead", proxied, serves(pod), ""},

		"no API server is asked":             {"fairlead-policies", "engine=Native", nil, ""},
		"nor for Kyverno":                    {"fairlead-policies", "engine=Kyverno", nil, ""},
		"Native, Kubernetes 1.36":            {"fairlead-policies", "engine=Native", serves(pod, nativeKind), ""},
		"Native, Kubernetes 1.35":            {"fairlead-policies", "engine=Native", serves(pod, kyvernoKind), "engine is Native"},
		"Kyverno is there":                   {"fairlead-policies", "engine=Kyverno", serves(pod, kyvernoKind), ""},
		"Kyverno is not there, or too old":   {"fairlead-policies", "engine=Kyverno", serves(pod, nativeKind), "engine is Kyverno"},
		"a list that is not an API server's": {"fairlead-policies", "engine=Native", serves("monitoring.coreos.com/v1"), ""},

		"templates by Native":                  {"fairlead", wired + "Native", serves(pod, nativeKind), ""},
		"templates by Kyverno":                 {"fairlead", wired + "Kyverno", serves(pod, kyvernoKind), ""},
		"templates by Native, Kubernetes 1.35": {"fairlead", wired + "Native", serves(pod, kyvernoKind), "nodeFiles.engine is Native"},
		"templates by Kyverno, without it":     {"fairlead", wired + "Kyverno", serves(pod, nativeKind), "nodeFiles.engine is Kyverno"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := helm.Run(t.Context(), append([]string{"template", chartFolder(row.chart), "--set", row.set}, row.cluster...)...)
			wantRefused(t, err, row.want)
		})
	}
}
