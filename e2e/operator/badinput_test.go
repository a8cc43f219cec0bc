package operator_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// A bad source is named in the conditions of report and CorporateProxy, the last
// good Secrets stay, a new cluster gets none, and mending it mends everything.
func TestABadSourceIsNamedAndLeavesTheLastGoodSecrets(t *testing.T) {
	for name, bad := range map[string]struct {
		source map[string]string
		reason string
		says   []string
	}{
		"a URL without port":     {map[string]string{"http": "http://u:hunter2@proxy.example"}, "InvalidProxy", []string{"data.http", "port is missing"}},
		"an unknown scheme":      {map[string]string{"https": "ftp://u:hunter2@proxy.example:21"}, "InvalidProxy", []string{"data.https", "scheme"}},
		"a bare percent sign":    {map[string]string{"http": "http://u:hunter2%@proxy.example:3128"}, "InvalidProxy", []string{"data.http", "%25"}},
		"both URLs empty":        {map[string]string{"http": "", "https": " \n", "noProxy": "a.example"}, "InvalidProxy", []string{"both proxy URLs are empty"}},
		"no keys":                {nil, "InvalidProxy", []string{"both proxy URLs are empty"}},
		"a range":                {map[string]string{"http": proxyURL, "noProxy": "10.0.0.1-10.0.0.9"}, "InvalidProxy", []string{"data.noProxy[0]", `"10.0.0.1-10.0.0.9"`, "Range"}},
		"a prefix of 33":         {map[string]string{"http": proxyURL, "noProxy": "a.example,10.0.0.0/33"}, "InvalidProxy", []string{"data.noProxy[1]", `"10.0.0.0/33"`, "Prefix"}},
		"a space":                {map[string]string{"http": proxyURL, "noProxy": "a.example b.example"}, "InvalidProxy", []string{"data.noProxy[0]", "white space"}},
		"a scheme in front":      {map[string]string{"http": proxyURL, "noProxy": "https://a.example"}, "InvalidProxy", []string{"data.noProxy[0]", "without the scheme"}},
		"a proxy URL as noProxy": {map[string]string{"http": proxyURL, "noProxy": "http://u:hunter2@proxy.example:3128"}, "InvalidProxy", []string{"data.noProxy[0]", "user information"}},
		"1 MiB of noProxy":       {map[string]string{"http": proxyURL, "noProxy": manyEntries(1 << 20 / 20 * 9 / 10)}, "TooLarge", []string{"NO_PROXY", "131000"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			proxy := f.exampleProxy()
			f.cluster("c1")
			f.awaitNoProxy("c1", exampleMerged)

			source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: proxy.Name}}
			modify(f, source, func(s *corev1.Secret) { s.Data, s.StringData = nil, bad.source })
			report := f.report("c1", bad.reason)
			for _, part := range append(bad.says, "stay as last written") {
				if message := readyMessage(report); !strings.Contains(message, part) {
					t.Errorf("the message lacks %q: %s", part, message)
				}
			}
			if strings.Contains(fmt.Sprint(report.Status), "hunter2") {
				t.Error("the password is in the report")
			}
			f.awaitNoProxy("c1", exampleMerged)
			f.cluster("c2")
			f.report("c2", bad.reason)
			if values, systemd := f.secrets("c2"); values != nil || systemd != nil {
				t.Error("a new cluster got Secrets")
			}

			modify(f, source, func(s *corev1.Secret) { s.Data, s.StringData = nil, example() })
			f.awaitNoProxy("c2", exampleMerged)
			f.report("c1", "Applied")
		})
	}
}

func TestTenThousandEntriesAreCarriedAsLongAsTheyFit(t *testing.T) {
	f := newFixture(t)
	name := "many-" + f.namespace
	entries := make([]string, 10_000)
	for i := range entries {
		entries[i] = fmt.Sprintf("10.%d.%d.%d", i/65536, i/256%256, i%256)
	}
	f.source(name, map[string]string{"http": proxyURL, "https": proxyURL, "noProxy": strings.Join(entries, ",")})
	f.proxy(name)
	f.cluster("c1")
	report := f.report("c1", "Applied")
	if report.Status.NoProxy.Entries != 10_007 || report.Status.NoProxy.Go != "" || len(report.Status.Entries) > 64 {
		t.Errorf("the report is not bounded: %d entries, %d listed", report.Status.NoProxy.Entries, len(report.Status.Entries))
	}
}

