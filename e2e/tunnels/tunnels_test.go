package tunnels

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableNamesTheAgentsThatCannotBeRun(t *testing.T) {
	if err := settle(document(), withUnavailable); err != nil {
		t.Error(err)
	}
}

func TestTheTableIsInOrder(t *testing.T) {
	if os.Getenv("UPDATE") == "1" {
		if err := update(document(), func(rows []line) []line { return rows }); err != nil {
			t.Fatal(err)
		}
	}
	_, table, _, err := split(document())
	if err != nil {
		t.Fatal(err)
	}
	rows, err := parse(table)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(format(rows), table); diff != "" {
		t.Errorf("run this test with UPDATE=1 (-want +got):\n%s", diff)
	}
}

func TestThePageShowsTheTable(t *testing.T) {
	rows, err := read(document())
	if err != nil {
		t.Fatal(err)
	}
	if os.Getenv("UPDATE") == "1" {
		if err := show(rows); err != nil {
			t.Fatal(err)
		}
	}
	_, table, _, err := split(page())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(short(rows), table); diff != "" {
		t.Errorf("run this test with UPDATE=1 (-want +got):\n%s", diff)
	}
}

func TestVersionsShareARowOfThePage(t *testing.T) {
	rows := []line{
		{"frpc", "v0.44.0", "relay", "x", "", notRun, "passes: frp/TestX"},
		{"frpc", "v0.61.0", "relay", "x", "", "passes: frp/TestX", notRun},
		{"frpc", "v0.61.0", "sidecar", "x", "", "passes: frp/TestX", notRun},
		{"inlets", "any", "none", "", "all", notRun + ": it is closed source", notRun},
	}
	want := pageHeader + "| frpc v0.44.0, v0.61.0 | relay | x |  |\n| frpc v0.61.0 | sidecar | x |  |\n| inlets (not tested) | none |  | all |\n"
	if diff := cmp.Diff(want, short(rows)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestARowThatItsTestDoesNotShowAnyMoreIsStale(t *testing.T) {
	gone, other := shownRow, shownRow
	gone.Version, other.Version = "v0.60.0", "v0.59.0"
	rows := put(nil, shownRow, "passes: frp/TestX")
	mutate := shownRow
	mutate.Engine = Mutate
	rows = put(rows, mutate, "passes: frp/TestX")
	rows = put(rows, gone, "passes: frp/TestX")
	rows = put(rows, other, "passes: frp/TestXY")
	want := put(put(nil, shownRow, "passes: frp/TestX"), other, "passes: frp/TestXY")
	got := withoutStale(withUnavailable(rows), "frp/TestX", []Row{shownRow})
	if diff := cmp.Diff(withUnavailable(want), got, cmp.AllowUnexported(line{})); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// Each row is shown by a test that is there, or says why nobody runs it.
func TestEveryRowOfTheTableIsShownBySomebody(t *testing.T) {
	rows, err := read(document())
	if err != nil {
		t.Fatal(err)
	}
	by := regexp.MustCompile(`: (\w+)/(Test\w+)$`)
	for _, row := range rows {
		shown := 0
		for _, cell := range []string{row.kyverno, row.mutate} {
			if strings.HasPrefix(cell, notRun) {
				continue
			}
			shown++
			test := by.FindStringSubmatch(cell)
			if test == nil || !defines(t, test[1], test[2]) {
				t.Errorf("%s %s, %s: no test shows %q: remove the row, or run the test that does with UPDATE=1", row.agent, row.version, row.way, cell)
			}
		}
		if shown == 0 && find(withUnavailable(nil), row) == nil {
			t.Errorf("%s %s, %s: no test shows it, and notrun.go does not say why", row.agent, row.version, row.way)
		}
	}
}

func defines(t *testing.T, pkg, test string) bool {
	t.Helper()
	files, err := filepath.Glob("../" + pkg + "/*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "func "+test+"(") {
			return true
		}
	}
	return false
}

var shownRow = Row{Agent: "frpc", Version: "v0.61.0", Way: Environment, Set: "`http_proxy`", CannotWork: "kcp", Engine: Kyverno, Result: "passes"}

func TestATableThatLacksARowIsOutOfDateUntilItIsUpdated(t *testing.T) {
	t.Setenv("UPDATE", "")
	file := emptyDocument(t)
	record := func(row Row) error {
		return settle(file, func(rows []line) []line { return put(rows, row, row.Result+": frp/TestX") })
	}
	if err := record(shownRow); err == nil || !strings.Contains(err.Error(), "UPDATE=1") {
		t.Fatalf("an empty table: %v", err)
	}
	mutate, older := shownRow, shownRow
	mutate.Engine, older.Version = Mutate, "v0.9.0"
	t.Setenv("UPDATE", "1")
	for _, row := range []Row{shownRow, older, mutate} {
		if err := record(row); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("UPDATE", "")
	for _, row := range []Row{shownRow, older, mutate} {
		if err := record(row); err != nil {
			t.Errorf("after the update: %v", err)
		}
	}
	const want = "before\n" + begin + header +
		"| frpc | v0.9.0 | environment | `http_proxy` | kcp | passes: frp/TestX | not run |\n" +
		"| frpc | v0.61.0 | environment | `http_proxy` | kcp | passes: frp/TestX | passes: frp/TestX |\n" + end + "after\n"
	if content, err := os.ReadFile(file); err != nil || string(content) != want {
		t.Errorf("%v, the file is\n%s\nwant\n%s", err, content, want)
	}
	for _, change := range []func(*Row){
		func(r *Row) { r.Result = "fails" },
		func(r *Row) { r.Set = "`HTTPS_PROXY`" },
		func(r *Row) { r.CannotWork = "" },
		func(r *Row) { r.Way = Relay },
	} {
		row := shownRow
		change(&row)
		if err := record(row); err == nil {
			t.Errorf("the table says otherwise, and nobody minds: %+v", row)
		}
	}
}

func emptyDocument(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tunnels.md")
	if err := os.WriteFile(file, []byte("before\n"+begin+header+end+"after\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
