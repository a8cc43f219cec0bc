package explain

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/noproxy/dialect/vector"
)

// Case is a row of a file of expectations; Mismatch is nil if it holds.
type Case struct {
	Name     string
	Mismatch *Mismatch
}

// CheckFile compares each row of a file with what its client does. A row that cannot be read, and a file without any, are errors.
func (c *Checker) CheckFile(file string, data []byte) ([]Case, error) {
	parse := vector.Parse
	if c.given != nil { // rows may lack a list of their own
		parse = vector.ParseGiven
	}
	rows, err := parse(data)
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 {
		return nil, errors.New("the list is empty: nothing would be checked")
	}
	lines := linesOf(data)
	cases := make([]Case, len(rows))
	for i, row := range rows {
		found, err := c.Check(row)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i+1, err)
		}
		if found != nil {
			found.File, found.Row, found.Line = file, i+1, lines[i]
		}
		cases[i] = Case{rowName(i, row), found}
	}
	return cases, nil
}

// rowName has no user information of a URL.
func rowName(i int, row vector.Row) string {
	name := fmt.Sprintf("row %d: %s", i+1, Shown(row.Client))
	if row.Version != "" {
		name += "@" + Shown(row.Version)
	}
	if target, err := row.Target(); err == nil {
		name += ": " + Shown(target.URL)
	}
	return name
}

// linesOf returns the line on which each element of a JSON list starts.
func linesOf(data []byte) []int {
	var lines []int
	line, counted := 1, 0
	decoder := json.NewDecoder(bytes.NewReader(data))
	if _, err := decoder.Token(); err != nil { // the bracket
		return nil
	}
	for decoder.More() {
		var element json.RawMessage
		if err := decoder.Decode(&element); err != nil {
			return lines
		}
		start := int(decoder.InputOffset()) - len(element)
		line += bytes.Count(data[counted:start], []byte("\n"))
		counted = start
		lines = append(lines, line)
	}
	return lines
}