func manyEntries(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "host-%07d.example,", i)
	}
	return b.String()
}

func TestAMissingSecretOrKeyIsNamed(t *testing.T) {
	f := newFixture(t)
	f.proxy("no-secret-"+f.namespace, func(p *v1alpha1.CorporateProxy) {
		p.Spec.Source = v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{
			HTTP: "http://proxy.example:3128", CredentialsRef: &v1alpha1.SecretReference{Name: "credentials-" + f.namespace},
		}}
	})
	f.cluster("c1")
	if message := readyMessage(f.report("c1", "SourceMissing")); !strings.Contains(message, `"credentials-`+f.namespace+`" does not exist`) || !strings.Contains(message, "spec.source.url.credentialsRef") {
		t.Error(message)
	}
	secret := f.source("credentials-"+f.namespace, map[string]string{"username": "u"})
	f.awaitReport("c1", "the key to be named", func(r *v1alpha1.ProxyReport) bool { return strings.Contains(readyMessage(r), "data.password") })
	modify(f, secret, func(s *corev1.Secret) { s.StringData = map[string]string{"password": "p%@ss/wörd"} })
	f.report("c1", "Applied")
	_, systemd := f.secrets("c1")
	if drop := string(systemd.Data["containerdProxy"]); !strings.Contains(drop, `"HTTP_PROXY=http://u:p%%25%%40ss%%2Fw%%C3%%B6rd@proxy.example:3128"`) || strings.Contains(drop, "HTTPS_PROXY") {
		t.Errorf("one URL alone, credentials encoded, is expected: %s", drop)
	}
}

func TestTwoCorporateProxiesOfOnePriorityAreATie(t *testing.T) {
	f := newFixture(t)
	first := f.exampleProxy()
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	second := f.proxy("second-"+f.namespace, func(p *v1alpha1.CorporateProxy) { p.Spec.Source.ValuesRef.Name = first.Name })
	if message := readyMessage(f.report("c1", "AmbiguousCorporateProxy")); !strings.Contains(message, first.Name+" and "+second.Name) {
		t.Error(message)
	}
	f.awaitNoProxy("c1", exampleMerged)
	modify(f, second, func(p *v1alpha1.CorporateProxy) { p.Spec.Priority = 1 })
	f.awaitReport("c1", "the second proxy", func(r *v1alpha1.ProxyReport) bool { return r.Status.ProxyName == second.Name })
}

func TestALabelDoesNotGetATenantAPasswordThatItsNamespaceMayNotHave(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy(func(p *v1alpha1.CorporateProxy) {
		p.Spec.AllowedNamespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "finance"}}
	})
	f.cluster("c1")
	if message := readyMessage(f.report("c1", "NamespaceNotAllowed")); !strings.Contains(message, f.namespace) {
		t.Error(message)
	}
	if values, systemd := f.secrets("c1"); values != nil || systemd != nil {
		t.Fatal("a Secret was written")
	}
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	modify(f, namespace, func(n *corev1.Namespace) { n.Labels["team"] = "finance" })
	f.awaitNoProxy("c1", exampleMerged)
}

func TestAnOverrideBeyondItsDelegationIsRefusedWithEveryEntryNamed(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	f.cluster("c2")
	entries := []v1alpha1.NoProxyEntry{{Value: "registry.acme.internal"}}
	for _, broad := range []string{"*", "0.0.0.0/0", "com", "github.io", "::/0"} {
		entries = append(entries, v1alpha1.NoProxyEntry{Value: broad})
	}
	f.override("c1", v1alpha1.ProxyOverrideSpec{NoProxy: entries})
	report := f.report("c1", "NotDelegated")
	if report.Status.RefusalCount != 5 || !strings.Contains(report.Status.Refusals[4], `spec.noProxy[5].value: "::/0"`) {
		t.Errorf("refusals: %q", report.Status.Refusals)
	}
	f.awaitNoProxy("c1", exampleMerged)
	f.awaitNoProxy("c2", exampleMerged) // others are untouched
}

