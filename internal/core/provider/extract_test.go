package provider_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/provider"
)

func boatRow() provider.Row {
	return provider.Row{
		Source: "f", Group: "g.example", Kind: "BoatCluster",
		Facts: []provider.Fact{
			{Name: "networks", Paths: []string{"status.networks[].cidr", "spec.networks[].cidr"}, Required: true},
			{Name: "gateway", Paths: []string{"spec.gateway"}, Type: provider.Address},
			{Name: "zone", Paths: []string{"spec.zones{}"}, Type: provider.Domain},
			{Name: "pool", Paths: []string{"spec.pool"}, Network: &provider.Network{Address: "first", Prefix: "bits"}},
		},
	}
}

func TestExtract(t *testing.T) {
	tests := map[string]struct {
		object   string
		values   []string
		missing  []string
		problems []string
	}{
		"an empty object has nothing but missing facts": {
			object:  `{}`,
			missing: []string{"networks"},
		},
		"null and empty strings are absence": {
			object:  `{spec: {networks: [{cidr: ""}, null, {}], gateway: null, zones: {a: ""}}, status: null}`,
			missing: []string{"networks"},
		},
		"the first alternative that yields an entry is taken, whole": {
			object: `{status: {networks: [{cidr: 10.1.0.0/16}, {cidr: 10.2.0.0/16}]}, spec: {networks: [{cidr: 10.3.0.0/16}]}}`,
			values: []string{"networks status.networks[0].cidr 10.1.0.0/16", "networks status.networks[1].cidr 10.2.0.0/16"},
		},
		"a later alternative is taken when the earlier ones are absent": {
			object: `{status: {networks: []}, spec: {networks: [{cidr: 10.3.0.0/16}]}}`,
			values: []string{"networks spec.networks[0].cidr 10.3.0.0/16"},
		},
		"the bits of a host are cleared": {
			object: `{spec: {networks: [{cidr: 10.3.4.5/16}]}}`,
			values: []string{"networks spec.networks[0].cidr 10.3.0.0/16"},
		},
		"an entry is given once for a fact": {
			object: `{spec: {networks: [{cidr: 10.3.0.0/16}, {cidr: 10.3.4.5/16}]}}`,
			values: []string{"networks spec.networks[0].cidr 10.3.0.0/16"},
		},
		"a map is read in the order of its keys": {
			object:  `{spec: {zones: {z: One.example, a: two.example}}}`,
			values:  []string{`zone spec.zones["a"] two.example`, `zone spec.zones["z"] one.example`},
			missing: []string{"networks"},
		},
		"a network in two fields is joined": {
			object:  `{spec: {pool: {first: 10.9.8.7, bits: 20}}}`,
			values:  []string{"pool spec.pool 10.9.0.0/20"},
			missing: []string{"networks"},
		},
		"a network with a part missing or wrong is a problem": {
			object:   `{spec: {pool: {first: 10.9.8.7, bits: 20.5}}}`,
			missing:  []string{"networks"},
			problems: []string{"fact pool: spec.pool has no whole number in field bits"},
		},
		"a bad element does not hide the good ones": {
			object:   `{spec: {networks: [{cidr: 10.0.0.0}, {cidr: 10.3.0.0/16}]}}`,
			values:   []string{"networks spec.networks[1].cidr 10.3.0.0/16"},
			problems: []string{"fact networks: spec.networks[0].cidr is not a CIDR"},
		},
		"a required fact with nothing usable is missing and a problem": {
			object:   `{spec: {networks: [{cidr: 0.0.0.0/0}]}}`,
			missing:  []string{"networks"},
			problems: []string{"fact networks: spec.networks[0].cidr covers every address"},
		},
		"every wrong shape is a problem at its place": {
			object:  `{spec: {networks: {cidr: 10.0.0.0/8}, gateway: 7, zones: [a.example], pool: true}, status: [1]}`,
			missing: []string{"networks"},
			problems: []string{
				"fact networks: status is a list, not an object", "fact networks: spec.networks is an object, not a list",
				"fact gateway: spec.gateway is a number, not a string", "fact zone: spec.zones is a list, not a map",
				"fact pool: spec.pool is a boolean, not an object",
			},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := provider.Extract(boatRow(), parseObject(t, test.object))
			var problems []string
			for _, problem := range facts.Problems {
				problems = append(problems, problem.String())
			}
			if diff := cmp.Diff(test.values, lines(facts.Values)); diff != "" {
				t.Errorf("values (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.missing, facts.Missing); diff != "" {
				t.Errorf("missing (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.problems, problems); diff != "" {
				t.Errorf("problems (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhatIsNoUsableLiteralIsAProblem(t *testing.T) {
	tests := map[string]struct{ gateway, zone, reason string }{
		"an address of IPv4 in IPv6":       {"::ffff:10.0.0.1", "", "is an IPv4 address written as IPv6"},
		"the unspecified address":          {"::", "", "is the unspecified address"},
		"an address with a port":           {"10.0.0.1:80", "", "is not an IP address"},
		"a wildcard":                       {"", "*.example", "is not a DNS name"},
		"two names":                        {"", "a.example,b.example", "is not a DNS name"},
		"an address where a name is meant": {"", "10.0.0.1", "is not a DNS name"},
		"a name of only dots":              {"", "..", "is not a DNS name"},
		"a label of 64 letters":            {"", strings.Repeat("a", 64) + ".example", "is not a DNS name"},
		"a name of 255 letters":            {"", strings.Repeat("a.", 127) + "a", "is not a DNS name"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			facts := provider.Extract(boatRow(), map[string]any{"spec": map[string]any{
				"gateway": test.gateway, "zones": map[string]any{"a": test.zone},
			}})
			if len(facts.Values) != 0 || len(facts.Problems) != 1 || facts.Problems[0].Reason != test.reason {
				t.Errorf("values %v, problems %v", facts.Values, facts.Problems)
			}
		})
	}
	row := provider.Row{Facts: []provider.Fact{{Name: "a", Paths: []string{"spec.a"}}}}
	facts := provider.Extract(row, parseObject(t, `{spec: {a: "::ffff:10.0.0.0/104"}}`))
	if len(facts.Values) != 0 || len(facts.Problems) != 1 {
		t.Errorf("IPv4 CIDR in IPv6: values %v, problems %v", facts.Values, facts.Problems)
	}
}

func TestAProblemNeverShowsTheValue(t *testing.T) {
	object := parseObject(t, `{spec: {networks: [{cidr: hunter2}], gateway: hunter2, zones: {a: "hunter2!"}, pool: {first: hunter2, bits: 8}}}`)
	facts := provider.Extract(boatRow(), object)
	if len(facts.Problems) != 4 {
		t.Errorf("problems: %v", facts.Problems)
	}
	for _, problem := range facts.Problems {
		if strings.Contains(problem.String(), "hunter2") {
			t.Errorf("shows the value: %s", problem)
		}
	}
}

func TestAnExternallyManagedObjectIsNotWaitedFor(t *testing.T) {
	facts := provider.Extract(boatRow(), parseObject(t, `{metadata: {annotations: {cluster.x-k8s.io/managed-by: ""}}, spec: {}}`))
	if len(facts.Missing) != 0 || len(facts.Problems) != 1 {
		t.Errorf("missing %v, problems %v", facts.Missing, facts.Problems)
	}
}

func TestTheNumbersOfEveryDecoderAreRead(t *testing.T) {
	for _, bits := range []any{int64(20), float64(20), 20} {
		object := map[string]any{"spec": map[string]any{"pool": map[string]any{"first": "10.9.8.7", "bits": bits}}}
		if got := provider.Extract(boatRow(), object).Values; len(got) != 1 || got[0].Fact != "pool" || got[0].Entry != "10.9.0.0/20" {
			t.Errorf("%T: %v", bits, got)
		}
	}
}

func TestARowThatParseHasNotSeenGivesProblemsAndNoPanic(t *testing.T) {
	row := provider.Row{Facts: []provider.Fact{{Name: "a", Paths: []string{"", "spec."}}, {Name: "b", Type: "odd", Paths: []string{"spec.x"}}}}
	facts := provider.Extract(row, parseObject(t, `{spec: {x: text}}`))
	if len(facts.Problems) != 3 {
		t.Errorf("problems: %v", facts.Problems)
	}
}

func TestExtractLeavesTheRowToItsOwner(t *testing.T) {
	row, _ := builtin(t).Row(infrastructure, "AWSCluster")
	provider.Extract(row, nil).Metadata[0] = "changed"
	if again, _ := builtin(t).Row(infrastructure, "AWSCluster"); again.Metadata[0] != "169.254.169.254" {
		t.Error("the table's row was changed through the facts")
	}
}
