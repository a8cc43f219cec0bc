package tunnels

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
)

// The table is all that is between these two lines.
const (
	begin  = "<!-- tunnels: written by the tests of the tunnels, UPDATE=1 -->\n"
	end    = "<!-- end -->\n"
	header = "| agent | version | way | what is set | what cannot work | pod as Kyverno makes it | pod as `fairlead mutate` prints it |\n" +
		"| --- | --- | --- | --- | --- | --- | --- |\n"
	columns = 7
	notRun  = "not run"
)

// line is one of the table.
type line struct{ agent, version, way, set, cannot, kyverno, mutate string }

func (l line) cells() []string {
	return []string{l.agent, l.version, l.way, l.set, l.cannot, l.kyverno, l.mutate}
}

// compare orders lines. Of two that are about the same it says 0.
func compare(a, b line) int {
	return cmp.Or(cmp.Compare(strings.ToLower(a.agent), strings.ToLower(b.agent)), compareVersions(a.version, b.version), cmp.Compare(a.way, b.way))
}

// compareVersions orders v0.9.0 before v0.10.0: of the first parts that differ, the shorter comes first.
func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range min(len(as), len(bs)) {
		if order := cmp.Or(cmp.Compare(len(as[i]), len(bs[i])), cmp.Compare(as[i], bs[i])); order != 0 {
			return order
		}
	}
	return cmp.Compare(len(as), len(bs))
}

func find(rows []line, want line) *line {
	i, found := slices.BinarySearchFunc(rows, want, compare)
	if !found {
		return nil
	}
	return &rows[i]
}

func replace(rows []line, want line) []line {
	rows = slices.Clone(rows)
	i, found := slices.BinarySearchFunc(rows, want, compare)
	if found {
		rows[i] = want
		return rows
	}
	return slices.Insert(rows, i, want)
}

// read returns the rows of the file, in order.
func read(file string) ([]line, error) {
	_, table, _, err := split(file)
	if err != nil {
		return nil, err
	}
	return parse(table)
}

func parse(table string) ([]line, error) {
	table, found := strings.CutPrefix(table, header)
	if !found {
		return nil, errors.New(recordedIn + ": its table has another header")
	}
	var rows []line
	for text := range strings.Lines(table) {
		cells := strings.Split(strings.Trim(text, "|\n"), "|")
		if len(cells) != columns {
			return nil, fmt.Errorf("%s: a row of %d columns, not %d: %s", recordedIn, len(cells), columns, text)
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows = append(rows, line{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]})
	}
	slices.SortFunc(rows, compare)
	return rows, nil
}

func format(rows []line) string {
	text := header
	for _, row := range rows {
		text += "| " + strings.Join(row.cells(), " | ") + " |\n"
	}
	return text
}

func split(file string) (before, table, after string, err error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", "", "", err
	}
	before, rest, opened := strings.Cut(string(content), begin)
	table, after, closed := strings.Cut(rest, end)
	if !opened || !closed {
		return "", "", "", fmt.Errorf("%s has no table between %q and %q", file, begin, end)
	}
	return before, table, after, nil
}

// update changes the rows of the file. It waits for other test processes that do.
func update(file string, change func([]line) []line) error {
	lock, err := os.Open(file)
	if err != nil {
		return err
	}
	defer lock.Close()
	if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", file, err)
	}
	before, table, after, err := split(file)
	if err != nil {
		return err
	}
	rows, err := parse(table)
	if err != nil {
		return err
	}
	rows = change(rows)
	if err := os.WriteFile(file, []byte(before+begin+format(rows)+end+after), 0o644); err != nil || file != document() {
		return err
	}
	return show(rows)
}