func TestAnInvalidClusterNetworkIsNamed(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1", func(c *clusterv1.Cluster) {
		c.Spec.ClusterNetwork.Pods.CIDRBlocks = []string{"100.96.0.0/11", "100.96.0.0/40"}
	})
	if message := readyMessage(f.report("c1", "InvalidCluster")); !strings.Contains(message, "spec.clusterNetwork.pods.cidrBlocks[1]") {
		t.Error(message)
	}
}

func TestABadClusterCausesNoHotLoop(t *testing.T) {
	tier.Full(t)
	f := newOwnFixture(t)
	f.source("bad", map[string]string{"http": "nonsense"})
	f.proxy("bad")
	f.cluster("c1")
	f.report("c1", "InvalidProxy")
	mark, err := f.cp.AuditMark()
	f.must(err)
	f.source("unrelated", nil)
	// Two changes that everybody sees go by, and nothing is written for c1.
	f.cluster("c2")
	f.report("c2", "InvalidProxy")
	events, err := f.cp.AuditEvents(mark, controlplane.Writes, controlplane.ByUser(operator.User))
	f.must(err)
	for _, event := range events {
		if event.ObjectRef.Name == "c1" {
			t.Errorf("%s %s", event.Verb, event.RequestURI)
		}
	}
}

// The API server refuses what must not even be stored, without repeating it.
func TestCustomResourcesThatMayHoldAPasswordAreRefusedWithoutRepeatingIt(t *testing.T) {
	f := newFixture(t)
	name := "refused-" + f.namespace
	for what, source := range map[string]v1alpha1.ProxySource{
		"user information in url.http":  {URL: &v1alpha1.ProxyURLs{HTTP: "http://u:hunter2@proxy.example:3128"}},
		"user information in url.https": {URL: &v1alpha1.ProxyURLs{HTTPS: "http://u:hunter2@proxy.example:3128"}},
		"an overlong URL":               {URL: &v1alpha1.ProxyURLs{HTTP: "http://proxy.example:3128/hunter2" + strings.Repeat("x", 600)}},
		"both sources":                  {ValuesRef: &v1alpha1.SecretReference{Name: "x"}, URL: &v1alpha1.ProxyURLs{HTTP: "http://hunter2:3128"}},
		"no source":                     {},
	} {
		err := f.client.Create(t.Context(), &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1alpha1.CorporateProxySpec{Source: source}})
		if err == nil {
			t.Errorf("%s was accepted", what)
		} else if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the answer repeats it: %v", what, err)
		}
	}
}

func TestSelectorsWithAnUnknownOperatorAreRefused(t *testing.T) {
	f := newFixture(t)
	name := "refused-" + f.namespace
	typo := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "site", Operator: "in", Values: []string{"fra"}}}}
	for field, change := range map[string]func(*v1alpha1.CorporateProxySpec){
		"clusterSelector":   func(s *v1alpha1.CorporateProxySpec) { s.ClusterSelector = typo },
		"allowedNamespaces": func(s *v1alpha1.CorporateProxySpec) { s.AllowedNamespaces = typo },
	} {
		proxy := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: name}}
		proxy.Spec.Source.ValuesRef = &v1alpha1.SecretReference{Name: name}
		change(&proxy.Spec)
		if err := f.client.Create(t.Context(), proxy, client.DryRunAll); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "an operator of "+field) {
			t.Errorf("%s: %v", field, err)
		}
	}
}

func TestACorporateProxySaysItselfWhetherItCanBeUsed(t *testing.T) {
	f := newFixture(t)
	proxy := f.exampleProxy()
	f.cluster("c1")
	f.awaitProxy(proxy, func(p *v1alpha1.CorporateProxy) bool {
		return meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady) && p.Status.Clusters == 1 && p.Status.Entries == 3
	})
	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: proxy.Name}}
	f.must(f.client.Delete(t.Context(), source))
	f.awaitProxy(proxy, func(p *v1alpha1.CorporateProxy) bool {
		ready := meta.FindStatusCondition(p.Status.Conditions, v1alpha1.ConditionReady)
		return ready.Status == metav1.ConditionFalse && ready.Reason == "SourceMissing" && ready.ObservedGeneration == p.Generation
	})
}
