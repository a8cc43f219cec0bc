package operator_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

func TestACreatedClusterGetsBothSecretsFromThePublishedExample(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1")
	report := f.report("c1", "Applied")
	f.awaitNoProxy("c1", exampleMerged)

	values, _ := f.secrets("c1")
	if len(values.Data) != 1 {
		t.Errorf("the values Secret has %d keys; App platforms refuse more than one", len(values.Data))
	}
	f.awaitOwners("c1", report.UID, cluster.UID)
	if got := report.Status.NoProxy.Go; got != exampleMerged {
		t.Errorf("the report says %q", got)
	}
	if got := len(report.Status.Entries); got != 7 {
		t.Errorf("the report lists %d derived entries, not 7: %v", got, report.Status.Entries)
	}
}

func TestAChangeOfTheInstallationReachesEveryCluster(t *testing.T) {
	f := newFixture(t)
	proxy := f.exampleProxy()
	f.cluster("c1")
	f.cluster("c2", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = "api.c2.example" })
	f.awaitNoProxy("c1", exampleMerged)

	source := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: operator.Namespace, Name: proxy.Name}}
	modify(f, source, func(s *corev1.Secret) { s.Data["noProxy"] = []byte("mirror.example") })
	f.awaitNoProxy("c1", "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,mirror.example,svc,127.0.0.1,localhost")
	f.awaitNoProxy("c2", "cluster.local,100.64.0.0/13,100.96.0.0/11,api.c2.example,mirror.example,svc,127.0.0.1,localhost")

	modify(f, proxy, func(p *v1alpha1.CorporateProxy) {
		p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "registry.corp.example", Reason: "image mirror"}}
	})
	f.awaitNoProxy("c1", "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,mirror.example,registry.corp.example,svc,127.0.0.1,localhost")
}

func TestAClusterWithoutEndpointWaitsAndIsWrittenWhenItIsKnown(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	cluster := f.cluster("c1", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{} })
	f.report("c1", "EndpointUnknown")
	if values, systemd := f.secrets("c1"); values != nil || systemd != nil {
		t.Fatal("a Secret was written before the endpoint was known")
	}
	modify(f, cluster, func(c *clusterv1.Cluster) {
		c.Spec.ControlPlaneEndpoint = clusterv1.APIEndpoint{Host: exampleEndpoint, Port: 6443}
	})
	f.awaitNoProxy("c1", exampleMerged)
}

func TestAnOverrideAddsAndExcludesWhatItMay(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	f.override("c1", v1alpha1.ProxyOverrideSpec{
		NoProxy: []v1alpha1.NoProxyEntry{{Value: "registry.acme.internal"}},
		Exclude: []string{exampleEndpoint},
	})
	f.awaitNoProxy("c1", "cluster.local,100.64.0.0/13,100.96.0.0/11,172.16.0.0/16,internal.corpdomain.net,example.com,registry.acme.internal,svc,127.0.0.1,localhost")
}

func TestDirectBlanksBothSecretsAndKeepsThem(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy(func(p *v1alpha1.CorporateProxy) { p.Spec.Delegation.Direct = "Allowed" })
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)

	override := f.override("c1", v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect})
	f.awaitReport("c1", "mode Direct", func(r *v1alpha1.ProxyReport) bool { return r.Status.Mode == "Direct" })
	f.assertBlank("c1")

	f.must(f.client.Delete(t.Context(), override))
	f.awaitNoProxy("c1", exampleMerged)
}

func TestDirectThatIsNotDelegatedLeavesTheSecretsAsTheyAre(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	f.override("c1", v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect})
	f.report("c1", "NotDelegated")
	f.awaitNoProxy("c1", exampleMerged)
}

func TestTheLastGoodSecretsStayWhenTheCorporateProxyIsDeleted(t *testing.T) {
	f := newFixture(t)
	proxy := f.exampleProxy()
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	f.must(f.client.Delete(t.Context(), proxy))
	f.awaitReport("c1", "not Ready", notReady)
	f.awaitNoProxy("c1", exampleMerged)
}

func TestTheLastGoodSecretsStayWhenASelectorNoLongerMatches(t *testing.T) {
	f := newFixture(t)
	proxy := f.exampleProxy()
	f.cluster("c1")
	f.awaitNoProxy("c1", exampleMerged)
	modify(f, proxy, func(p *v1alpha1.CorporateProxy) {
		p.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"typo": "yes"}}
	})
	f.awaitReport("c1", "not Ready", notReady)
	f.awaitNoProxy("c1", exampleMerged)
}

