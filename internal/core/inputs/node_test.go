package inputs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func TestNodeSettingsAreReadAndWhatIsAlwaysThereIsNotAskedForTwice(t *testing.T) {
	got, err := installationWith(v1alpha1.NodeSettings{
		Units: []string{"containerd.service", "crio.service", "kubelet.service", "crio.service"}, Files: []string{"StaticPods"}, Base64Twins: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	want := resolve.Node{
		Units: []string{"crio.service"}, Files: []resolve.NodeFile{resolve.FileStaticPods}, StaticPods: resolve.StaticPodsStrip, Base64Twins: true,
	}
	if diff := cmp.Diff(want, got.Node); diff != "" {
		t.Error(diff)
	}
}

func TestNodeSettingsThatCannotBeAreRefusedByField(t *testing.T) {
	units := func(names ...string) v1alpha1.NodeSettings { return v1alpha1.NodeSettings{Units: names} }
	for name, test := range map[string]struct {
		node  v1alpha1.NodeSettings
		field string
	}{
		"no suffix":           {units("crio.service", "containerd"), "spec.node.units[1]"},
		"not a service":       {units("containerd.socket"), "spec.node.units[0]"},
		"a path":              {units("/etc/systemd/system/crio.service"), "spec.node.units[0]"},
		"a way up":            {units("../crio.service"), "spec.node.units[0]"},
		"a template":          {units("crio@.service"), "spec.node.units[0]"},
		"an escape":           {units(`a\x2db.service`), "spec.node.units[0]"},
		"nothing":             {units(""), "spec.node.units[0]"},
		"only the suffix":     {units(".service"), "spec.node.units[0]"},
		"two dots in front":   {units("..a.service"), "spec.node.units[0]"},
		"a line end":          {units("crio.service\n"), "spec.node.units[0]"},
		"too long":            {units(strings.Repeat("x", 200) + ".service"), "spec.node.units[0]"},
		"an unknown file":     {v1alpha1.NodeSettings{Files: []string{"RKE2", "rke2"}}, "spec.node.files[1]"},
		"an unknown way":      {v1alpha1.NodeSettings{StaticPods: "strip"}, "spec.node.staticPods"},
		"a unit of no script": {units("crio.service; rm -rf /"), "spec.node.units[0]"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := installationWith(test.node)
			var p *resolve.Problem
			if !errors.As(err, &p) || p.Reason != resolve.ReasonInvalidProxy || p.Object != "CorporateProxy default" || p.Field != test.field {
				t.Errorf("got %v", err)
			}
		})
	}
}

func installationWith(node v1alpha1.NodeSettings) (resolve.Installation, error) {
	proxy := corporateProxy(urlSource("http://proxy.example:3128", "", ""))
	proxy.Spec.Node = node
	return inputs.Installation(proxy, getter("", nil))
}
