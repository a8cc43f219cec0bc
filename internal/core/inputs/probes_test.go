package inputs_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func probing(probes *v1alpha1.Probes) (resolve.Installation, error) {
	proxy := corporateProxy(urlSource("http://p:1", "", ""))
	proxy.Spec.Probes = probes
	return inputs.Installation(proxy, getter("", nil))
}

func inStage(stage string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{"stage": stage}}
}

func TestProbesAreReadWithTheClustersThatTheyAreFor(t *testing.T) {
	if i, err := probing(nil); err != nil || i.Probes != nil {
		t.Errorf("without spec.probes: %+v, %v", i.Probes, err)
	}
	if i, err := probing(&v1alpha1.Probes{}); err != nil || i.Probes == nil {
		t.Errorf("with empty spec.probes: %+v, %v", i.Probes, err)
	}
	i, err := probing(&v1alpha1.Probes{
		MustReach:    []v1alpha1.ProbeTarget{{URL: "https://a.example"}, {URL: "https://b.example", Route: "Proxied", ClusterSelector: inStage("canary")}},
		MustNotReach: []v1alpha1.ProbeTarget{{URL: "https://b.example", ClusterSelector: inStage("rest")}, {URL: "tcp://c.example:22", Route: "Direct"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, target := range i.Probes.Targets {
		text := string(target.Expect) + " " + target.URL + " " + string(target.Route)
		if target.Clusters != nil && target.Clusters.Selects(map[string]string{"stage": "canary"}) {
			text += " of canaries"
		}
		got = append(got, text)
	}
	const want = "Reachable https://a.example |Reachable https://b.example Proxied of canaries|Unreachable https://b.example |Unreachable tcp://c.example:22 Direct"
	if strings.Join(got, "|") != want {
		t.Error(strings.Join(got, "|"))
	}
}

func TestAProbeThatCannotBeNamesItsField(t *testing.T) {
	fine := v1alpha1.ProbeTarget{URL: "https://a.example"}
	wrong := &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "stage", Operator: "Near"}}}
	for name, test := range map[string]struct {
		probes v1alpha1.Probes
		want   string
	}{
		"no URL":          {v1alpha1.Probes{MustReach: []v1alpha1.ProbeTarget{fine, fine, {URL: "tcp://a.example"}}}, "spec.probes.mustReach[2].url: it has no port"},
		"user":            {v1alpha1.Probes{MustNotReach: []v1alpha1.ProbeTarget{{URL: "https://u:p@a.example"}}}, "spec.probes.mustNotReach[0].url: it has a user or a password"},
		"no route":        {v1alpha1.Probes{MustReach: []v1alpha1.ProbeTarget{{URL: "https://a.example", Route: "Scenic"}}}, `spec.probes.mustReach[0].route: "Scenic" is neither`},
		"no selector":     {v1alpha1.Probes{MustReach: []v1alpha1.ProbeTarget{{URL: "https://a.example", ClusterSelector: wrong}}}, "spec.probes.mustReach[0].clusterSelector: "},
		"contradiction":   {v1alpha1.Probes{MustReach: []v1alpha1.ProbeTarget{fine}, MustNotReach: []v1alpha1.ProbeTarget{fine}}, "spec.probes.mustNotReach[0].url: contradicts spec.probes.mustReach[0].url"},
		"of some of them": {v1alpha1.Probes{MustReach: []v1alpha1.ProbeTarget{fine}, MustNotReach: []v1alpha1.ProbeTarget{{URL: fine.URL, ClusterSelector: inStage("x")}}}, "spec.probes.mustNotReach[0].url: contradicts"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := probing(&test.probes); err == nil || !strings.Contains(err.Error(), "CorporateProxy default: "+test.want) {
				t.Error(err)
			}
		})
	}
}
