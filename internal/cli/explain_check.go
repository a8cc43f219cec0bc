package cli

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// checkResult is the result of checking files of expectations.
type checkResult struct {
	Passed     int                `json:"passed"`
	Failed     int                `json:"failed"`
	Mismatches []explain.Mismatch `json:"mismatches"`

	files []checkedFile
}

type checkedFile struct {
	name  string
	cases []explain.Case
}

func (r *checkResult) add(file string, cases []explain.Case) {
	r.files = append(r.files, checkedFile{file, cases})
	for _, c := range cases {
		if c.Mismatch == nil {
			r.Passed++
			continue
		}
		r.Failed++
		r.Mismatches = append(r.Mismatches, *c.Mismatch)
	}
}

func runExplainCheck(cmd *cobra.Command, opts explainOptions) error {
	result := checkResult{Mismatches: []explain.Mismatch{}}
	checker, err := opts.checker(cmd)
	if err != nil {
		return usage(err)
	}
	for _, file := range opts.urls {
		data, err := readFile(file, cmd.InOrStdin())
		if err != nil {
			return usage(err)
		}
		cases, err := checker.CheckFile(file, data)
		if err != nil {
			return usage(fmt.Errorf("%s: %w", file, err))
		}
		result.add(file, cases)
	}
	if opts.output == "junit" {
		err = printJUnit(cmd.OutOrStdout(), result)
	} else {
		err = printFound(cmd.OutOrStdout(), opts.output, result, func(terminal.Style) []byte { return checkedText(result) })
	}
	if err == nil && result.Failed > 0 {
		return errQuiet
	}
	return err
}

func checkedText(result checkResult) []byte {
	var text []byte
	for _, m := range result.Mismatches {
		text = fmt.Appendln(text, mismatchLine(m))
	}
	return fmt.Appendf(text, "%d passed, %d failed\n", result.Passed, result.Failed)
}

func mismatchLine(m explain.Mismatch) string {
	client := m.Client
	if m.Version != "" {
		client += "@" + m.Version
	}
	question := fmt.Sprintf("%s: %s with %s", explain.Shown(client), explain.Shown(m.URL), explain.Shown(terminal.Shortened(m.Given)))
	return fmt.Sprintf("%s:%d: row %d: %s: %s (%s)", m.File, m.Line, m.Row, question, mismatchAnswer(m), m.Reason)
}

func mismatchAnswer(m explain.Mismatch) string {
	answer := fmt.Sprintf("expected %s, got %s", explain.Shown(m.Expected), m.Got)
	if m.Credentials {
		answer += ", with other credentials"
	}
	return answer
}

// checkCheck is for --check, whose expectations name the clients and the URLs, and lists of their own where none is given.
func (o *explainOptions) checkCheck() error {
	if len(o.urls) == 0 {
		return errors.New("--check takes files with expectations; - is standard input")
	}
	if err := oneStdin(append(o.inputFiles(), o.urls...)); err != nil {
		return err
	}
	switch {
	case o.given("client"), o.given("resolve"), o.given("fail-on"):
		return errors.New("--check takes files, -o and what a list is made from: its expectations name the clients and URLs, and it fails if one is not met")
	case o.output == wideOutput || o.output == "html":
		return fmt.Errorf("--check prints table, json, yaml, jsonpath= or junit, not %s", o.output)
	case o.given("no-proxy"):
		return o.checkWritten()
	case o.given("http-proxy") || o.given("https-proxy"):
		return errors.New("--http-proxy and --https-proxy stand beside --no-proxy")
	case o.hasSettings() || o.given("audience"):
		return o.checkInputs()
	}
	return nil
}

// checker is for the list that is given, or for none.
func (o *explainOptions) checker(cmd *cobra.Command) (*explain.Checker, error) {
	if !o.hasSettings() && !o.given("no-proxy") {
		return explain.NewChecker(), nil
	}
	s, err := o.subject(cmd)
	if err != nil {
		return nil, err
	}
	return explain.NewCheckerOf(s.configuration, s.title), nil
}
