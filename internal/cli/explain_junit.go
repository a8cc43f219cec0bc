package cli

import (
	"encoding/xml"
	"fmt"
	"io"
)

// junitSuites are results of tests as build servers read them. There is no standard; all know these elements.
type junitSuites struct {
	XMLName  xml.Name     `xml:"testsuites"`
	Tests    int          `xml:"tests,attr"`
	Failures int          `xml:"failures,attr"`
	Suites   []junitSuite `xml:"testsuite"`
}

// junitSuite is a file of tests.
type junitSuite struct {
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Cases    []junitCase `xml:"testcase"`
}

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

// printJUnit writes a suite for each file, and their sums.
func printJUnit(out io.Writer, result checkResult) error {
	all := junitSuites{Tests: result.Passed + result.Failed, Failures: result.Failed}
	for _, file := range result.files {
		suite := junitSuite{Name: file.name, Tests: len(file.cases)}
		for _, c := range file.cases {
			test := junitCase{Name: c.Name, ClassName: file.name}
			if m := c.Mismatch; m != nil {
				suite.Failures++
				test.Failure = &junitFailure{Type: "Mismatch", Message: mismatchAnswer(*m), Text: mismatchLine(*m)}
			}
			suite.Cases = append(suite.Cases, test)
		}
		all.Suites = append(all.Suites, suite)
	}
	text, err := xml.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%s%s\n", xml.Header, text)
	return err
}
