package operator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/operator"
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
		"a proxy URL as noProxy": {map[string]string{"http": proxyURL, "noProxy": "http://u:hunter2@proxy.example:3128"}, "InvalidProxy", []string{"data.noProxy[0]", "user information"}},
		"1 MiB of noProxy":       {map[string]string{"http": proxyURL, "noProxy": manyEntries(1 << 20 / 20 * 9 / 10)}, "TooLarge", []string{"NO_PROXY", "131000"}},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFixture(t)
			proxy := f.exampleProxy()
			f.servedCluster("c1")
			f.awaitProxy(proxy, "Ready, with one cluster and three entries", func(p *v1alpha1.CorporateProxy) bool {
				return meta.IsStatusConditionTrue(p.Status.Conditions, v1alpha1.ConditionReady) && p.Status.Clusters == 1 && p.Status.Entries == 3
			})

			source := secretNamed(operator.Namespace, proxy.Name)
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
			f.awaitProxy(proxy, "what is said of "+bad.reason, func(p *v1alpha1.CorporateProxy) bool {
				ready := conditionOf(p.Status.Conditions, v1alpha1.ConditionReady)
				if bad.reason == "TooLarge" { // it is so in a cluster alone
					return ready.Status == metav1.ConditionTrue
				}
				return ready.Status == metav1.ConditionFalse && ready.Reason == bad.reason && ready.ObservedGeneration == p.Generation
			})
			f.awaitNoProxy("c1", exampleMerged)
			f.cluster("c2")
			f.report("c2", bad.reason)
			f.wantSecrets("c2", false, "a new cluster got Secrets")

			modify(f, source, func(s *corev1.Secret) { s.Data, s.StringData = nil, example() })
			f.awaitNoProxy("c2", exampleMerged)
			f.report("c1", "Applied")
		})
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

func TestALabelDoesNotGetATenantAPasswordThatItsNamespaceMayNotHave(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy(func(p *v1alpha1.CorporateProxy) {
		p.Spec.AllowedNamespaces = &metav1.LabelSelector{MatchLabels: map[string]string{"team": "finance"}}
	})
	f.cluster("c1")
	if message := readyMessage(f.report("c1", "NamespaceNotAllowed")); !strings.Contains(message, f.namespace) {
		t.Error(message)
	}
	f.wantSecrets("c1", false, "a Secret was written")
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: f.namespace}}
	modify(f, namespace, func(n *corev1.Namespace) { n.Labels["team"] = "finance" })
	f.awaitNoProxy("c1", exampleMerged)
}

func TestAnOverrideBeyondItsDelegationIsRefusedWithEveryEntryNamed(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.servedCluster("c1")
	f.cluster("c2")
	f.override("c1", v1alpha1.ProxyOverrideSpec{NoProxy: []v1alpha1.NoProxyEntry{
		{Value: "registry.acme.internal"}, {Value: "*"}, {Value: "0.0.0.0/0"}, {Value: "com"}, {Value: "github.io"}, {Value: "::/0"},
	}})
	report := f.report("c1", "NotDelegated")
	if report.Status.RefusalCount != 5 || !strings.Contains(report.Status.Refusals[4], `spec.noProxy[5].value: "::/0"`) {
		t.Errorf("refusals: %q", report.Status.Refusals)
	}
	f.awaitNoProxy("c1", exampleMerged)
	f.awaitNoProxy("c2", exampleMerged) // others are untouched
	f.override("c2", v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect})
	f.report("c2", "NotDelegated")
	f.awaitNoProxy("c2", exampleMerged)
}

// What must not even be stored is refused, without being repeated.
func TestTheAPIServerRefusesWhatMustNotBeStored(t *testing.T) {
	f := newFixture(t)
	proxy := func(change func(*v1alpha1.CorporateProxySpec)) client.Object {
		p := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "refused-" + f.namespace}}
		p.Spec.Source.ValuesRef = &v1alpha1.SecretReference{Name: "x"}
		change(&p.Spec)
		return p
	}
	from := func(source v1alpha1.ProxySource) client.Object {
		return proxy(func(s *v1alpha1.CorporateProxySpec) { s.Source = source })
	}
	override := func(spec v1alpha1.ProxyOverrideSpec) client.Object {
		return &v1alpha1.ProxyOverride{ObjectMeta: f.named("c1"), Spec: spec}
	}
	typo := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "site", Operator: "in", Values: []string{"fra"}}}}
	until, zero := &metav1.Time{Time: time.Now().Add(time.Hour)}, intstr.FromInt32(0)
	const owner = "needs owner and reason"
	for name, test := range map[string]struct {
		object client.Object
		says   string
	}{
		"user information in url.http":  {from(v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTP: "http://u:hunter2@proxy.example:3128"}}), "must not contain user information"},
		"user information in url.https": {from(v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTPS: "http://u:hunter2@proxy.example:3128"}}), "must not contain user information"},
		"an overlong URL":               {from(v1alpha1.ProxySource{URL: &v1alpha1.ProxyURLs{HTTP: "http://proxy.example:3128/hunter2" + strings.Repeat("x", 600)}}), "spec.source.url.http: Too long"},
		"both sources":                  {from(v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "x"}, URL: &v1alpha1.ProxyURLs{HTTP: "http://hunter2:3128"}}), "exactly one of valuesRef and url"},
		"no source":                     {from(v1alpha1.ProxySource{}), "exactly one of valuesRef and url"},
		"an operator of clusters":       {proxy(func(s *v1alpha1.CorporateProxySpec) { s.ClusterSelector = typo }), "an operator of clusterSelector"},
		"an operator of namespaces":     {proxy(func(s *v1alpha1.CorporateProxySpec) { s.AllowedNamespaces = typo }), "an operator of allowedNamespaces"},
		"a unit that is a path":         {proxy(func(s *v1alpha1.CorporateProxySpec) { s.Node.Units = []string{"../crio.service"} }), "spec.node.units[0]"},
		"a wave of no cluster": {proxy(func(s *v1alpha1.CorporateProxySpec) {
			s.Rollout = &v1alpha1.Rollout{Waves: []v1alpha1.Wave{{Name: "rest", MaxParallel: &zero}}}
		}), "maxParallel is a number of clusters from 1"},
		"an end alone":           {override(v1alpha1.ProxyOverrideSpec{Until: until}), owner},
		"an end with an owner":   {override(v1alpha1.ProxyOverrideSpec{Until: until, Owner: "lead"}), owner},
		"an end with a reason":   {override(v1alpha1.ProxyOverrideSpec{Until: until, Reason: "tries"}), owner},
		"an end without anybody": {override(v1alpha1.ProxyOverrideSpec{NoProxy: []v1alpha1.NoProxyEntry{{Value: "a.example", Until: until, Reason: "moves"}}}), owner},
	} {
		err := f.client.Create(t.Context(), test.object, client.DryRunAll)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s is let through, for another reason refused, or repeated: %v", name, err)
		}
	}
	f.must(f.client.Create(t.Context(), override(v1alpha1.ProxyOverrideSpec{Until: until, Owner: "lead", Reason: "tries"}), client.DryRunAll))
}
