package cluster

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
)

func (f *countedFleet) wantReady(cluster, reason, text string) {
	f.Helper()
	ready := meta.FindStatusCondition(f.reportOf(cluster).Status.Conditions, v1alpha1.ConditionReady)
	if ready == nil || ready.Reason != reason || !strings.Contains(ready.Message, text) {
		f.Errorf("%s: %+v, want %s: …%s…", cluster, ready, reason, text)
	}
}

func (f *countedFleet) changeProxy(name string, do func(*v1alpha1.CorporateProxy)) {
	f.Helper()
	proxy := &v1alpha1.CorporateProxy{}
	if err := f.objects.Get(f.Context(), client.ObjectKey{Name: name}, proxy); err != nil {
		f.Fatal(err)
	}
	do(proxy)
	proxy.Generation++
	if err := f.objects.Update(f.Context(), proxy); err != nil {
		f.Fatal(err)
	}
}

func siteFra(operator metav1.LabelSelectorOperator) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "site", Operator: operator, Values: []string{"fra"}}}}
}

// Labels, or the CorporateProxy of a site, come a moment after the Cluster.
func TestAClusterThatNothingSelectsHasTimeBeforeItIsBlank(t *testing.T) {
	f := newCountedFleet(t, 1)
	f.Grace = time.Hour
	f.changeProxy("default", func(p *v1alpha1.CorporateProxy) { p.Spec.ClusterSelector = siteFra(metav1.LabelSelectorOpIn) })
	endpoint := clusterv1.APIEndpoint{}
	f.change("c0", func(c *clusterv1.Cluster) {
		c.Spec.ControlPlaneEndpoint, endpoint = endpoint, c.Spec.ControlPlaneEndpoint
	})
	look := func() ctrl.Result {
		result, err := f.reconcile(t.Context(), ctrl.Request{NamespacedName: clusterKey("c0")})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	look()
	f.wantReady("c0", "EndpointUnknown", "withheld")
	f.change("c0", func(c *clusterv1.Cluster) { c.Spec.ControlPlaneEndpoint = endpoint })
	if result := look(); result.RequeueAfter <= 0 || result.RequeueAfter > time.Hour {
		t.Errorf("in the grace period: looked at again after %s", result.RequeueAfter)
	}
	f.wantReady("c0", "NotSelectedYet", "withheld")
	f.want("applied before it is over", f.requests["apply"], 0)

	f.Grace = 0
	look()
	f.wantReady("c0", "Applied", "blank")
	look()
	f.want("remembered, once it is blank", f.memory.by[clusterKey("c0")].unselected.IsZero(), true)

	f.change("c0", func(c *clusterv1.Cluster) {
		c.Labels, c.Spec.ControlPlaneEndpoint = map[string]string{"site": "fra"}, clusterv1.APIEndpoint{}
	})
	look()
	f.wantReady("c0", "EndpointUnknown", "both Secrets stay blank")
}

// The selector of a site's CorporateProxy has a typo, and then it is deleted. Another one selects everything.
func TestAClusterKeepsItsSecretsWhenItsCorporateProxyIsBrokenOrGone(t *testing.T) {
	fra := sourceWith("fra-password")
	fra.Name = "fra"
	f := newCountedFleet(t, 1, fra, &v1alpha1.CorporateProxy{
		ObjectMeta: metav1.ObjectMeta{Name: "fra", UID: "fra", Generation: 1},
		Spec: v1alpha1.CorporateProxySpec{
			Priority: 10, Source: v1alpha1.ProxySource{ValuesRef: &v1alpha1.SecretReference{Name: "fra"}}, ClusterSelector: siteFra(metav1.LabelSelectorOpIn),
		},
	})
	f.change("c0", func(c *clusterv1.Cluster) { c.Labels = map[string]string{"site": "fra"} })
	f.wantNetwork("its site's", "fra-password", true)

	f.changeProxy("fra", func(p *v1alpha1.CorporateProxy) { p.Spec.ClusterSelector = siteFra("in") })
	f.wantNetwork("a typo", "fra-password", true)
	f.wantReady("c0", "InvalidProxy", "CorporateProxy fra")
	f.changeProxy("fra", func(p *v1alpha1.CorporateProxy) { p.Spec.ClusterSelector = siteFra(metav1.LabelSelectorOpIn) })
	f.wantNetwork("mended", "fra-password", true)
	f.wantReady("c0", "Applied", "")

	if err := f.objects.Delete(t.Context(), &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "fra"}}); err != nil {
		t.Fatal(err)
	}
	f.wantNetwork("deleted", "fra-password", true)
	f.wantReady("c0", "CorporateProxyGone", "CorporateProxy fra")
	f.restart()
	f.wantNetwork("deleted, after a restart", "fra-password", true)
	f.changeProxy("default", func(p *v1alpha1.CorporateProxy) { p.Spec.Replaces = []string{"fra"} })
	f.wantNetwork("replaced", "fra-password", false)
	f.wantReady("c0", "Applied", "default")
}
