package inputs_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/config"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func manifest(t *testing.T, name string) []byte {
	t.Helper()
	text, err := config.Files.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// schema is the part of OpenAPI that is looked at.
type schema struct {
	Properties map[string]schema
	Items      *schema
	Enum       []string
	Default    any
	Pattern    string
	MaxLength  int
}

// specSchema returns the schema of spec in the CRD.
func specSchema(t *testing.T) map[string]schema {
	t.Helper()
	var crd struct {
		Spec struct {
			Versions []struct {
				Schema struct{ OpenAPIV3Schema schema }
			}
		}
	}
	if err := yaml.Unmarshal(manifest(t, "crd/fairlead.io_corporateproxies.yaml"), &crd); err != nil {
		t.Fatal(err)
	}
	return crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
}

// unitNames are legal and illegal names, at the limits of the CRD and of a Secret.
var unitNames = []string{
	strings.Repeat("x", 192) + ".service", strings.Repeat("x", 193) + ".service", "a.service", ".service", "a..service", "_.service", "-a.service", ".a.service",
	"..service", "a.b-c_d.service", "a.service.service", "service", "a.socket", "a@.service", "a:b.service", "a b.service", "é.service", "a.service\n", "A1.service", "a/b.service", "",
}

func TestTheCRDTakesTheSameNodeSettings(t *testing.T) {
	node := specSchema(t)["node"].Properties
	units := node["units"].Items
	pattern, taken := regexp.MustCompile(units.Pattern), 0
	for _, unit := range unitNames {
		_, err := inputs.Node(v1alpha1.NodeSettings{Units: []string{unit}}, "", "")
		byCRD := pattern.MatchString(unit) && len(unit) <= units.MaxLength
		if byCRD != (err == nil) {
			t.Errorf("%q: taken by the CRD: %v, and here: %v", unit, byCRD, err)
		}
		if err == nil {
			taken++
		}
	}
	if taken < 5 || taken == len(unitNames) {
		t.Errorf("%d of %d names are taken", taken, len(unitNames))
	}
	for field, test := range map[string]struct {
		settings v1alpha1.NodeSettings
		values   []string
	}{
		"files[0]":   {v1alpha1.NodeSettings{Files: []string{"x"}}, node["files"].Items.Enum},
		"staticPods": {v1alpha1.NodeSettings{StaticPods: "x"}, node["staticPods"].Enum},
		"delivery":   {v1alpha1.NodeSettings{Delivery: "x"}, node["delivery"].Enum},
	} {
		_, err := inputs.Node(test.settings, "here", "")
		if want := fmt.Sprintf(`here: %s: "x" is none of %s`, field, test.values); err == nil || err.Error() != want {
			t.Errorf("says %v, want %s", err, want)
		}
	}
}

func TestTheCRDHasTheSameFormsGrantsAndDefaults(t *testing.T) {
	spec := specSchema(t)
	node, grants := spec["node"].Properties, spec["delegation"].Properties["noProxy"]
	installation, err := inputs.Installation(corporateProxy(urlSource("http://p:1", "", "")), nil)
	if err != nil {
		t.Fatal(err)
	}
	relayed, err := inputs.Node(v1alpha1.NodeSettings{Delivery: "Relay"}, "", "")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ byCRD, got any }{
		"form":               {spec["form"].Enum, resolve.Forms},
		"delegation.noProxy": {grants.Enum, []resolve.Grant{resolve.GrantForbidden, resolve.GrantNarrow, resolve.GrantAny}},
		"its default":        {grants.Default, installation.Delegation.NoProxy},
		"node.staticPods":    {node["staticPods"].Default, installation.Node.StaticPods},
		"node.delivery":      {node["delivery"].Default, installation.Node.Delivery},
		"node.relay.binary":  {node["relay"].Properties["binary"].Default, relayed.Relay.Binary},
	} {
		if fmt.Sprint(test.byCRD) != fmt.Sprint(test.got) {
			t.Errorf("%s: the CRD has %v, and here it is %v", name, test.byCRD, test.got)
		}
	}
}

// policyKeys returns what the admission policy takes as a key of <cluster>-systemd-proxy.
func policyKeys(t *testing.T) *regexp.Regexp {
	t.Helper()
	_, text, _ := strings.Cut(string(manifest(t, "rbac/admission_policy.yaml")), "'systemd-proxy': '")
	text, _, ok := strings.Cut(text, "}[")
	parts := regexp.MustCompile(`'\s*\+\s*'`)
	if !ok || !parts.MatchString(text) {
		t.Fatal("the policy looks otherwise")
	}
	return regexp.MustCompile(parts.ReplaceAllString(strings.TrimRight(strings.TrimSpace(text), "'"), ""))
}

func TestEveryKeyThatIsWrittenIsTakenBySecretsAndByTheAdmissionPolicy(t *testing.T) {
	settings := v1alpha1.NodeSettings{
		Files: specSchema(t)["node"].Properties["files"].Items.Enum, Base64Twins: true, Delivery: "Relay", Relay: v1alpha1.MachineRelay{Image: "registry.example/relay:1"},
	}
	for _, unit := range unitNames {
		if _, err := inputs.Node(v1alpha1.NodeSettings{Units: []string{unit}}, "", ""); err == nil {
			settings.Units = append(settings.Units, unit)
		}
	}
	e := resolve.Effective{Namespace: "org-acme", Cluster: "mycluster", Mode: resolve.ModeDirect}
	var err error
	if e.Node, err = inputs.Node(settings, "", ""); err != nil {
		t.Fatal(err)
	}
	e.Node.TrustedCA = []byte("PEM\n")
	secrets, err := render.Secrets(e)
	if err != nil {
		t.Fatal(err)
	}
	written := slices.Sorted(maps.Keys(secrets[1].Data))
	if want := 2 * (2 + len(settings.Units) + 12 + 7 + 1); len(written) != want {
		t.Errorf("%d keys, want %d: %s", len(written), want, written)
	}
	taken := policyKeys(t)
	for _, key := range written {
		if !taken.MatchString(key) || len(validation.IsConfigMapKey(key)) > 0 {
			t.Errorf("%s is refused: %s", key, validation.IsConfigMapKey(key))
		}
	}
	for _, key := range []string{"another", "value", "trustedCA.base64.base64", "xEnvironment", "Proxy", "..aProxy", "tls.key", "relay", "relayPath"} {
		if taken.MatchString(key) {
			t.Errorf("the policy takes %s", key)
		}
	}
}
