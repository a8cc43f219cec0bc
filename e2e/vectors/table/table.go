package table

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Table is the folder of files, one for each client and version.
type Table struct {
	dir   string
	files map[string][]Row // by the name of the file
}

// Read reads all files of the table.
func Read(dir string) (*Table, error) {
	t := &Table{dir: dir, files: map[string][]Row{}}
	names, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		content, err := os.ReadFile(name)
		if err != nil {
			return nil, err
		}
		var rows []Row
		if err := json.Unmarshal(content, &rows); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		t.files[filepath.Base(name)] = rows
	}
	return t, nil
}

// Questions returns the questions to any client that passes, each question
// once, without answers.
func (t *Table) Questions(passes func(client string) bool) []Row {
	var questions []Row
	for _, name := range t.names() {
		for _, row := range t.files[name] {
			if passes(row.Client) {
				questions = append(questions, Row{Name: row.Name, NoProxy: row.NoProxy, Env: row.Env, URL: row.URL, Group: row.Group})
			}
		}
	}
	return Distinct(questions)
}

// Distinct drops questions that were there before.
func Distinct(questions []Row) []Row {
	seen := map[string]bool{}
	return slices.DeleteFunc(questions, func(row Row) bool {
		before := seen[row.key()]
		seen[row.key()] = true
		return before
	})
}

func (t *Table) names() []string { return slices.Sorted(maps.Keys(t.files)) }

// Answer returns what the table says to the question of a row, for its client and
// version, or "".
func (t *Table) Answer(row Row) string {
	for _, known := range t.files[t.file(row.Client, row.Version)] {
		if known.URL == row.URL && known.key() == row.key() {
			return known.Answer()
		}
	}
	return ""
}

// Change is a row whose answer is another one than before.
type Change struct{ Before, After Row }

// Merge replaces the rows of one client and version, and returns those that
// differ. Rows that were not measured now stay.
func (t *Table) Merge(client, version string, measured []Row) []Change {
	name := t.file(client, version)
	now := map[string]Row{}
	for _, row := range measured {
		now[row.key()] = row
	}
	var changes []Change
	rows := t.files[name]
	for i, before := range rows {
		after, again := now[before.key()]
		if !again {
			continue
		}
		if before.Answer() != after.Answer() {
			changes = append(changes, Change{before, after})
		}
		after.Name, after.Env, after.Group, after.Note = before.Name, before.Env, before.Group, before.Note
		rows[i] = after
		delete(now, before.key())
	}
	rows = slices.AppendSeq(rows, maps.Values(now))
	slices.SortFunc(rows, compare)
	t.files[name] = rows
	return changes
}

// compare orders rows: questions of the list by group, list and URL, then those
// of the variables by name.
func compare(a, b Row) int {
	if a.OfList() != b.OfList() {
		if a.OfList() {
			return -1
		}
		return 1
	}
	return cmp.Or(
		cmp.Compare(a.Group, b.Group), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.list(), b.list()), cmp.Compare(a.URL, b.URL), cmp.Compare(string(a.Env), string(b.Env)),
	)
}

// list is the list as text. None at all stands where "None" would.
func (r Row) list() string {
	list := "None"
	_ = json.Unmarshal(r.NoProxy, &list)
	return list
}

// file returns the name of the file that has the client in that version.
func (t *Table) file(client, version string) string {
	for _, name := range t.names() {
		if rows := t.files[name]; len(rows) > 0 && rows[0].Client == client && rows[0].Version == version {
			return name
		}
	}
	before, _, _ := strings.Cut(client, "(")
	return strings.Trim(unusual.ReplaceAllString(before+"-"+version, "-"), "-") + ".json"
}

var unusual = regexp.MustCompile(`[^A-Za-z0-9.@_]+`)

// Write writes the files that have changed.
func (t *Table) Write() error {
	for _, name := range t.names() {
		content, err := format(t.files[name])
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		path := filepath.Join(t.dir, name)
		if before, err := os.ReadFile(path); err == nil && bytes.Equal(before, content) {
			continue
		}
		if err := os.WriteFile(path+".new", content, 0o644); err != nil {
			return err
		}
		if err := os.Rename(path+".new", path); err != nil { // a file that is there is whole
			return err
		}
	}
	return nil
}

func format(rows []Row) ([]byte, error) {
	lines := make([][]byte, len(rows))
	for i, row := range rows {
		line, err := row.line()
		if err != nil {
			return nil, err
		}
		lines[i] = line
	}
	return slices.Concat([]byte("[\n"), bytes.Join(lines, []byte(",\n")), []byte("\n]\n")), nil
}
