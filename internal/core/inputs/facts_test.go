package inputs_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/provider"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func configMap(name string, rows ...string) corev1.ConfigMap {
	c := corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "7"}, Data: map[string]string{}}
	for i, row := range rows {
		c.Data["k"+string(rune('a'+i))] = row
	}
	return c
}

const row = "rows:\n- {group: acme.example, kind: AcmeCluster, facts: [{name: cidr, paths: [spec.cidr], required: true}]}\n"

func TestUsersRowsAreAddedToTheBuiltInTable(t *testing.T) {
	builtin, err := provider.Builtin("")
	if err != nil {
		t.Fatal(err)
	}
	table, err := inputs.ProviderTable(builtin, []corev1.ConfigMap{configMap("empty"), configMap("acme", row)})
	if err != nil {
		t.Fatal(err)
	}
	got, ok := table.Row("acme.example", "AcmeCluster")
	if !ok || got.Source != "ConfigMap acme ka of resourceVersion 7" || len(table.Rows()) != len(builtin.Rows())+1 {
		t.Errorf("got %+v of %d rows", got, len(table.Rows()))
	}
}

func TestRowsThatCannotBeReadAreAProblemAndTheBuiltInOnesStay(t *testing.T) {
	builtin, err := provider.Builtin("")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		maps          []corev1.ConfigMap
		object, field string
		want          string
	}{
		"no YAML":               {[]corev1.ConfigMap{configMap("acme", "{")}, "ConfigMap acme", "data.ka", "ConfigMap acme ka"},
		"the second key":        {[]corev1.ConfigMap{configMap("acme", row, "rows: 1")}, "ConfigMap acme", "data.kb", "ConfigMap acme kb"},
		"an unknown field":      {[]corev1.ConfigMap{configMap("acme", "rows: [{group: a, kind: B, fact: []}]")}, "ConfigMap acme", "data.ka", "fact"},
		"one kind in two maps":  {[]corev1.ConfigMap{configMap("acme", row), configMap("other", row)}, "ConfigMaps labelled fairlead.io/provider-facts", "", "another in ConfigMap other ka"},
		"one kind under 2 keys": {[]corev1.ConfigMap{configMap("acme", row, row)}, "ConfigMaps labelled fairlead.io/provider-facts", "", "acme kb"},
	} {
		t.Run(name, func(t *testing.T) {
			table, err := inputs.ProviderTable(builtin, test.maps)
			if detail := problem(t, err, resolve.ReasonInvalidFacts, test.object, test.field); !strings.Contains(detail, test.want) {
				t.Errorf("%s, want %q", detail, test.want)
			}
			if len(table.Rows()) != len(builtin.Rows()) {
				t.Errorf("%d rows are left of %d", len(table.Rows()), len(builtin.Rows()))
			}
		})
	}
}

func TestTheFactsObjectIsTheFirstThatHasSomethingToRead(t *testing.T) {
	table, err := provider.Builtin("")
	if err != nil {
		t.Fatal(err)
	}
	const infrastructure, controlPlane = "infrastructure.cluster.x-k8s.io", "controlplane.cluster.x-k8s.io"
	ref := func(group, kind string) clusterv1.ContractVersionedObjectReference {
		return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: strings.ToLower(kind)}
	}
	for name, test := range map[string]struct {
		infrastructure, controlPlane clusterv1.ContractVersionedObjectReference
		want                         string
	}{
		"the infrastructure":                 {ref(infrastructure, "AWSCluster"), ref(controlPlane, "KubeadmControlPlane"), "awscluster"},
		"a control plane that AWS runs":      {ref(infrastructure, "AWSManagedCluster"), ref(controlPlane, "AWSManagedControlPlane"), "awsmanagedcontrolplane"},
		"a kind that has nothing to be read": {ref(infrastructure, "VSphereCluster"), ref(controlPlane, "KubeadmControlPlane"), "vspherecluster"},
		"unknown kinds":                      {ref("acme.example", "AcmeCluster"), ref("acme.example", "AcmeControlPlane"), ""},
		"no references":                      {want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{InfrastructureRef: test.infrastructure, ControlPlaneRef: test.controlPlane}}
			got, ok := inputs.FindFactsObject(c, table)
			if got.Name != test.want || ok != (test.want != "") {
				t.Errorf("%q (%t), not %q", got.Name, ok, test.want)
			}
		})
	}
}

