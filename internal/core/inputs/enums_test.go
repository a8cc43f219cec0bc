package inputs_test

import (
	"fmt"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

type property struct {
	Enum       []string
	Default    any
	Items      struct{ Enum []string }
	Properties map[string]property
}

// A manifest that only the command line has seen has not met the CRD.
func TestTheCRDHasTheSameValuesAndDefaults(t *testing.T) {
	text, err := config.Files.ReadFile("crd/fairlead.io_corporateproxies.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema property }
			}
		}
	}
	if err := yaml.Unmarshal(text, &crd); err != nil {
		t.Fatal(err)
	}
	spec := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
	node, relay := spec["node"].Properties, spec["node"].Properties["relay"].Properties
	got, err := inputs.Node(v1alpha1.NodeSettings{}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	relayed, err := inputs.Node(v1alpha1.NodeSettings{Delivery: "Relay"}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	installation, err := inputs.Installation(corporateProxy(urlSource("http://p:1", "", "")), nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		enum  []string
		want  any
		value any // by default
		made  any
	}{
		"form":               {spec["form"].Enum, resolve.Forms, spec["form"].Default, nil},
		"delegation.noProxy": {spec["delegation"].Properties["noProxy"].Enum, []resolve.Grant{resolve.GrantForbidden, resolve.GrantNarrow, resolve.GrantAny}, spec["delegation"].Properties["noProxy"].Default, installation.Delegation.NoProxy},
		"node.files":         {node["files"].Items.Enum, resolve.NodeFiles, node["files"].Default, nil},
		"node.staticPods":    {node["staticPods"].Enum, resolve.EveryStaticPods, node["staticPods"].Default, got.StaticPods},
		"node.delivery":      {node["delivery"].Enum, resolve.Deliveries, node["delivery"].Default, got.Delivery},
		"node.relay.binary":  {nil, []string{}, relay["binary"].Default, relayed.Relay.Binary},
	} {
		if fmt.Sprint(test.enum) != fmt.Sprint(test.want) || fmt.Sprint(test.value) != fmt.Sprint(test.made) {
			t.Errorf("%s: %v (%v), and the CRD has %v (%v)", name, test.want, test.made, test.enum, test.value)
		}
	}
}
