package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/operator/noproxy/dialect/vector"
	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

// checked is what came out of a check.
type checked struct {
	Passed     int        `json:"passed"`
	Failed     int        `json:"failed"`
	Mismatches []mismatch `json:"mismatches"`

	suites []junitSuite
}

// mismatch is an expectation that a client does not meet.
type mismatch struct {
	File string `json:"file"`
	Row  int    `json:"row"` // counted from 1
	Line int    `json:"line"`
	explain.Mismatch
}

func runExplainCheck(cmd *cobra.Command, opts explainOptions) error {
	result := checked{Mismatches: []mismatch{}}
	checker, err := opts.checker(cmd)
	if err != nil {
		return usage(err)
	}
	for _, file := range opts.urls {
		data, err := readFile(file, cmd.InOrStdin())
		if err != nil {
			return usage(err)
		}
		if err := result.add(checker, file, data); err != nil {
			return usage(fmt.Errorf("%s: %w", file, err))
		}
	}
	if err := printChecked(cmd.OutOrStdout(), opts.output, result); err != nil {
		return err
	}
	if result.Failed > 0 {
		return quietError{exitFailure}
	}
	return nil
}

func (c *checked) add(checker *explain.Checker, file string, data []byte) error {
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
	var lines []int
	suite := junitSuite{Name: file}
	for i, row := range rows {
		found, err := checker.Check(row)
		switch {
		case err != nil:
			return fmt.Errorf("row %d: %w", i+1, err)
		case found == nil:
			c.Passed++
			suite.add(rowName(i, row), nil)
			continue
		}
		if lines == nil {
			lines = linesOf(data)
		}
		c.Failed++
		failed := mismatch{file, i + 1, lines[i], *found}
		c.Mismatches = append(c.Mismatches, failed)
		suite.add(rowName(i, row), &failed)
	}
	c.suites = append(c.suites, suite)
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

func printChecked(out io.Writer, format string, result checked) error {
	switch format {
	case tableOutput:
	case "junit":
		return printJUnit(out, result)
	default:
		return printData(out, format, result)
	}
	var text bytes.Buffer
	for _, m := range result.Mismatches {
		fmt.Fprintf(&text, "%s:%d: row %d: %s\n", m.File, m.Line, m.Row, m.line())
	}
	fmt.Fprintf(&text, "%d passed, %d failed\n", result.Passed, result.Failed)
	_, err := text.WriteTo(out)
	return err
}

func (m mismatch) line() string {
	client := m.Client
	if m.Version != "" {
		client += "@" + m.Version
	}
	question := fmt.Sprintf("%s: %s with %s", explain.Shown(client), explain.Shown(m.URL), explain.Shown(shortened(m.Given)))
	return strings.TrimSpace(question + ": " + m.answer() + " (" + m.Reason + ")")
}

func (m mismatch) answer() string {
	answer := fmt.Sprintf("expected %s, got %s", explain.Shown(m.Expected), m.Got)
	if m.Credentials {
		answer += ", with other credentials"
	}
	return answer
}
