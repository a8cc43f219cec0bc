// Package junit writes the results of tests as build servers read them. There is no standard; all know these elements.
package junit

import (
	"encoding/xml"
	"fmt"
	"io"
)

type suites struct {
	XMLName  xml.Name `xml:"testsuites"`
	Tests    int      `xml:"tests,attr"`
	Failures int      `xml:"failures,attr"`
	Suites   []Suite  `xml:"testsuite"`
}

// Suite is a file of tests.
type Suite struct {
	Name     string     `xml:"name,attr"`
	Tests    int        `xml:"tests,attr"`
	Failures int        `xml:"failures,attr"`
	Errors   int        `xml:"errors,attr"`
	Skipped  int        `xml:"skipped,attr"`
	Cases    []testCase `xml:"testcase"`
}

type testCase struct {
	Name      string   `xml:"name,attr"`
	ClassName string   `xml:"classname,attr"`
	Failure   *Failure `xml:"failure"`
}

// Failure says what is wrong.
type Failure struct {
	Message string `xml:"message,attr"`
	Type    string `xml:"type,attr"`
	Text    string `xml:",chardata"`
}

// Add adds a test; failed is nil if it has passed.
func (s *Suite) Add(name string, failed *Failure) {
	s.Tests++
	if failed != nil {
		s.Failures++
	}
	s.Cases = append(s.Cases, testCase{name, s.Name, failed})
}

// Print writes the suites, and their sums.
func Print(out io.Writer, all []Suite) error {
	sum := suites{Suites: all}
	for _, s := range all {
		sum.Tests += s.Tests
		sum.Failures += s.Failures
	}
	text, err := xml.MarshalIndent(sum, "", "  ")
	if err == nil {
		_, err = fmt.Fprintf(out, "%s%s\n", xml.Header, text)
	}
	return err
}
