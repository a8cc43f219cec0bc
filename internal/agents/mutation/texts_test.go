package mutation_test

import (
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/policies"
)

type variable struct{ Name, Expression string }

// variables returns the variables of a policy's text, in its order.
func variables(t *testing.T, name string) []variable {
	t.Helper()
	text, err := policies.Files.ReadFile(name + "/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Spec struct{ Variables []variable }
	}
	if err := yaml.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	return policy.Spec.Variables
}

func expressions(t *testing.T, name string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, v := range variables(t, name) {
		all[v.Name] = v.Expression
	}
	return all
}

// A policy includes no other: what tunnel-sidecar has in common with the two beside it stands there word by word.
func TestTheTextsOfTunnelsSayTheSameOfWhatTheyHaveInCommon(t *testing.T) {
	sidecar := expressions(t, "tunnel-sidecar")
	own := map[string][]string{
		"tunnel-relay":       {"families", "selected", "agentsFound", "relay"}, // it finds its targets in arguments
		"tunnel-environment": {"families", "selected", "agentsFound"},          // it refers to the Secret, and knows the network of nodes
	}
	for name, differ := range own {
		other := expressions(t, name)
		same := 0
		for variable, expression := range sidecar {
			theirs, common := other[variable]
			switch differs := strings.Contains(" "+strings.Join(differ, " ")+" ", " "+variable+" "); {
			case !common:
			case (theirs == expression) == differs:
				t.Errorf("%s: %s is\n%s\nand in tunnel-sidecar\n%s", name, variable, theirs, expression)
			default:
				same++
			}
		}
		if same < 6 {
			t.Errorf("%s has %d variables in common", name, same)
		}
	}
	listening := strings.NewReplacer(
		"] + variables.relayed.map(t, '--target=' + t)", ", '--listen=' + variables.address, '--direct'] + variables.health",
		"{'path': dyn('/healthz'), 'port': dyn(8099)}", "variables.probes[0]",
		"{'path': dyn('/readyz'), 'port': dyn(8099)}", "variables.probes[1]",
	).Replace(expressions(t, "tunnel-relay")["relay"])
	if listening != sidecar["relay"] {
		t.Errorf("the container is\n%s\nwant\n%s", sidecar["relay"], listening)
	}
}

// Before families shared policies, one that went another way had another text under the same name. The API server merges variables by their names, keeps
// those that stay where they are, and takes no expression before what it uses: all texts have them in one order.
func TestTheTextsOfTunnelsHaveVariablesInOneOrder(t *testing.T) {
	texts := []string{"tunnel-environment", "tunnel-sidecar", "tunnel-relay"}
	for _, one := range texts {
		for _, other := range texts {
			common := func(of, with string) []string {
				known := expressions(t, with)
				var names []string
				for _, v := range variables(t, of) {
					if _, ok := known[v.Name]; ok {
						names = append(names, v.Name)
					}
				}
				return names
			}
			if a, b := common(one, other), common(other, one); !slices.Equal(a, b) {
				t.Errorf("%s has %v, and %s %v", one, a, other, b)
			}
		}
	}
}
