package tunnels_test

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/repository"
)

// In both files the table is all that is between these two lines.
const (
	begin = "<!-- tunnels: written by the tests of the tunnels, UPDATE=1 -->\n"
	end   = "<!-- end -->\n"
)

const (
	header = "| agent | version | way | what is set | what cannot work | pod as Kyverno makes it | pod as `fairlead mutate` prints it |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |\n"
	pageHeader = "| agent | way | what is set | what cannot work |\n| --- | --- | --- | --- |\n"
)

func TestThePagesShowTheTable(t *testing.T) {
	for file, want := range map[string]string{
		repository.Path("e2e", "tunnels", "testdata", "table.md"): long(sorted(table)),
		repository.Path("docs", "reference", "tunnels.md"):        short(sorted(table)),
	} {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, opened := strings.Cut(string(content), begin)
		got, after, closed := strings.Cut(rest, end)
		if !opened || !closed {
			t.Fatalf("%s has no table between %q and %q", file, begin, end)
		}
		if os.Getenv("UPDATE") == "1" {
			if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if diff := gocmp.Diff(want, got); diff != "" {
			t.Errorf("%s is out of date, run this test with UPDATE=1 (-table +file):\n%s", file, diff)
		}
	}
}

// Each row is shown, or says why nobody runs it.
func TestEveryRowOfTheTableIsShownBySomebody(t *testing.T) {
	for i, r := range table {
		name := r.agent + " " + r.version + ", " + string(r.way)
		shown := r.run != nil && r.on != "" && r.kyverno+r.mutate != ""
		if shown == (r.notRun != "") {
			t.Errorf("%s: it is shown: %t, and why not: %q", name, shown, r.notRun)
		}
		if r.short && r.kyverno == "" {
			t.Errorf("%s: make test runs nothing of it", name)
		}
		if slices.ContainsFunc(table[:i], func(other row) bool { return order(r, other) == 0 }) {
			t.Errorf("%s: it is there twice", name)
		}
	}
}

func TestVersionsShareARowOfThePage(t *testing.T) {
	rows := []row{
		{agent: "frpc", version: "v0.44.0", way: target, set: "x", mutate: passes},
		{agent: "frpc", version: "v0.61.0", way: target, set: "x", kyverno: passes},
		{agent: "frpc", version: "v0.61.0", way: sidecar, set: "x", kyverno: passes},
		{agent: "inlets", version: "any", way: none, cannot: "all", notRun: "it is closed source"},
	}
	want := pageHeader + "| frpc v0.44.0, v0.61.0 | relay | x |  |\n| frpc v0.61.0 | sidecar | x |  |\n| inlets (not tested) | none |  | all |\n"
	if diff := gocmp.Diff(want, short(rows)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestVersionsAreInOrder(t *testing.T) {
	older, newer := row{agent: "frpc", version: "v0.9.0", way: target}, row{agent: "frpc", version: "v0.10.0", way: environment}
	if got := sorted([]row{newer, older}); got[0].version != older.version {
		t.Errorf("%s comes before %s", got[0].version, got[1].version)
	}
}

func sorted(rows []row) []row { return slices.SortedFunc(slices.Values(rows), order) }

func order(a, b row) int {
	return cmp.Or(cmp.Compare(strings.ToLower(a.agent), strings.ToLower(b.agent)), orderVersions(a.version, b.version), cmp.Compare(a.way, b.way))
}

// orderVersions has v0.9.0 before v0.10.0: of the first parts that differ, the shorter comes first.
func orderVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
}

// long is the table for whoever changes it: what each engine's pod has shown, and where.
func long(rows []row) string {
	text := header
	for _, row := range rows {
		cells := []string{row.agent, row.version, string(row.way), row.set, row.cannot}
		for _, shown := range []string{row.kyverno, row.mutate} {
			if shown == "" {
				cells = append(cells, "not run")
			} else {
				cells = append(cells, shown+": tunnels/"+string(row.on))
			}
		}
		if row.notRun != "" {
			cells[5] = "not run: " + row.notRun // and the other for the same reason
		}
		text += "| " + strings.Join(cells, " | ") + " |\n"
	}
	return text
}

// short is the table for readers: versions of which the same is true share a row, and of tests it has only whether there is one.
func short(rows []row) string {
	type same struct {
		agent, set, cannot string
		way                way
		tested             bool
	}
	var order []same
	versions := map[same]string{}
	for _, row := range rows {
		key := same{row.agent, row.set, row.cannot, row.way, row.notRun == ""}
		before, ok := versions[key]
		switch {
		case !ok:
			order = append(order, key)
			versions[key] = " " + row.version
		case row.version != "any":
			versions[key] = before + ", " + row.version
		}
	}
	text := pageHeader
	for _, row := range order {
		agent := row.agent + strings.TrimSuffix(versions[row], " any")
		if !row.tested {
			agent += " (not tested)"
		}
		text += "| " + strings.Join([]string{agent, string(row.way), row.set, row.cannot}, " | ") + " |\n"
	}
	return text
}
