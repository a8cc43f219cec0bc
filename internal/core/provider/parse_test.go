package provider_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/provider"
)

const goodRow = `
rows:
- group: infrastructure.example.com
  kind: BoatCluster
  metadata: [169.254.1.1, "FD00::1", 169.254.0.0/16, Metadata.Example]
  domains: [.boat.internal]
  facts:
  - name: berths
    paths: ["spec.berths[].cidr", "status.quays{}[]"]
    required: true
  - name: zone
    type: domain
    paths: [spec.zone]
    entry: .z.{value}.example
`

func TestAUsersRowIsReadWhole(t *testing.T) {
	rows, err := provider.Parse("f", []byte(goodRow))
	if err != nil {
		t.Fatal(err)
	}
	want := []provider.Row{{
		Source: "f", Group: "infrastructure.example.com", Kind: "BoatCluster",
		Metadata: []string{"169.254.1.1", "fd00::1", "169.254.0.0/16", "metadata.example"},
		Domains:  []string{".boat.internal"},
		Facts: []provider.Fact{
			{Name: "berths", Paths: []string{"spec.berths[].cidr", "status.quays{}[]"}, Required: true},
			{Name: "zone", Type: provider.Domain, Paths: []string{"spec.zone"}, Entry: ".z.{value}.example"},
		},
	}}
	if diff := cmp.Diff(want, rows); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestAWrongRowIsRefusedWithSourceRowFieldAndReason(t *testing.T) {
	tests := map[string]struct{ from, to, want string }{
		"an unknown field":             {"required: true", "requird: true", `ConfigMap n/f: rows[0] BoatCluster: unknown field "facts[0].requird"`},
		"a field in other capitals":    {"required: true", "Required: true", `rows[0] BoatCluster: unknown field "facts[0].Required"`},
		"an unknown field at the top":  {"rows:", "version: 1\nrows:", `ConfigMap n/f: unknown field "version"`},
		"a repeated field":             {"kind: BoatCluster", "kind: BoatCluster\n  kind: Other", `key "kind" already set in map`},
		"a value of another type":      {"required: true", `required: "yes"`, "rows[0] BoatCluster: json: cannot unmarshal string"},
		"a list at the top":            {"rows:", "", "json: cannot unmarshal array"},
		"a second document":            {"rows:", "rows: []\n---\nrows:", "ConfigMap n/f: has more than one document"},
		"a kind that is none":          {"BoatCluster", "boat-cluster", `rows[0] boat-cluster: kind: "boat-cluster" is not the name of a kind`},
		"a group that is none":         {"infrastructure.example.com", "Infra", `BoatCluster: group: "Infra" is not the name of an API group`},
		"a wrong address":              {"169.254.1.1", "169.254.1.999", `BoatCluster: metadata[0]: "169.254.1.999" is not an IP address, a CIDR or a DNS name`},
		"an address with a zone":       {`"FD00::1"`, `"fe80::1%eth0"`, `metadata[1]: "fe80::1%eth0" has an IPv6 zone`},
		"a wrong CIDR":                 {"169.254.0.0/16", "169.254.0.0/33", `metadata[2]: "169.254.0.0/33" is not a CIDR`},
		"a CIDR of everything":         {"169.254.0.0/16", "0.0.0.0/0", `metadata[2]: "0.0.0.0/0" covers every address`},
		"a domain that is none":        {".boat.internal", `"*.boat.internal"`, `domains[0]: "*.boat.internal" is not a DNS name`},
		"a path that is none":          {"spec.berths[].cidr", "spec..cidr", `facts[0].paths[0]: path "spec..cidr": segment "" is not a field name`},
		"a path with an index":         {"spec.berths[].cidr", "spec.berths[0].cidr", `segment "berths[0]" is not a field name`},
		"a path from elsewhere":        {"spec.berths[].cidr", "metadata.name", `path "metadata.name": begins with "metadata", not with spec or status`},
		"no path":                      {`["spec.berths[].cidr", "status.quays{}[]"]`, "[]", "facts[0].paths: is empty"},
		"a fact twice":                 {"name: zone", "name: berths", `facts[1].name: "berths" is taken in this row`},
		"an unknown type":              {"type: domain", "type: host", `facts[1].type: "host" is none of cidr, address, domain`},
		"an entry for a CIDR":          {"type: domain", "type: cidr", "facts[1].entry: is for the type domain alone"},
		"an entry without the value":   {".z.{value}.example", ".z.example", `facts[1].entry: ".z.example" does not have {value} once`},
		"an entry that is no domain":   {".z.{value}.example", `"*.{value}"`, `facts[1].entry: "*.{value}" is not a DNS name`},
		"a network without its prefix": {"required: true", "network: {address: a}", "facts[0].network: address and prefix must each be the name of a field"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if !strings.Contains(goodRow, test.from) {
				t.Fatalf("the row has no %q", test.from)
			}
			rows, err := provider.Parse("ConfigMap n/f", []byte(strings.Replace(goodRow, test.from, test.to, 1)))
			if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), "ConfigMap n/f: ") {
				t.Errorf("error: %v\nwant: %s", err, test.want)
			}
			if rows != nil {
				t.Errorf("rows beside the error: %v", rows)
			}
		})
	}
}

func TestAKindTwiceInOneSourceIsRefused(t *testing.T) {
	row := "- {group: g.example, kind: K}\n"
	_, err := provider.Parse("f", []byte("rows:\n"+row+row))
	if err == nil || err.Error() != "f: rows[1] K: kind: rows[0] is for K.g.example too" {
		t.Errorf("error: %v", err)
	}
}

func TestAllErrorsOfASourceAreNamedAtOnce(t *testing.T) {
	_, err := provider.Parse("f", []byte("rows:\n- {group: G, kind: K}\n- {group: g.example, kind: L, domains: ['a b']}\n"))
	if err == nil || !strings.Contains(err.Error(), "rows[0] K: group") || !strings.Contains(err.Error(), "rows[1] L: domains[0]") {
		t.Errorf("error: %v", err)
	}
}

func TestASourceWithoutRowsIsRefusedButNotOneThatSaysItHasNone(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "{}", "rows:"} {
		if _, err := provider.Parse("f", []byte(text)); err == nil || err.Error() != "f: rows: is not there" {
			t.Errorf("%q: %v", text, err)
		}
	}
	if rows, err := provider.Parse("f", []byte("rows: []")); err != nil || len(rows) != 0 {
		t.Errorf("rows %v, error %v", rows, err)
	}
}

func TestASeparatorBeforeTheOnlyDocumentIsFine(t *testing.T) {
	if _, err := provider.Parse("f", []byte("# ours\n---\n"+goodRow)); err != nil {
		t.Error(err)
	}
}