func TestAClusterThatNothingSelectsGetsBlankSecrets(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	f.cluster("c1", func(c *clusterv1.Cluster) { c.Labels = nil })
	f.report("c1", "Applied")
	f.assertBlank("c1")
}

func TestNothingIsWrittenToAPausedCluster(t *testing.T) {
	f := newFixture(t)
	proxy := f.exampleProxy()
	f.cluster("c1")
	annotated := f.cluster("c2")
	f.awaitNoProxy("c1", exampleMerged)
	f.awaitNoProxy("c2", exampleMerged)

	paused := true
	modify(f, &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: "c1"}}, func(c *clusterv1.Cluster) { c.Spec.Paused = &paused })
	modify(f, annotated, func(c *clusterv1.Cluster) {
		metav1.SetMetaDataAnnotation(&c.ObjectMeta, clusterv1.PausedAnnotation, "")
	})
	for _, name := range []string{"c1", "c2"} {
		f.awaitReport(name, "Paused", func(r *v1alpha1.ProxyReport) bool { return hasCondition(r, v1alpha1.ConditionPaused) })
	}
	modify(f, proxy, func(p *v1alpha1.CorporateProxy) { p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "later.example"}} })
	f.cluster("c3")
	f.report("c3", "Applied") // the change has gone round
	f.awaitNoProxy("c1", exampleMerged)
	f.awaitNoProxy("c2", exampleMerged)

	modify(f, annotated, func(c *clusterv1.Cluster) { delete(c.Annotations, clusterv1.PausedAnnotation) })
	f.awaitNoProxy("c2", f.noProxy("c3"))
}

func TestAReportThatSomebodyDeletesStaysAndWithItTheSecrets(t *testing.T) {
	f := newFixture(t)
	proxy := f.exampleProxy()
	cluster := f.cluster("c1")
	report := f.report("c1", "Applied")
	f.awaitNoProxy("c1", exampleMerged)
	// With a problem: nothing could be written again.
	f.must(f.client.Delete(t.Context(), proxy))
	f.awaitReport("c1", "not Ready", notReady)
	f.must(f.client.Delete(t.Context(), report))

	f.source("again-"+f.namespace, map[string]string{"http": proxyURL, "noProxy": "again.example"})
	f.proxy("again-" + f.namespace)
	after := f.awaitReport("c1", "the change", func(r *v1alpha1.ProxyReport) bool {
		return r.Status.ProxyName == "again-"+f.namespace
	})
	if after.UID != report.UID || after.DeletionTimestamp == nil {
		t.Error("it is another report, or was not deleted")
	}
	if values, systemd := f.secrets("c1"); values == nil || systemd == nil {
		t.Error("a Secret went")
	}
	f.must(f.client.Delete(t.Context(), cluster))
	f.awaitAllGone("c1")
}

func (f *fixture) override(cluster string, spec v1alpha1.ProxyOverrideSpec) *v1alpha1.ProxyOverride {
	f.Helper()
	override := &v1alpha1.ProxyOverride{ObjectMeta: metav1.ObjectMeta{Namespace: f.namespace, Name: cluster}, Spec: spec}
	f.must(f.client.Create(f.Context(), override))
	return override
}

// assertBlank checks that both Secrets are there with all their keys, and say
// that there is no proxy.
func (f *fixture) assertBlank(cluster string) {
	f.Helper()
	values, systemd := f.secrets(cluster)
	if values == nil || systemd == nil {
		f.Fatal("a Secret is missing")
	}
	const blankValues = `cluster:
  proxy:
    http: ""
    https: ""
    noProxy: ""
http_proxy: ""
https_proxy: ""
no_proxy: ""
`
	if got := string(values.Data[render.ValuesKey]); got != blankValues {
		f.Errorf("values are not blank: %s", got)
	}
	for _, key := range []string{render.ContainerdKey, render.KubeletKey} {
		if got := string(systemd.Data[key]); got != "[Service]\n" {
			f.Errorf("%s is not blank: %s", key, got)
		}
	}
}

func notReady(r *v1alpha1.ProxyReport) bool {
	for _, c := range r.Status.Conditions {
		if c.Type == v1alpha1.ConditionReady {
			return c.Status == metav1.ConditionFalse
		}
	}
	return false
}

func hasCondition(r *v1alpha1.ProxyReport, kind string) bool {
	for _, c := range r.Status.Conditions {
		if c.Type == kind {
			return c.Status == metav1.ConditionTrue
		}
	}
	return false
}
