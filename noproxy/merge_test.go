package noproxy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/noproxy"
)

// list parses a comma-separated list into items of one layer, whose fields are
// their positions.
func list(tb testing.TB, layer noproxy.Layer, text string) noproxy.List {
	tb.Helper()
	var items noproxy.List
	for i, token := range noproxy.Split(text) {
		entry, err := noproxy.Parse(token)
		if err != nil {
			tb.Fatal(err)
		}
		items = append(items, noproxy.Item{Entry: entry, Sources: []noproxy.Source{{Layer: layer, Field: fmt.Sprint(i)}}})
	}
	return items
}

func host(tb testing.TB, layer noproxy.Layer, text string) noproxy.List {
	tb.Helper()
	entry, err := noproxy.HostEntry(text)
	if err != nil {
		tb.Fatal(err)
	}
	return noproxy.List{{Entry: entry, Sources: []noproxy.Source{{Layer: layer}}}}
}

func TestMergeKeepsTheFirstOccurrenceInOrder(t *testing.T) {
	for name, test := range map[string]struct {
		lists []string
		want  string
	}{
		"nothing":                          {nil, ""},
		"empty lists":                      {[]string{"", ""}, ""},
		"one list as it stands":            {[]string{"b,a,c"}, "b,a,c"},
		"lists one after the other":        {[]string{"b,a", "d,c"}, "b,a,d,c"},
		"an entry twice in one list":       {[]string{"a,b,a"}, "a,b"},
		"an entry in two lists":            {[]string{"a,b", "c,a"}, "a,b,c"},
		"an entry in two spellings":        {[]string{"10.1.2.3/8,[::1],*.a", "10.0.0.0/8,::1/128,.A"}, "10.0.0.0/8,::1,.a"},
		"the final dot is another meaning": {[]string{"a", "a."}, "a,a."},
		"the leading dot is another one":   {[]string{"a", ".a"}, "a,.a"},
		"the port is another one":          {[]string{"a", "a:80", "a:81"}, "a,a:80,a:81"},
		"covered entries are kept":         {[]string{"10.0.0.0/8", "10.1.2.3", "*", "a.b", "b"}, "10.0.0.0/8,10.1.2.3,*,a.b,b"},
	} {
		t.Run(name, func(t *testing.T) {
			var lists []noproxy.List
			for _, text := range test.lists {
				lists = append(lists, list(t, noproxy.LayerInstallation, text))
			}
			merged := noproxy.Merge(lists...)
			if merged.String() != test.want {
				t.Errorf("merged to %q, want %q", merged, test.want)
			}
			if diff := cmp.Diff(merged, noproxy.Merge(merged), comparePrefixes); diff != "" {
				t.Errorf("a merged list changes when it is merged again:\n%s", diff)
			}
		})
	}
}

func TestMergeRemembersEveryPlaceTheDecidingOneFirst(t *testing.T) {
	merged := noproxy.Merge(
		list(t, noproxy.LayerEndpoint, "a,b"),
		list(t, noproxy.LayerInstallation, "c,a"),
		list(t, noproxy.LayerCluster, "A,c"),
	)
	want := noproxy.List{
		{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: "a"}, Sources: []noproxy.Source{
			{Layer: noproxy.LayerEndpoint, Field: "0"}, {Layer: noproxy.LayerInstallation, Field: "1"}, {Layer: noproxy.LayerCluster, Field: "0"},
		}},
		{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: "b"}, Sources: []noproxy.Source{{Layer: noproxy.LayerEndpoint, Field: "1"}}},
		{Entry: noproxy.Entry{Kind: noproxy.Domain, Name: "c"}, Sources: []noproxy.Source{
			{Layer: noproxy.LayerInstallation, Field: "0"}, {Layer: noproxy.LayerCluster, Field: "1"},
		}},
	}
	if diff := cmp.Diff(want, merged, comparePrefixes); diff != "" {
		t.Error(diff)
	}
}

func TestMergeWidensAHostToTheDomainThatIsWrittenAlike(t *testing.T) {
	endpoint := host(t, noproxy.LayerEndpoint, "api.example")
	domain := list(t, noproxy.LayerInstallation, "api.example")
	for name, test := range map[string]struct {
		lists []noproxy.List
		want  noproxy.Kind
	}{
		"a host alone":      {[]noproxy.List{endpoint}, noproxy.Host},
		"twice a host":      {[]noproxy.List{endpoint, endpoint}, noproxy.Host},
		"host, then domain": {[]noproxy.List{endpoint, domain}, noproxy.Domain},
		"domain, then host": {[]noproxy.List{domain, endpoint}, noproxy.Domain},
	} {
		t.Run(name, func(t *testing.T) {
			merged := noproxy.Merge(test.lists...)
			if len(merged) != 1 || merged[0].Entry.Kind != test.want || merged.String() != "api.example" {
				t.Errorf("merged to %+v", merged)
			}
			if len(merged[0].Sources) != len(test.lists) {
				t.Errorf("%d sources for %d places", len(merged[0].Sources), len(test.lists))
			}
		})
	}
}

// The installation's list is shared by all clusters: a merge that wrote into it
// would give one tenant another's entries.
func TestMergeLeavesItsArgumentsAlone(t *testing.T) {
	shared := list(t, noproxy.LayerInstallation, "a,b,c")[:2:3]
	shared[0].Sources = append(make([]noproxy.Source, 0, 8), shared[0].Sources...)
	before := fmt.Sprintf("%+v", shared[:3])
	merged := noproxy.Merge(shared, list(t, noproxy.LayerCluster, "a,x"))
	merged[0].Entry.Name = "changed"
	noproxy.Merge(shared, list(t, noproxy.LayerCluster, "b,y"))
	if after := fmt.Sprintf("%+v", shared[:3]); after != before {
		t.Errorf("changed from\n%s to\n%s", before, after)
	}
	if sources := shared[0].Sources[:2]; sources[1] != (noproxy.Source{}) {
		t.Errorf("wrote %+v behind the end of somebody's sources", sources[1])
	}
}

func TestWithoutRemovesEveryEntryOfThatSpelling(t *testing.T) {
	all := append(host(t, noproxy.LayerEndpoint, "a"), list(t, noproxy.LayerInstallation, "a,b,.a,a:80")...)
	rest := all.Without(noproxy.Entry{Kind: noproxy.Domain, Name: "a"})
	if rest.String() != "b,.a,a:80" {
		t.Errorf("left %q", rest)
	}
	if all.String() != "a,a,b,.a,a:80" {
		t.Errorf("changed its receiver to %q", all)
	}
	if again := rest.Without(noproxy.Entry{Kind: noproxy.All}); again.String() != rest.String() {
		t.Errorf("removed what was not there: %q", again)
	}
}

func TestAListIsWrittenWithoutBlanksAndEmptyElements(t *testing.T) {
	text := noproxy.Merge(list(t, noproxy.LayerInstallation, " a ,, b\n,\n[::1] ,")).String()
	if text != "a,b,::1" || strings.ContainsAny(text, " \n[") {
		t.Errorf("written as %q", text)
	}
	if text := noproxy.List(nil).String(); text != "" {
		t.Errorf("an empty list is written as %q", text)
	}
}
