// Package tunnels keeps a table in its testdata: what the tests of tunnels have shown. Each test records what it has just
// seen. It fails if the table says something else; with UPDATE=1 it is the table that changes, and docs/reference/tunnels.md,
// which has the same in short.
package tunnels

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/repository"
	"github.com/fairlead-io/fairlead/e2e/tier"
)

// Way is how a tunnel's agent is told of the proxy.
type Way string

// The ways of the policies, and that of agents no setting helps.
const (
	Environment Way = "environment"
	Sidecar     Way = "sidecar"
	Relay       Way = "relay"
	None        Way = "none"
)

// Engine is who changed the agent's pod.
type Engine string

// The engines.
const (
	Kyverno Engine = "Kyverno"
	Mutate  Engine = "fairlead mutate"
)

// Row is what one test has shown. Of one agent, version and way, the tests of both engines say the same.
type Row struct {
	Agent, Version string
	Way            Way
	// Set is what the pod is given.
	Set string
	// CannotWork is what stays impossible, or nothing.
	CannotWork string
	Engine     Engine
	// Result is what was seen of the pod as the engine made it, such as "passes".
	Result string
}

// Record notes a row at the end of the test that has shown it. Of a test that has failed it notes nothing.
func Record(t testing.TB, row Row) {
	t.Helper()
	if t.Failed() {
		return
	}
	_, caller, _, _ := runtime.Caller(1)
	by := testOf(t.Name(), caller)
	shown := row.Result + ": " + by
	recorded.Lock()
	recorded.by[by] = append(recorded.by[by], row)
	recorded.Unlock()
	change := func(rows []line) []line { return put(rows, row, shown) }
	if err := settle(document(), change); err != nil {
		t.Error(err)
	}
}

// recorded are the rows of this process, by their tests.
var recorded = struct {
	sync.Mutex
	by map[string][]Row
}{by: map[string][]Row{}}

// Complete has the table say no more of a test than the test records until it ends. Where parts of it may be skipped,
// because something is missing or nobody asked for them, it does nothing.
func Complete(t testing.TB) {
	t.Helper()
	_, caller, _, _ := runtime.Caller(1)
	by := testOf(t.Name(), caller)
	t.Cleanup(func() {
		if t.Failed() || tier.Short() || os.Getenv("CI") != "true" || strings.Contains(flag.Lookup("test.run").Value.String(), "/") {
			return
		}
		recorded.Lock()
		defer recorded.Unlock()
		if err := settle(document(), func(rows []line) []line { return withoutStale(rows, by, recorded.by[by]) }); err != nil {
			t.Error(err)
		}
	})
}

// testOf is a test as the table names it, by its name and file: of a subtest it is the whole.
func testOf(name, file string) string {
	function, _, _ := strings.Cut(name, "/")
	return filepath.Base(filepath.Dir(file)) + "/" + function
}

// withoutStale removes what a test is said to have shown, but is not among what it has recorded.
func withoutStale(rows []line, by string, shown []Row) []line {
	var left []line
	for _, row := range rows {
		for engine, cell := range map[Engine]*string{Kyverno: &row.kyverno, Mutate: &row.mutate} {
			isRow := func(r Row) bool {
				return r.Engine == engine && r.Agent == row.agent && r.Version == row.version && string(r.Way) == row.way
			}
			if strings.HasSuffix(*cell, ": "+by) && !slices.ContainsFunc(shown, isRow) {
				*cell = notRun
			}
		}
		if row.kyverno != notRun || row.mutate != notRun {
			left = append(left, row)
		}
	}
	return left
}

// settle makes the file say what the change says, if the user wants it to; otherwise it tells how they differ.
func settle(file string, change func([]line) []line) error {
	if os.Getenv("UPDATE") == "1" {
		return update(file, change)
	}
	rows, err := read(file)
	if err != nil {
		return err
	}
	if diff := cmp.Diff(rows, change(rows), cmp.AllowUnexported(line{})); diff != "" {
		return fmt.Errorf("%s is out of date, run this test with UPDATE=1 (-written +shown):\n%s", recordedIn, diff)
	}
	return nil
}

// put makes the rows say what was shown, and leaves what another engine has shown of the same.
func put(rows []line, row Row, shown string) []line {
	want := line{agent: row.Agent, version: row.Version, way: string(row.Way), set: row.Set, cannot: row.CannotWork, kyverno: notRun, mutate: notRun}
	if old := find(rows, want); old != nil {
		want.kyverno, want.mutate = old.kyverno, old.mutate
	}
	if row.Engine == Kyverno {
		want.kyverno = shown
	} else {
		want.mutate = shown
	}
	return replace(rows, want)
}

const recordedIn = "e2e/tunnels/testdata/table.md"

// document is the file with the table.
func document() string { return repository.Path(recordedIn) }
