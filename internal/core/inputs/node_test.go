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
		Delivery: resolve.DeliveryLiteral,
	}
	if diff := cmp.Diff(want, got.Node); diff != "" {
		t.Error(diff)
	}
}

func TestARelayIsWhereTheDefaultSaysUnlessItIsElsewhere(t *testing.T) {
	for _, test := range []struct {
		spec v1alpha1.NodeSettings
		want resolve.MachineRelay
	}{
		{v1alpha1.NodeSettings{Delivery: "Relay"}, resolve.MachineRelay{Binary: "/opt/fairlead/bin/fairlead-relay"}},
		{
			v1alpha1.NodeSettings{Delivery: "Relay", Relay: v1alpha1.MachineRelay{Image: "registry.example/fairlead-relay:1@sha256:ab", Binary: "/opt/bin/relay"}},
			resolve.MachineRelay{Image: "registry.example/fairlead-relay:1@sha256:ab", Binary: "/opt/bin/relay"},
		},
		{v1alpha1.NodeSettings{Relay: v1alpha1.MachineRelay{Binary: "/opt/bin/relay"}}, resolve.MachineRelay{}}, // as if it were not there
	} {
		got, err := installationWith(test.spec)
		if err != nil || got.Node.Relay != test.want || (got.Node.Delivery == resolve.DeliveryRelay) != (test.spec.Delivery == "Relay") {
			t.Errorf("%+v: %+v (%v)", test.spec, got.Node, err)
		}
	}
}

func TestNodeSettingsThatCannotBeAreRefusedByField(t *testing.T) {
	units := func(names ...string) v1alpha1.NodeSettings { return v1alpha1.NodeSettings{Units: names} }
	relay := func(image, binary string) v1alpha1.NodeSettings {
		return v1alpha1.NodeSettings{Delivery: "Relay", Relay: v1alpha1.MachineRelay{Image: image, Binary: binary}}
	}
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
		"an unknown delivery": {v1alpha1.NodeSettings{Delivery: "relay"}, "spec.node.delivery"},
		"no image":            {relay("registry.example/relay:1; reboot", ""), "spec.node.relay.image"},
		"an image by flag":    {relay("--plain-http", ""), "spec.node.relay.image"},
		"no absolute path":    {relay("", "bin/fairlead-relay"), "spec.node.relay.binary"},
		"a path that goes up": {relay("", "/opt/../fairlead-relay"), "spec.node.relay.binary"},
		"a path and a flag":   {relay("", "/opt/fairlead-relay --x"), "spec.node.relay.binary"},
		"a specifier":         {relay("", "/opt/%n"), "spec.node.relay.binary"},
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
