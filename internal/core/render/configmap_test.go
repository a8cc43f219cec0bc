package render_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func TestTheConfigMapHasTheListAndNoURL(t *testing.T) {
	for name, test := range map[string]struct {
		effective resolve.Effective
		list      string
	}{
		"Proxied": {example(t), exampleList},
		"Direct":  {blank(resolve.ModeDirect), ""},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := render.ValuesConfigMap(test.effective)
			if err != nil {
				t.Fatal(err)
			}
			if got.Namespace != "org-acme" || got.Name != "mycluster-cluster-values" || !slices.Equal(slices.Collect(maps.Keys(got.Data)), []string{"values"}) {
				t.Errorf("%s/%s has %v", got.Namespace, got.Name, got.Data)
			}
			var values map[string]any
			if err := yaml.UnmarshalStrict([]byte(got.Data["values"]), &values); err != nil {
				t.Fatal(err)
			}
			want := map[string]any{"cluster": map[string]any{"proxy": map[string]any{"noProxy": test.list}}, "no_proxy": test.list}
			if diff := cmp.Diff(want, values); diff != "" {
				t.Error(diff)
			}
			if strings.Contains(got.Data["values"], "://") {
				t.Error("there is a URL in it")
			}
			labels := map[string]string{
				"fairlead.io/configmap": "cluster-values", "cluster.x-k8s.io/cluster-name": "mycluster",
				"app.kubernetes.io/managed-by": "fairlead", "clusterctl.cluster.x-k8s.io/move": "",
				"reconcile.fluxcd.io/watch": "Enabled",
			}
			if diff := cmp.Diff(labels, got.Labels); diff != "" {
				t.Error(diff)
			}
		})
	}
}
