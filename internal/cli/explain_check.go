package cli

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/files"
	"github.com/fairlead-io/fairlead/internal/cli/junit"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/expectation"
	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

func runExplainCheck(cmd *cobra.Command, opts explainOptions) error {
	result := expectation.Result{Mismatches: []expectation.Mismatch{}}
	checker, err := opts.checker(cmd)
	if err != nil {
		return usage(err)
	}
	for _, file := range opts.urls {
		data, err := files.Read(file, cmd.InOrStdin())
		if err != nil {
			return usage(err)
		}
		if err := result.Check(checker, file, data); err != nil {
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

func printChecked(out io.Writer, format string, result expectation.Result) error {
	switch format {
	case tableOutput:
	case "junit":
		return junit.Print(out, suites(result))
	default:
		return printData(out, format, result)
	}
	var text bytes.Buffer
	for _, m := range result.Mismatches {
		fmt.Fprintf(&text, "%s:%d: row %d: %s\n", m.File, m.Line, m.Row, mismatchLine(m))
	}
	fmt.Fprintf(&text, "%d passed, %d failed\n", result.Passed, result.Failed)
	_, err := text.WriteTo(out)
	return err
}

func mismatchLine(m expectation.Mismatch) string {
	client := m.Client
	if m.Version != "" {
		client += "@" + m.Version
	}
	question := fmt.Sprintf("%s: %s with %s", explain.Shown(client), explain.Shown(m.URL), explain.Shown(terminal.Shortened(m.Given)))
	return strings.TrimSpace(question + ": " + mismatchAnswer(m) + " (" + m.Reason + ")")
}

func mismatchAnswer(m expectation.Mismatch) string {
	answer := fmt.Sprintf("expected %s, got %s", explain.Shown(m.Expected), m.Got)
	if m.Credentials {
		answer += ", with other credentials"
	}
	return answer
}

func suites(result expectation.Result) []junit.Suite {
	var all []junit.Suite
	for _, file := range result.Files {
		suite := junit.Suite{Name: file.Name}
		for _, c := range file.Cases {
			var failure *junit.Failure
			if m := c.Mismatch; m != nil {
				failure = &junit.Failure{Type: "Mismatch", Message: mismatchAnswer(*m), Text: fmt.Sprintf("%s:%d: row %d: %s", m.File, m.Line, m.Row, mismatchLine(*m))}
			}
			suite.Add(c.Name, failure)
		}
		all = append(all, suite)
	}
	return all
}
