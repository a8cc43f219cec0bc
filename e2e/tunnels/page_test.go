package tunnels_test

import (
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/repository"
)

// On the page the table is all that is between these two lines.
const (
	begin = "<!-- tunnels: written by the tests of the tunnels, UPDATE=1 -->\n"
	end   = "<!-- end -->\n"
)

const header = "| agent | way | what is set | what cannot work |\n| --- | --- | --- | --- |\n"

func TestThePagesShowTheTable(t *testing.T) {
	file, want := repository.Path("docs", "reference", "tunnels.md"), short(slices.SortedFunc(slices.Values(table), order))
	content := controlplanetest.ReadFile(t, file)
	before, rest, opened := strings.Cut(string(content), begin)
	got, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		t.Fatalf("%s has no table between %q and %q", file, begin, end)
	}
	if os.Getenv("UPDATE") == "1" {
		controlplanetest.Require(t, os.WriteFile(file, []byte(before+begin+want+end+after), 0o644))
	} else if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("%s is out of date, run this test with UPDATE=1 (-table +file):\n%s", file, diff)
	}
}

// Each row is shown, or says why nobody runs it.
func TestEveryRowOfTheTableIsShownBySomebody(t *testing.T) {
	for i, r := range table {
		name := r.agent + " " + r.version + ", " + string(r.way)
		shown := r.run != nil && r.on != "" && (r.kyverno || r.mutate)
		if shown == (r.notRun != "") {
			t.Errorf("%s: it is shown: %t, and why not: %q", name, shown, r.notRun)
		}
		if r.short && !r.kyverno {
			t.Errorf("%s: make test runs nothing of it", name)
		}
		if slices.ContainsFunc(table[:i], func(other row) bool { return order(r, other) == 0 }) {
			t.Errorf("%s: it is there twice", name)
		}
	}
}

func order(a, b row) int {
	return cmp.Or(cmp.Compare(strings.ToLower(a.agent), strings.ToLower(b.agent)), orderVersions(a.version, b.version), cmp.Compare(a.way, b.way))
}

// orderVersions sorts v0.9.0 before v0.10.0: of the first parts that differ, the shorter comes first.
func orderVersions(a, b string) int {
	return slices.CompareFunc(strings.Split(a, "."), strings.Split(b, "."), func(a, b string) int {
		return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
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
	text := header
	for _, row := range order {
		agent := row.agent + strings.TrimSuffix(versions[row], " any")
		if !row.tested {
			agent += " (not tested)"
		}
		text += "| " + strings.Join([]string{agent, string(row.way), row.set, row.cannot}, " | ") + " |\n"
	}
	return text
}
