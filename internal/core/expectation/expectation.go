// Package expectation compares files of expectations with what clients do.
package expectation

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/fairlead-io/fairlead/operator/noproxy/dialect/vector"
	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

// Result is what came out of the files that were checked.
type Result struct {
	Passed     int        `json:"passed"`
	Failed     int        `json:"failed"`
	Mismatches []Mismatch `json:"mismatches"`

	Files []File `json:"-"`
}

// File is a file with a case for each row.
type File struct {
	Name  string
	Cases []Case
}

// Case is a row of a file; Mismatch is nil if it holds.
type Case struct {
	Name     string
	Mismatch *Mismatch
}

// Mismatch is an expectation that a client does not meet.
type Mismatch struct {
	File string `json:"file"`
	Row  int    `json:"row"` // counted from 1
	Line int    `json:"line"`
	explain.Mismatch
}

// Check adds what comes out of a file. A row that cannot be read, and a file without any, are errors.
func (r *Result) Check(checker *explain.Checker, file string, data []byte) error {
	parse := vector.Parse
	if checker.HasGiven() {
		parse = vector.ParseGiven
	}
	rows, err := parse(data)
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return errors.New("the list is empty: nothing would be checked")
	}
	lines := linesOf(data)
	checked := File{Name: file}
	for i, row := range rows {
		found, err := checker.Check(row)
		if err != nil {
			return fmt.Errorf("row %d: %w", i+1, err)
		}
		one := Case{Name: rowName(i, row)}
		if found == nil {
			r.Passed++
		} else {
			r.Failed++
			one.Mismatch = &Mismatch{file, i + 1, lines[i], *found}
			r.Mismatches = append(r.Mismatches, *one.Mismatch)
		}
		checked.Cases = append(checked.Cases, one)
	}
	r.Files = append(r.Files, checked)
	return nil
}

// rowName has no user information of a URL.
func rowName(i int, row vector.Row) string {
	name := fmt.Sprintf("row %d: %s", i+1, explain.Shown(row.Client))
	if row.Version != "" {
		name += "@" + explain.Shown(row.Version)
	}
	if target, err := row.Target(); err == nil {
		name += ": " + explain.Shown(target.URL)
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
