// Package provider knows what an infrastructure provider adds to NO_PROXY: the addresses and private
// names that are the same for every cluster of a kind, and where in the cluster's infrastructure object
// its networks are written. That knowledge is data (providers.yaml), not code: a provider is a row, and
// users add rows of their own with the same schema.
//
// It is pure: plain values in and out. It must not import a Kubernetes client, apimachinery, a context,
// a logger or a clock. Entries are plain strings; the caller reads them with its own NO_PROXY parser and
// judges how broad they are, since an infrastructure object may be a tenant's to write.
package provider

import (
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"sync"
)

// The versions of the built-in table. A cluster's report pins the version its list was made with; a change of a
// row that changes a list is therefore a new version, never an edit of an old one.
const (
	First  = "Facts/v1"
	Latest = First
)

//go:embed providers.yaml
var facts1 []byte

var readFacts1 = sync.OnceValues(func() (Table, error) {
	rows, err := Parse(First, facts1)
	if err != nil {
		return Table{}, err
	}
	table, err := Table{}.With(rows)
	return table.As(First), err
})

// Table is a set of rows, at most one for each kind. The zero value is empty. It is never changed.
type Table struct {
	version string
	rows    map[groupKind]Row
}

// Builtin returns the table of a version, or the latest for "". It fails for a version that this
// program does not have, as after a downgrade.
func Builtin(version string) (Table, error) {
	if version != "" && version != First {
		return Table{}, fmt.Errorf("provider facts: version %q is unknown, this program has %s", version, First)
	}
	return readFacts1()
}

// Version returns the version of the built-in rows, for the report. Users' rows do not change it: they are
// named by their Source.
func (t Table) Version() string { return t.version }

// As returns the table under another version.
func (t Table) As(version string) Table { return Table{version: version, rows: t.rows} }

// With returns a table in which the given rows replace those of the same kind: a user knows better than
// the built-in table. It fails when two of the given rows are for one kind, as when two ConfigMaps
// disagree: which of them wins is never a guess.
func (t Table) With(rows []Row) (Table, error) {
	merged := map[groupKind]Row{}
	maps.Copy(merged, t.rows)
	given := map[groupKind]string{}
	for _, row := range rows {
		if first, ok := given[row.key()]; ok {
			return Table{}, fmt.Errorf("provider facts: %s has a row in %s and another in %s", row.key(), first, row.Source)
		}
		given[row.key()] = row.Source
		merged[row.key()] = row
	}
	return Table{t.version, merged}, nil
}

// Row returns the row of a kind. Without one nothing is known of the provider: there is nothing to add
// to the list and nothing to wait for, which the caller should say.
func (t Table) Row(group, kind string) (Row, bool) {
	row, ok := t.rows[groupKind{group, kind}]
	return row, ok
}

// Rows returns every row, by group and kind.
func (t Table) Rows() []Row {
	return slices.SortedFunc(maps.Values(t.rows), func(a, b Row) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Kind, b.Kind))
	})
}