func TestReportedFactsHoldNoMoreThanAReportCarries(t *testing.T) {
	facts := provider.Facts{Source: "s", Kind: "K", Missing: []string{"m"}, Values: []provider.Value{{Fact: "f", Entry: "1"}, {Fact: "g", Entry: "2"}, {Fact: "f", Entry: "3"}}}
	for range 30 {
		facts.Problems = append(facts.Problems, provider.Problem{Fact: "f", Path: "p", Reason: "r"})
	}
	got := inputs.ReportedFacts("Facts/v1", "n", facts)
	if len(got.Problems) != 20 || got.Problems[0] != "fact f: p r" {
		t.Errorf("%d problems, %q", len(got.Problems), got.Problems[0])
	}
	many := facts
	for range 500 {
		many.Values = append(many.Values, provider.Value{Fact: "f", Entry: "x"})
	}
	bounded := inputs.ReportedFacts("Facts/v1", "n", many)
	if n := len(bounded.Values["f"]) + len(bounded.Values["g"]); n != 200 || len(bounded.Problems) != 20 || bounded.Problems[0] != "303 of 503 values are left out of the report" {
		t.Errorf("%d values, %q", n, bounded.Problems)
	}
	got.Problems = nil
	want := &v1alpha1.ReportedFacts{
		Version: "Facts/v1", Source: "s", Kind: "K", Name: "n", Missing: []string{"m"}, Values: map[string][]string{"f": {"1", "3"}, "g": {"2"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestARowThatIsGoneTakesNoFactAway(t *testing.T) {
	cluster := &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{InfrastructureRef: clusterv1.ContractVersionedObjectReference{Kind: "AcmeCluster", Name: "c"}}}
	facts := func(kind, source string) *v1alpha1.ReportedFacts {
		return &v1alpha1.ReportedFacts{Kind: kind, Name: "c", Version: "Facts/v1", Source: source}
	}
	there := []corev1.ConfigMap{{ObjectMeta: metav1.ObjectMeta{Name: "there"}}}
	for name, test := range map[string]struct {
		kept *v1alpha1.ReportedFacts
		now  provider.Row
		gone bool
	}{
		"none":                    {nil, provider.Row{}, false},
		"built in":                {facts("AcmeCluster", "Facts/v1"), provider.Row{}, false},
		"gone":                    {facts("AcmeCluster", "ConfigMap acme rows.yaml of resourceVersion 7"), provider.Row{}, true},
		"gone, another kind's is": {facts("AcmeCluster", "ConfigMap acme rows.yaml of resourceVersion 7"), provider.Row{Kind: "Plane", Source: "ConfigMap there k"}, true},
		"gone, a built-in one is": {facts("AcmeCluster", "ConfigMap acme rows.yaml of resourceVersion 7"), provider.Row{Kind: "AcmeCluster", Source: "Facts/v1"}, true},
		"in another ConfigMap":    {facts("AcmeCluster", "ConfigMap acme rows.yaml of resourceVersion 7"), provider.Row{Kind: "AcmeCluster", Source: "ConfigMap there k"}, false},
		"there, and edited":       {facts("AcmeCluster", "ConfigMap there rows.yaml of resourceVersion 7"), provider.Row{}, false},
		"of another reference":    {facts("OtherCluster", "ConfigMap acme rows.yaml of resourceVersion 7"), provider.Row{}, false},
	} {
		if got := inputs.RowMissing(test.kept, test.now, cluster, there); got.Reason == v1alpha1.ReasonRowMissing != test.gone {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestOnlyAnObjectThatWasReadTakesAFactAway(t *testing.T) {
	row := provider.Row{Kind: "K", Source: "s", Domains: []string{".d"}, Facts: []provider.Fact{{Name: "a", Required: true}, {Name: "b"}}}
	optional := row
	optional.Facts = row.Facts[1:]
	object := func(row provider.Row, values map[string][]string) *v1alpha1.ReportedFacts {
		facts := inputs.ReportedFacts("Facts/v1", "n", provider.Extract(row, nil))
		facts.Values = values
		return facts
	}
	fresh := func(row provider.Row) *v1alpha1.ReportedFacts { return object(row, nil) }
	good := object(optional, map[string][]string{"b": {"10.0.0.0/8"}})
	otherName, otherKind := good.DeepCopy(), good.DeepCopy()
	otherName.Name, otherKind.Kind = "m", "L"
	never := fresh(optional)
	never.Problems = []string{"K: the kind K is not installed"}
	notFound := inputs.Unread{Reason: v1alpha1.ReasonObjectNotFound, Problem: "the object does not exist"}
	forbidden := inputs.Unread{Reason: v1alpha1.ReasonForbidden, Problem: "not readable"}
	notInstalled := inputs.Unread{Reason: v1alpha1.ReasonKindNotInstalled, Problem: "the kind K is not installed"}
	for name, test := range map[string]struct {
		kept    *v1alpha1.ReportedFacts
		row     provider.Row
		unread  inputs.Unread
		values  bool   // those that were kept are still there
		missing string // what is waited for
		message string
	}{
		"read, and a fact is gone":            {kept: good, row: optional},
		"gone, facts are kept":                {good, optional, notFound, true, "", "the facts that were read before stay"},
		"forbidden, facts are kept":           {good, row, forbidden, true, "", "the facts that were read before stay"},
		"not installed, facts are kept":       {good, row, notInstalled, true, "", "the facts that were read before stay"},
		"absent, nothing is kept":             {nil, optional, notFound, false, "b", "nothing new is written without them: b"},
		"absent, a required one":              {nil, row, notFound, false, "a b", "nothing new is written without them: a, b"},
		"absent, never read":                  {never, optional, notFound, false, "b", "nothing new"},
		"absent, another object was read":     {otherName, optional, notFound, false, "b", "nothing new"},
		"absent, another kind was read":       {otherKind, optional, notFound, false, "b", "nothing new"},
		"forbidden, nothing is kept":          {nil, optional, forbidden, false, "", "without its facts"},
		"not installed, nothing is kept":      {nil, optional, notInstalled, false, "", "without its facts"},
		"forbidden, one of them is required":  {nil, row, forbidden, false, "a", "nothing new is written without them: a"},
		"not installed, one is required":      {nil, row, notInstalled, false, "a", "nothing new"},
		"forbidden, another object was read":  {otherName, optional, forbidden, false, "", "without its facts"},
		"forbidden, as the last time, though": {never, optional, forbidden, false, "", "without its facts"},
	} {
		t.Run(name, func(t *testing.T) {
			facts, message := inputs.NextFacts(test.kept, fresh(test.row), test.row, test.unread)
			if values := len(facts.Values) > 0; values != test.values || strings.Join(facts.Missing, " ") != test.missing {
				t.Errorf("values: %t, missing: %v", values, facts.Missing)
			}
			if !strings.Contains(message, test.message) || (message == "") != (test.unread.Reason == "") {
				t.Error(message)
			}
			if facts.Domains[0] != ".d" {
				t.Error("what holds for every cluster of the kind is gone")
			}
			if again, _ := inputs.NextFacts(facts, fresh(test.row), test.row, test.unread); !cmp.Equal(facts, again) && test.unread.Reason != "" {
				t.Errorf("a second attempt that fails changes the facts: %s", cmp.Diff(facts, again))
			}
		})
	}
}
