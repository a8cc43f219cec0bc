package inputs_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

func cluster(labels map[string]string) *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "org-acme", Name: "c1", Labels: labels}}
}

func TestSelectorsDecideWhichInstallationAClusterGets(t *testing.T) {
	labelled := func(key, value string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	}
	in := func(operator metav1.LabelSelectorOperator) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "site", Operator: operator, Values: []string{"fra"}}}}
	}
	for name, test := range map[string]struct {
		selector, namespaces *metav1.LabelSelector
		reason               resolve.Reason
	}{
		"no selector at all":                              {nil, nil, ""},
		"empty selectors":                                 {&metav1.LabelSelector{}, &metav1.LabelSelector{}, ""},
		"both match":                                      {labelled("site", "fra"), labelled("org", "acme"), ""},
		"an expression":                                   {in(metav1.LabelSelectorOpIn), nil, ""},
		"an expression that is not":                       {in(metav1.LabelSelectorOpNotIn), nil, resolve.ReasonNotSelected},
		"the cluster does not match":                      {labelled("site", "lon"), labelled("org", "acme"), resolve.ReasonNotSelected},
		"the namespace does not match":                    {labelled("site", "fra"), labelled("org", "other"), resolve.ReasonNamespaceNotAllowed},
		"the cluster's labels do not allow its namespace": {nil, labelled("site", "fra"), resolve.ReasonNamespaceNotAllowed},
		"an unknown operator":                             {in("Likes"), nil, resolve.ReasonInvalidProxy},
		"an unknown operator for namespaces":              {nil, in("Likes"), resolve.ReasonInvalidProxy},
	} {
		t.Run(name, func(t *testing.T) {
			proxy := corporateProxy(urlSource("http://p:1", "", ""))
			proxy.Spec.ClusterSelector, proxy.Spec.AllowedNamespaces = test.selector, test.namespaces
			got, err := inputs.Choose([]v1alpha1.CorporateProxy{*proxy}, cluster(map[string]string{"site": "fra"}), map[string]string{"org": "acme"}, nil)
			if test.reason == "" {
				if err != nil || got.Name != "default" {
					t.Errorf("chose %q (%v)", got.Name, err)
				}
				return
			}
			field := map[resolve.Reason]string{resolve.ReasonNotSelected: "metadata.labels", resolve.ReasonNamespaceNotAllowed: "metadata.namespace"}[test.reason]
			object := "Cluster org-acme/c1"
			if test.reason == resolve.ReasonInvalidProxy {
				object, field = "CorporateProxy default", "spec.clusterSelector"
				if test.selector == nil {
					field = "spec.allowedNamespaces"
				}
			}
			problem(t, err, test.reason, object, field)
		})
	}
}

// A proxy that is broken must not keep others' clusters from theirs.
func TestOnlyTheChosenProxyIsRead(t *testing.T) {
	broken, good := corporateProxy(valuesRef()), corporateProxy(urlSource("http://p:1", "", ""))
	broken.Name, good.Name, good.Spec.Priority = "broken", "good", 1
	proxies := []v1alpha1.CorporateProxy{*broken, *good}
	got, err := inputs.Choose(proxies, cluster(nil), nil, getter("", nil))
	if err != nil || got.Name != "good" {
		t.Errorf("chose %q (%v)", got.Name, err)
	}
	proxies[0].Spec.Priority = 2
	_, err = inputs.Choose(proxies, cluster(nil), nil, getter("", nil))
	problem(t, err, resolve.ReasonSourceMissing, "CorporateProxy broken", "spec.source.valuesRef")
}

func TestBrokenSelectorsStandInNobodysWay(t *testing.T) {
	has := resolve.Has{Proxy: "good"}
	broken, good := corporateProxy(urlSource("http://p:1", "", "")), corporateProxy(urlSource("http://p:1", "", ""))
	broken.Name, broken.Spec.Priority, good.Name = "broken", 9, "good"
	broken.Spec.ClusterSelector = &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "site", Operator: "Likes"}}}
	got, err := inputs.ChooseProxy([]v1alpha1.CorporateProxy{*broken, *good}, cluster(nil), nil, has)
	if err != nil || got.Name != "good" {
		t.Errorf("chose %v (%v)", got, err)
	}
	_, err = inputs.Installation(broken, nil) // which is what its own status says
	problem(t, err, resolve.ReasonInvalidProxy, "CorporateProxy broken", "spec.clusterSelector")
}

func TestAClusterSaysWhatItSays(t *testing.T) {
	c := cluster(nil)
	c.Spec.ClusterNetwork = clusterv1.ClusterNetwork{
		ServiceDomain: "k8s.acme", Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"1"}}, Pods: clusterv1.NetworkRanges{CIDRBlocks: []string{"2"}},
	}
	c.Spec.ControlPlaneEndpoint.Host = "h"
	c.Spec.ControlPlaneRef.Kind, c.Spec.ControlPlaneRef.APIGroup = "KubeadmControlPlane", "cp"
	c.Spec.InfrastructureRef.Kind, c.Spec.InfrastructureRef.APIGroup = "VSphereCluster", "infra"
	want := resolve.Cluster{
		Namespace: "org-acme", Name: "c1", ServiceDomain: "k8s.acme", ServiceCIDRs: []string{"1"}, PodCIDRs: []string{"2"},
		EndpointHost: "h", ControlPlaneKind: "KubeadmControlPlane", ControlPlaneGroup: "cp", Infrastructure: resolve.Kind{Group: "infra", Kind: "VSphereCluster"},
	}
	if diff := cmp.Diff(want, inputs.Cluster(c)); diff != "" {
		t.Error(diff)
	}
}

func added(value string, position int) noproxy.Element {
	return noproxy.Element{Text: value, Source: noproxy.Source{Layer: noproxy.LayerCluster, Field: fmt.Sprintf("spec.noProxy[%d].value", position)}}
}

func TestAnOverrideSaysWhatItSays(t *testing.T) {
	if diff := cmp.Diff(resolve.Override{}, inputs.Override(nil)); diff != "" {
		t.Error(diff)
	}
	o := &v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{Mode: "Direct", NoProxy: []v1alpha1.NoProxyEntry{{Value: "a", Reason: "r"}, {Value: "b"}}, Exclude: []string{"c"}}}
	if diff := cmp.Diff(resolve.Override{Direct: true, NoProxy: []noproxy.Element{added("a", 0), added("b", 1)}, Exclude: []string{"c"}}, inputs.Override(o)); diff != "" {
		t.Error(diff)
	}
	for _, mode := range []string{"", "Proxied", "direct"} {
		if inputs.Override(&v1alpha1.ProxyOverride{Spec: v1alpha1.ProxyOverrideSpec{Mode: mode}}).Direct {
			t.Errorf("mode %q takes the cluster off the proxy", mode)
		}
	}
}
