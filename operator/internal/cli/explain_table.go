package cli

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"strings"
	"text/tabwriter"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/operator/internal/explain"
)

// style is how the parts of a table look.
type style struct{ colour bool }

// styleFor colours what a person sees (https://no-color.org).
func styleFor(out io.Writer) style {
	file, is := out.(*os.File)
	if !is || os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb" {
		return style{}
	}
	info, err := file.Stat()
	return style{err == nil && info.Mode()&os.ModeCharDevice != 0}
}

// The escape sequences (ECMA-48, 8.3.117).
const (
	bold, red, green, yellow, blue = "1", "31", "32", "33", "34"
)

func (s style) paint(colour, text string) string {
	if !s.colour {
		return text
	}
	return "\x1b[" + colour + "m" + text + "\x1b[0m"
}

func (s style) decision(decision, text string) string {
	switch {
	case strings.HasPrefix(decision, "direct"):
		return s.paint(green, text)
	case strings.HasPrefix(decision, "proxy"):
		return s.paint(blue, text)
	}
	return s.paint(red, text)
}

// explainTable is a block for each URL: the URL, a sentence, and what clients do.
type explainTable struct {
	style style
	wide  bool // a line for each client
	text  bytes.Buffer
}

func (t *explainTable) add(e explain.Explanation) {
	if t.text.Len() > 0 {
		t.text.WriteByte('\n')
	}
	mark := "  "
	if !e.Agree {
		mark = t.style.paint(yellow+";"+bold, "!") + " "
	}
	fmt.Fprintf(&t.text, "%s%s\n", mark, t.style.paint(bold, explain.Shown(e.URL)))
	for _, line := range wrapped(e.Summary, lineWidth-len(margin)) {
		fmt.Fprintln(&t.text, margin+line)
	}
	if t.wide {
		t.lines(e)
		return
	}
	for _, group := range e.Groups() {
		t.group(group)
	}
}

const (
	lineWidth = 100
	margin    = "  "
)

// group is one decision with its reason, and below it who decides so.
func (t *explainTable) group(g explain.Group) {
	head := g.Decision
	if len(head) < len("direct") {
		head += strings.Repeat(" ", len("direct")-len(head))
	}
	text := head + "  "
	inner := margin + strings.Repeat(" ", len("direct  "))
	fmt.Fprint(&t.text, margin, t.style.decision(g.Decision, text))
	if g.Entry != "" {
		fmt.Fprint(&t.text, t.style.paint(bold, g.Entry), "  ")
	}
	fmt.Fprintln(&t.text, g.Reason)
	if from := g.Source.String(); from != "" {
		fmt.Fprintln(&t.text, inner+"from "+from)
	}
	for _, line := range wrapped(strings.Join(g.Clients, ", "), lineWidth-len(inner)) {
		fmt.Fprintln(&t.text, inner+line)
	}
}

// lines is one line for each client.
func (t *explainTable) lines(e explain.Explanation) {
	rows := explain.Rows([]explain.Explanation{e})
	var plain bytes.Buffer
	columns := tabwriter.NewWriter(&plain, 0, 0, 2, ' ', 0)
	fmt.Fprintln(columns, margin+"CLIENT\tDECISION\tENTRY\tREASON\tFROM")
	for _, row := range rows {
		a := row.Answers[0]
		fmt.Fprintf(columns, "%s%s\t%s\t%s\t%s\t%s\n", margin, row.Name, e.Word(a), dash(explain.Shown(a.Entry)), a.Reason, dash(a.Source.String()))
	}
	_ = columns.Flush() // into a buffer
	heading, text, _ := strings.Cut(plain.String(), "\n")
	fmt.Fprintln(&t.text, heading)
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		// Painted when the columns stand: escape sequences have a length.
		decision := e.Word(rows[i].Answers[0])
		at := len(margin) + len(rows[i].Name)
		at += strings.Index(line[at:], decision)
		fmt.Fprintln(&t.text, line[:at]+t.style.decision(decision, decision)+line[at+len(decision):])
	}
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

// wrapped cuts a text at blanks into lines of at most so many characters.
func wrapped(text string, width int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(text) {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}
