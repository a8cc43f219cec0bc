package cli

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

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
	for _, line := range wrapped(e.Summary, t.style.line()-len(margin)) {
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

const margin = "  "

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
	for _, line := range wrapped(strings.Join(g.Clients, ", "), t.style.line()-len(inner)) {
		fmt.Fprintln(&t.text, inner+line)
	}
}

// lines is one line for each client.
func (t *explainTable) lines(e explain.Explanation) {
	lines := table{style: t.style, margin: margin, gap: 2, heading: []string{"CLIENT", "DECISION", "ENTRY", "REASON", "FROM", "MEASURED"}}
	for _, row := range explain.Rows([]explain.Explanation{e}) {
		a := row.Answers[0]
		decision := e.Word(a)
		cells := plain(row.Name, decision, dash(explain.Shown(a.Entry)), a.Reason, dash(a.Source.String()), measured(row.Measured))
		cells[1].colour = decisionColour(decision)
		lines.add(cells...)
	}
	t.text.Write(lines.bytes())
}

// measured says which versions were run, or that none was.
func measured(versions []string) string {
	if len(versions) == 0 {
		return "read only"
	}
	return strings.Join(versions, ", ")
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
