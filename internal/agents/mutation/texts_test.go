package mutation_test

import (
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/policies"
)

// expressions are the variables of a policy's text.
func expressions(t *testing.T, name string) map[string]string {
	t.Helper()
	text, err := policies.Files.ReadFile(name + "/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	var policy struct {
		Spec struct {
			Variables []struct{ Name, Expression string }
		}
	}
	if err := yaml.Unmarshal(text, &policy); err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, v := range policy.Spec.Variables {
		all[v.Name] = v.Expression
	}
	return all
}

// A policy includes no other: what tunnel-sidecar has in common with the two beside it stands there word by word.
func TestTheTextsOfTunnelsSayTheSameOfWhatTheyHaveInCommon(t *testing.T) {
	sidecar := expressions(t, "tunnel-sidecar")
	own := map[string][]string{
		"tunnel-relay":       {"selected", "agentsFound", "relay"},            // it finds its targets in arguments
		"tunnel-environment": {"selected", "entries", "agentsFound", "relay"}, // it refers to the Secret, and knows the network of nodes
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
	listening := strings.Replace(expressions(t, "tunnel-relay")["relay"], "] + variables.relayed.map(t, '--target=' + t)", ", '--listen=' + variables.address, '--direct']", 1)
	if listening != sidecar["relay"] {
		t.Errorf("the container is\n%s\nwant\n%s", sidecar["relay"], listening)
	}
}
