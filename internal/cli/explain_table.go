package cli

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

// explainTable is a block for each URL: the URL, a sentence, and what clients do.
type explainTable struct {
	style terminal.Style
	wide  bool // a line for each client
	text  bytes.Buffer
}

func (t *explainTable) add(e explain.Explanation) {
	if t.text.Len() > 0 {
		t.text.WriteByte('\n')
	}
	mark := "  "
	if !e.Agree {
		mark = t.style.Paint(terminal.Yellow+";"+terminal.Bold, "!") + " "
	}
	fmt.Fprintf(&t.text, "%s%s\n", mark, t.style.Paint(terminal.Bold, explain.Shown(e.URL)))
	for _, line := range terminal.Wrapped(e.Summary, t.style.Line()-len(margin)) {
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
	fmt.Fprint(&t.text, margin, t.style.Paint(terminal.Decision(g.Decision), text))
	if g.Entry != "" {
		fmt.Fprint(&t.text, t.style.Paint(terminal.Bold, g.Entry), "  ")
	}
	fmt.Fprintln(&t.text, g.Reason)
	if from := g.Source.String(); from != "" {
		fmt.Fprintln(&t.text, inner+"from "+from)
	}
	for _, line := range terminal.Wrapped(strings.Join(g.Clients, ", "), t.style.Line()-len(inner)) {
		fmt.Fprintln(&t.text, inner+line)
	}
}

// lines is one line for each client.
func (t *explainTable) lines(e explain.Explanation) {
	lines := terminal.Table{Style: t.style, Margin: margin, Gap: 2, Heading: []string{"CLIENT", "DECISION", "ENTRY", "REASON", "FROM", "MEASURED"}}
	for _, row := range explain.Rows([]explain.Explanation{e}) {
		a := row.Answers[0]
		decision := e.Word(a)
		cells := terminal.Cells(row.Name, decision, terminal.Dash(explain.Shown(a.Entry)), a.Reason, terminal.Dash(a.Source.String()), measured(row.Measured))
		cells[1].Colour = terminal.Decision(decision)
		lines.Add(cells...)
	}
	t.text.Write(lines.Bytes())
}

// measured says which versions were run, or that none was.
func measured(versions []string) string {
	if len(versions) == 0 {
		return "read only"
	}
	return strings.Join(versions, ", ")
}
