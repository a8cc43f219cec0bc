package charts_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/internal/core/delivery"
)

// "fairlead-operator deliver" has Cluster API write the same source as the chart writes with the same
// values.
func TestTheDeliveredSourceIsThatOfTheChart(t *testing.T) {
	const account = "http://u:p%24w@192.0.2.1:3128"
	for name, cluster := range map[string]values{
		"a proxy":               {"proxy": values{"http": account, "https": account, "noProxy": "a.example,b.example"}},
		"https alone":           {"proxy": values{"http": "", "https": account, "noProxy": "a"}},
		"credentials of before": {"proxy": values{"http": account, "https": account, "noProxy": "a", "previous": values{"http": "http://u:old@192.0.2.1:3128", "https": ""}}},
		"direct":                {"proxy": values{"http": "", "https": "", "noProxy": ""}},
		"probed": {"proxy": values{"http": account, "https": account, "noProxy": "a"}, "probes": values{
			"targets": []any{}, "revision": "corp/7/0123", "credentials": values{"current": "new", "previous": "old"},
		}},
		"probed without credentials": {"proxy": values{"http": "http://192.0.2.1:3128", "https": "", "noProxy": "a"}, "probes": values{
			"targets": []any{values{"url": "https://a.example", "expect": "Reachable"}}, "revision": "corp/7/0123",
		}},
		"a revision alone": {"proxy": values{"http": account, "https": "", "noProxy": "a"}, "probes": values{"targets": []any{}, "revision": "corp/7/0123"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := yaml.Marshal(values{"cluster": cluster})
			controlplanetest.Require(t, err)
			document, err := delivery.SourceOf(text, "other")
			controlplanetest.Require(t, err)
			var got corev1.Secret
			controlplanetest.Require(t, yaml.UnmarshalStrict(document, &got))
			objects := template(t, "fairlead-policies", values{"cluster": cluster, "carry": "Relay", "engine": "Native"})
			want := as[corev1.Secret](t, objects, "Secret/"+source)
			if diff := cmp.Diff(want.Data, got.Data); diff != "" || got.Name != want.Name || got.Namespace != want.Namespace || got.Type != want.Type {
				t.Errorf("%s/%s (-chart +delivered):\n%s", got.Namespace, got.Name, diff)
			}
			for key, value := range got.Labels {
				if want.Labels[key] != value {
					t.Errorf("label %s is %q in the chart", key, want.Labels[key])
				}
			}
			if diff := cmp.Diff(want.Annotations, got.Annotations); diff != "" {
				t.Errorf("annotations (-chart +delivered):\n%s", diff)
			}
		})
	}
}
