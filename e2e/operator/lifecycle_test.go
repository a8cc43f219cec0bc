package operator_test

import (
	"context"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

func TestACreatedClusterGetsBothSecretsFromThePublishedExample(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy()
	cluster := f.servedCluster("c1")
	report := f.report("c1", "Applied")

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
	controlplanetest.Await(t, "the counts", func(ctx context.Context) (bool, error) {
		page, err := f.operator.Metrics(ctx)
		return controlplanetest.Holds(process.Sum(page, `fairlead_reports{mode="Proxied",reason="Applied"}`) >= 1 &&
			process.Sum(page, `fairlead_secret_writes_total{result="written",role="cluster-values"}`) >= 1 &&
			process.Sum(page, `fairlead_secret_writes_total{result="written",role="systemd-proxy"}`) >= 1, "%s (%v)", page, err)
	})
}

func TestAChangeOfTheInstallationReachesEveryCluster(t *testing.T) {
	f := newFixture(t)
	proxy := f.exampleProxy()
	f.cluster("c1")
	f.cluster("c2", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint.Host = "api.c2.example" })
	f.awaitNoProxy("c1", exampleMerged)

	f.setNoProxy(proxy, "mirror.example")
	f.awaitNoProxy("c1", "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,mirror.example,svc,127.0.0.1,localhost")
	f.awaitNoProxy("c2", "cluster.local,100.64.0.0/13,100.96.0.0/11,api.c2.example,mirror.example,svc,127.0.0.1,localhost")

	modify(f, proxy, func(p *v1alpha1.CorporateProxy) {
		p.Spec.NoProxy = []v1alpha1.NoProxyEntry{{Value: "registry.corp.example", Reason: "image mirror"}}
	})
	f.awaitNoProxy("c1", "cluster.local,100.64.0.0/13,100.96.0.0/11,178.170.32.59,mirror.example,registry.corp.example,svc,127.0.0.1,localhost")
}

func TestDirectBlanksBothSecretsAndKeepsThem(t *testing.T) {
	f := newFixture(t)
	f.exampleProxy(func(p *v1alpha1.CorporateProxy) { p.Spec.Delegation.Direct = "Allowed" })
	f.servedCluster("c1")

	override := f.override("c1", v1alpha1.ProxyOverrideSpec{Mode: v1alpha1.ModeDirect})
	f.awaitReport("c1", "mode Direct", func(r *v1alpha1.ProxyReport) bool { return r.Status.Mode == "Direct" })
	f.assertBlank("c1")

	f.must(f.client.Delete(t.Context(), override))
	f.awaitNoProxy("c1", exampleMerged)
}

// A typo in the selector, a deleted CorporateProxy, and a report that somebody deletes while nothing can be written: the Secrets stay.
func TestTheLastGoodSecretsStay(t *testing.T) {
	f := newFixture(t)
	proxy := f.exampleProxy()
	cluster := f.servedCluster("c1")
	modify(f, proxy, func(p *v1alpha1.CorporateProxy) {
		p.Spec.ClusterSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"typo": "yes"}}
	})
	f.report("c1", "NotSelected")
	f.awaitNoProxy("c1", exampleMerged)
	f.must(f.client.Delete(t.Context(), proxy))
	report := f.report("c1", "NoCorporateProxy")
	f.awaitNoProxy("c1", exampleMerged)

	f.must(f.client.Delete(t.Context(), report))
	f.source("again-"+f.namespace, map[string]string{"http": proxyURL, "noProxy": "again.example"})
	f.proxy("again-" + f.namespace)
	after := f.awaitReport("c1", "the change", func(r *v1alpha1.ProxyReport) bool { return r.Status.ProxyName == "again-"+f.namespace })
	if after.UID != report.UID || after.DeletionTimestamp == nil {
		t.Error("it is another report, or was not deleted")
	}
	f.wantSecrets("c1", true, "a Secret went")
	f.must(f.client.Delete(t.Context(), cluster))
	f.awaitAllGone("c1")
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
	paused, annotated := f.servedCluster("c1"), f.servedCluster("c2")

	modify(f, paused, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	modify(f, annotated, pausedByAnnotation)
	for _, name := range []string{"c1", "c2"} {
		f.awaitReport(name, "Paused", func(r *v1alpha1.ProxyReport) bool {
			return meta.IsStatusConditionTrue(r.Status.Conditions, v1alpha1.ConditionPaused)
		})
	}
	f.addEntry(proxy, "later.example")
	f.cluster("c3")
	f.report("c3", "Applied") // the change has gone round
	f.awaitNoProxy("c1", exampleMerged)
	f.awaitNoProxy("c2", exampleMerged)

	modify(f, annotated, notPausedByAnnotation)
	f.awaitNoProxy("c2", f.noProxy("c3"))
}

func pausedByAnnotation(c *clusterv1.Cluster) {
	metav1.SetMetaDataAnnotation(&c.ObjectMeta, clusterv1.PausedAnnotation, "")
}

func notPausedByAnnotation(c *clusterv1.Cluster) { delete(c.Annotations, clusterv1.PausedAnnotation) }

func (f *fixture) override(cluster string, spec v1alpha1.ProxyOverrideSpec) *v1alpha1.ProxyOverride {
	f.Helper()
	override := &v1alpha1.ProxyOverride{ObjectMeta: f.named(cluster), Spec: spec}
	f.must(f.client.Create(f.Context(), override))
	return override
}

// assertBlank checks that both Secrets are there with all their keys, and say
// that there is no proxy.
func (f *fixture) assertBlank(cluster string) {
	f.Helper()
	f.wantSecrets(cluster, true, "a Secret is missing")
	values, systemd := f.secrets(cluster)
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
