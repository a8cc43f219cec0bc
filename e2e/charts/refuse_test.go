package charts_test

import (
	"maps"
	"strings"
	"testing"

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
		"a case at the top":                 {values{"optin": true}, []string{"unknown key optin: it is not read; did you mean optIn?"}},
		"a separator at the top":            {values{"failure-policy": "Ignore"}, []string{"unknown key failure-policy", "did you mean failurePolicy?"}},
		"neighbours at the top":             {values{"xeclude": values{"names": []string{}}}, []string{"unknown key xeclude", "did you mean exclude?"}},
		"a letter too few at the top":       {values{"tunnel": values{"enabled": false}}, []string{"unknown key tunnel:", "did you mean tunnels?"}},
		"another letter at the top":         {values{"replicater": values{"replicas": 1}}, []string{"unknown key replicater", "did you mean replicator?"}},
		"a letter too many at the top":      {values{"clusters": values{"proxy": values{"http": good}}}, []string{"unknown key clusters", "did you mean cluster?"}},
		"neighbours in a short one":         {values{"relya": values{"enabled": true}}, []string{"unknown key relya", "did you mean relay?"}},
		"a list at the top":                 {values{"noProxy": s3cret}, []string{"unknown key noProxy:", "cluster.proxy.http, https and noProxy"}},
		"a list at the top, separated":      {values{"no-proxy": s3cret}, []string{"unknown key no-proxy", "cluster.proxy.http, https and noProxy"}},
		"a URL at the top":                  {values{"httpProxy": good}, []string{"unknown key httpProxy", "cluster.proxy.http, https and noProxy"}},
		"the other at the top":              {values{"httpsProxy": good}, []string{"unknown key httpsProxy", "cluster.proxy.http, https and noProxy"}},
		"proxies at the top":                {values{"proxies": []string{good}}, []string{"unknown key proxies", "cluster.proxy.http, https and noProxy"}},
		"a typo of proxy at the top":        {values{"porxy": values{"http": good}}, []string{"unknown key porxy", "cluster.proxy.http, https and noProxy"}},
		"a typo in proxy":                   {values{"proxy": values{"htp": good}}, []string{"/proxy", "htp"}},
		"a typo in cluster":                 {values{"cluster": values{"prxy": values{"http": good}}}, []string{"cluster.prxy", "cluster.proxy.http"}},
		"a typo in cluster.proxy":           {values{"cluster": values{"proxy": values{"no_proxy": "a"}}}, []string{"/cluster/proxy", "no_proxy"}},
		"another spelling of it":            {values{"cluster": values{"Proxy": values{"http": good}}}, []string{"cluster.Proxy"}},
		"a key a level too high":            {values{"cluster": values{"noProxy": s3cret}}, []string{"cluster.noProxy"}},
		"another spelling of that":          {values{"cluster": values{"no_proxy": s3cret}}, []string{"cluster.no_proxy"}},
		"a URL a level too high":            {values{"cluster": values{"http": good}}, []string{"cluster.http:"}},
		"the other a level too high":        {values{"cluster": values{"https": good}}, []string{"cluster.https:"}},
		"a URL by another name":             {values{"cluster": values{"httpProxy": good}}, []string{"cluster.httpProxy"}},
		"a URL by its variable's name":      {values{"cluster": values{"http_proxy": good}}, []string{"cluster.http_proxy"}},
		"neighbours in cluster":             {values{"cluster": values{"porxy": values{"http": good}}}, []string{"cluster.porxy"}},
		"several in cluster":                {values{"cluster": values{"proxies": []string{good}}}, []string{"cluster.proxies"}},
		"a case in cluster.proxy":           {values{"cluster": values{"proxy": values{"noproxy": s3cret}}}, []string{"/cluster/proxy", "noproxy"}},
		"cluster in another case":           {values{"Cluster": values{"proxy": values{"http": good}}}, []string{"Cluster"}},
		"alerts without a probe":            {values{"probe": values{"prometheusRule": values{"enabled": true}}}, []string{"probe.prometheusRule.enabled needs probe.enabled"}},
		"a typo in replicator.metrics":      {values{"replicator": values{"metrics": values{"serviceMonitors": values{}}}}, []string{"/replicator/metrics", "serviceMonitors"}},
		"a label that the chart sets":       {values{"replicator": values{"podLabels": values{"app.kubernetes.io/component": "x"}}}, []string{"replicator.podLabels", "app.kubernetes.io/component"}},
		"an annotation that the chart sets": {values{"relay": values{"enabled": true, "annotations": values{"helm.sh/resource-policy": "x"}}, "proxy": proxy(good, good, "a")}, []string{"relay.annotations: the chart itself sets helm.sh/resource-policy"}},
		"an account's of the chart's":       {values{"relay": values{"enabled": true, "serviceAccount": values{"annotations": values{"helm.sh/resource-policy": "x"}}}, "proxy": proxy(good, good, "a")}, []string{"relay.serviceAccount.annotations: the chart itself sets"}},
		"a typo in exclude":                 {values{"exclude": values{"name": []string{}}}, []string{"/exclude", "name"}},
		"a typo in managementCluster":       {values{"managementCluster": values{"ranges": []string{}}}, []string{"/managementCluster", "ranges"}},
		"a typo in trustedCA":               {values{"trustedCA": values{"bundel": s3cret}}, []string{"/trustedCA", "bundel"}},
		"a typo in audit":                   {values{"audit": values{"enable": true}}, []string{"/audit", "enable"}},
		"a typo in replicator":              {values{"replicator": values{"replica": 1}}, []string{"/replicator", "replica"}},
		"a typo in replicator.image":        {values{"replicator": values{"image": values{"repo": "x"}}}, []string{"/replicator/image", "repo"}},
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
		"a typo in relay.direct":            {values{"relay": values{"direct": values{"network": []string{}}}}, []string{"/relay/direct", "network"}},
		"direct, and nothing denied":        {values{"carry": "Relay", "proxy": proxy(good, good, "a"), "relay": values{"direct": values{"namespaces": []string{"shop"}}}}, []string{"relay.denied", "relay.direct"}},
		"a domain with a port":              {values{"relay": values{"direct": values{"domains": []string{"a.example:443"}}}}, []string{"/relay/direct/domains/0"}},
		"a value of failurePolicy":          {values{"failurePolicy": "ignore"}, []string{"/failurePolicy", "Fail", "Ignore"}},
		"a text for a truth":                {values{"optIn": "false"}, []string{"/optIn", "boolean"}},
		"a list for a URL":                  {values{"proxy": values{"http": []string{good}}}, []string{"/proxy/http", "string"}},
		"an object for a URL":               {values{"proxy": values{"http": values{"url": good}}}, []string{"/proxy/http", "string"}},
		"a number for a flat URL":           {values{"http_proxy": 1}, []string{"/http_proxy", "string"}},
		"numbers in noProxy":                {values{"proxy": values{"noProxy": []any{"a", 1}}}, []string{"/proxy/noProxy/1", "string"}},
		"an empty range":                    {values{"managementCluster": values{"endpointRanges": []string{""}}}, []string{"/managementCluster/endpointRanges/0"}},
		"a label without a value":           {values{"exclude": values{"labels": []string{"app"}}}, []string{"/exclude/labels/0"}},
		"no carry":                          {values{"carry": nil}, []string{"missing", "carry"}},
		"no engine and no failurePolicy":    {values{"engine": nil, "failurePolicy": nil}, []string{"missing", "engine", "failurePolicy"}},
		"no optIn":                          {values{"optIn": nil}, []string{"missing", "optIn"}},
		"no exclude":                        {values{"exclude": nil}, []string{"missing", "exclude"}},
		"no managementCluster":              {values{"managementCluster": nil}, []string{"missing", "managementCluster"}},
		"no replicator":                     {values{"replicator": nil}, []string{"missing", "replicator"}},
		"no replicator.image":               {values{"replicator": values{"image": nil}}, []string{"/replicator", "image"}},
		"no trustedCA":                      {values{"trustedCA": nil}, []string{"missing", "trustedCA"}},
		"no audit":                          {values{"audit": nil}, []string{"missing", "audit"}},
		"a pattern of namespaces":           {values{"exclude": values{"namespaces": []string{"capi-*"}}}, []string{"/exclude/namespaces/0"}},
		"a pattern of default ones":         {values{"exclude": values{"defaults": values{"namespaces": []string{"capi-*"}}}}, []string{"/exclude/defaults/namespaces/0"}},
		"two namespaces in one":             {values{"exclude": values{"namespaces": []string{"a,b"}}}, []string{"/exclude/namespaces/0"}},
		"a label without a key":             {values{"exclude": values{"labels": []string{"=v"}}}, []string{"/exclude/labels/0"}},
		"a text for ranges":                 {values{"managementCluster": values{"endpointRanges": "10.0.0.0/8"}}, []string{"/managementCluster/endpointRanges", "array"}},
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
		"a typo in tunnels.relay":           {values{"tunnels": values{"relay": values{"img": "x"}}}, []string{"/tunnels/relay", "img"}},
		"no families":                       {values{"tunnels": values{"families": nil}}, []string{"/tunnels", "families"}},
		"two ranges in one":                 {values{"managementCluster": values{"endpointRanges": []string{"10.0.0.0/8,b"}}}, []string{"/managementCluster/endpointRanges/0"}},
		"a range with a blank":              {values{"managementCluster": values{"endpointRanges": []string{"a b"}}}, []string{"/managementCluster/endpointRanges/0"}},
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
	} {
		t.Run(name, func(t *testing.T) {
			out, err := policies.Render(t.Context(), test.given)
			checkRefusal(t, out, err, test.want)
		})
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
