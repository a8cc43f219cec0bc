package cli

import (
	"encoding/xml"
	"fmt"
	"io"
)

// junitSuites is what build servers read of tests. There is no standard; all know these elements.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

// junitSuite is a file of expectations.
type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

// junitCase is a row of it.
type junitCase struct {
	Name      string        `xml:"name,attr"`
	ClassName string        `xml:"classname,attr"`
	Failure   *junitFailure `xml:"failure"`
}

type junitFailure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

func (s *junitSuite) add(name string, failed *mismatch) {
	c := junitCase{Name: name, ClassName: s.Name}
	s.Tests++
	if failed != nil {
		s.Failures++
		c.Failure = &junitFailure{failed.answer(), "Mismatch", fmt.Sprintf("%s:%d: row %d: %s", failed.File, failed.Line, failed.Row, failed.line())}
	}
	s.Cases = append(s.Cases, c)
}

func printJUnit(out io.Writer, result checked) error {
	all := junitSuites{Tests: result.Passed + result.Failed, Failures: result.Failed, Suites: result.suites}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(out, "%s%s\n", xml.Header, text)
	}
	return err
}
