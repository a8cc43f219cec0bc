package inputs

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/probe"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

// probes reads spec.probes. What contradicts each other in every cluster of both is refused here; resolve finds the rest.
func probes(proxy *v1alpha1.CorporateProxy) (*resolve.Probes, error) {
	spec := proxy.Spec.Probes
	if spec == nil {
		return nil, nil
	}
	p := &resolve.Probes{}
	var selectors []*metav1.LabelSelector
	for _, list := range []struct {
		field   string
		targets []v1alpha1.ProbeTarget
		expect  probe.Expectation
	}{
		{"spec.probes.mustReach", spec.MustReach, probe.Reachable},
		{"spec.probes.mustNotReach", spec.MustNotReach, probe.Unreachable},
	} {
		for i, written := range list.targets {
			t, err := probeTarget(proxy, fmt.Sprintf("%s[%d]", list.field, i), written)
			if err != nil {
				return nil, err
			}
			t.Expect = list.expect
			for j, earlier := range p.Targets {
				if probe.Contradict(earlier.Target, t.Target) && overlap(selectors[j], written.ClusterSelector) {
					return nil, invalid(object(proxy), t.Field, "contradicts %s", earlier.Field)
				}
			}
			p.Targets, selectors = append(p.Targets, t), append(selectors, written.ClusterSelector)
		}
	}
	return p, nil
}

func probeTarget(proxy *v1alpha1.CorporateProxy, field string, written v1alpha1.ProbeTarget) (resolve.ProbeTarget, error) {
	t := resolve.ProbeTarget{Target: probe.Target{URL: written.URL, Route: probe.Route(written.Route)}, Field: field + ".url"}
	if _, err := probe.ParseURL(written.URL); err != nil {
		return t, invalid(object(proxy), t.Field, "%v", err)
	}
	if r := t.Route; r != "" && r != probe.Proxied && r != probe.Direct {
		return t, invalid(object(proxy), field+".route", "%q is neither %s nor %s", written.Route, probe.Proxied, probe.Direct)
	}
	if written.ClusterSelector != nil {
		compiled, err := selector(proxy, field+".clusterSelector", written.ClusterSelector)
		if err != nil {
			return t, err
		}
		t.Clusters = clusterSelector{compiled}
	}
	return t, nil
}

// overlap reports whether two selectors certainly have clusters in common.
func overlap(a, b *metav1.LabelSelector) bool {
	return a == nil || b == nil || equality.Semantic.DeepEqual(a, b)
}

type clusterSelector struct{ labels.Selector }

// Selects implements resolve.Selector.
func (s clusterSelector) Selects(cluster map[string]string) bool {
	return s.Matches(labels.Set(cluster))
}
