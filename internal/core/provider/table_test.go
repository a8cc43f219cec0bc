package provider_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/internal/core/provider"
)

const infrastructure = "infrastructure.cluster.x-k8s.io"

func TestAUsersRowReplacesTheBuiltinOneOfItsKind(t *testing.T) {
	rows, err := provider.Parse("ConfigMap fairlead/facts", []byte(`
rows:
- group: infrastructure.cluster.x-k8s.io
  kind: AWSCluster
  metadata: [10.0.0.254]
- group: infrastructure.cluster.x-k8s.io
  kind: BoatCluster
  domains: [.harbour.example]
`))
	if err != nil {
		t.Fatal(err)
	}
	before := builtin(t)
	after, err := before.With(rows)
	if err != nil {
		t.Fatal(err)
	}
	aws, _ := after.Row(infrastructure, "AWSCluster")
	want := provider.Row{Source: "ConfigMap fairlead/facts", Group: infrastructure, Kind: "AWSCluster", Metadata: []string{"10.0.0.254"}}
	if diff := cmp.Diff(want, aws); diff != "" {
		t.Errorf("AWSCluster (-want +got):\n%s", diff)
	}
	if boat, ok := after.Row(infrastructure, "BoatCluster"); !ok || boat.Domains[0] != ".harbour.example" {
		t.Errorf("BoatCluster: %v, %v", boat, ok)
	}
	if len(after.Rows()) != len(before.Rows())+1 || after.Version() != before.Version() {
		t.Errorf("%d rows of version %s", len(after.Rows()), after.Version())
	}
	if aws, _ := before.Row(infrastructure, "AWSCluster"); len(aws.Facts) == 0 {
		t.Error("With changed the table it was called on")
	}
}

func TestTwoSourcesForOneKindAreAnErrorAndNotAGuess(t *testing.T) {
	_, err := provider.Table{}.With([]provider.Row{
		{Source: "ConfigMap a", Group: "g.example", Kind: "K"},
		{Source: "ConfigMap b", Group: "g.example", Kind: "K"},
	})
	if err == nil || !strings.Contains(err.Error(), "K.g.example has a row in ConfigMap a and another in ConfigMap b") {
		t.Errorf("error: %v", err)
	}
}

func TestTheSameKindInTwoGroupsHasTwoRows(t *testing.T) {
	table := builtin(t)
	for _, group := range []string{infrastructure, "vmware." + infrastructure} {
		if row, ok := table.Row(group, "VSphereCluster"); !ok || row.Group != group {
			t.Errorf("%s: %v, %v", group, row, ok)
		}
	}
	if _, ok := table.Row("example.com", "AWSCluster"); ok {
		t.Error("AWSCluster of another group has a row")
	}
}

func TestAVersionThatThisProgramDoesNotHaveIsAnError(t *testing.T) {
	if _, err := provider.Builtin("Facts/v2"); err == nil || !strings.Contains(err.Error(), `"Facts/v2" is unknown, this program has Facts/v1`) {
		t.Errorf("error: %v", err)
	}
	if table, err := provider.Builtin(""); err != nil || table.Version() != provider.Latest {
		t.Errorf("no version: %s, %v", table.Version(), err)
	}
}
