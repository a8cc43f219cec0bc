package terminal

import (
	"bytes"
	"fmt"
	"strings"
)

// Findings are written below each other, each with its severity, and counted.
type Findings struct {
	bytes.Buffer
	Style  Style
	counts map[string]int
}

// indent stands before the lines below a heading. It is as wide as a severity.
const indent = "         "

// Add writes a finding: a heading, and a paragraph for each text that is not empty.
func (f *Findings) Add(severity, heading string, paragraphs ...string) {
	if f.counts == nil {
		f.counts = map[string]int{}
	}
	f.counts[severity]++
	fmt.Fprintf(f, "%s%s%s\n", f.Style.Paint(Severity(severity), severity), strings.Repeat(" ", len(indent)-len(severity)), heading)
	for _, text := range paragraphs {
		if text != "" {
			fmt.Fprint(f, f.Style.Paragraph(indent, text))
		}
	}
	fmt.Fprintln(f)
}

// Total writes how many there are of each severity.
func (f *Findings) Total() {
	fmt.Fprintf(f, "%s, %s, %d info\n", Plural(f.counts["Error"], "error"), Plural(f.counts["Warning"], "warning"), f.counts["Info"])
}

// Labelled returns a paragraph with a label, and nothing for an empty text.
func Labelled(label, text string) string {
	if text == "" {
		return ""
	}
	return label + ": " + text
}
