package planned

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/plan"
)

// Text returns the plan for a terminal. Wide has the names of all clusters and clients.
func Text(s terminal.Style, p plan.Plan, wide bool) []byte {
	t := text{style: s, wide: wide}
	t.line(0, s.Paint(terminal.Bold, headline(p)))
	if len(p.Clusters) > 0 {
		for _, unknown := range p.Unknown {
			t.wrapped(0, "Unknown: "+unknown)
		}
	}
	for _, g := range some(p.Groups, someGroups) {
		t.group(g)
	}
	if rest := more(len(p.Groups), someGroups, "group"); rest != "" {
		t.line(0, "\n"+rest)
	}
	if len(p.Clusters) > 0 {
		t.line(0, "")
		t.wrapped(0, "Cost: "+cost(p.Summary.Cost)+".")
	}
	if p.Summary.Withheld > 0 {
		t.wrapped(0, "Withheld: "+withheld(p.Summary.Withheld)+".")
	}
	for _, w := range p.Rollouts {
		says, warnings := rollout(w)
		t.wrapped(0, "Rollout: "+says)
		for _, warning := range warnings {
			t.wrapped(1, "! "+warning)
		}
	}
	t.expectations(p.Expectations)
	for _, note := range p.Notes {
		t.wrapped(0, note)
	}
	t.line(0, "Digest: "+p.Digest)
	return t.Bytes()
}

type text struct {
	bytes.Buffer
	style terminal.Style
	wide  bool
}

const indent = "  "

func (t *text) line(depth int, line string) {
	fmt.Fprintln(t, strings.TrimRight(strings.Repeat(indent, depth)+line, " "))
}

// wrapped is for sentences.
func (t *text) wrapped(depth int, sentence string) {
	for i, line := range terminal.Wrapped(sentence, t.style.Line()-depth*len(indent)-len(indent)) {
		if i > 0 {
			line = indent + line
		}
		t.line(depth, line)
	}
}

func (t *text) group(g plan.Group) {
	t.line(0, "")
	t.wrapped(0, title(g, t.wide))
	for _, problem := range problems(g) {
		t.wrapped(1, "! "+problem)
	}
	for _, f := range g.Fields {
		t.line(1, f.Name+"  "+field(f))
	}
	t.entries(g)
	if len(g.Lists) > 0 {
		t.line(1, "list differs: "+lists(g))
	}
	shown := some(g.Decisions, someDecisions)
	if t.wide {
		shown = g.Decisions
	}
	for _, d := range shown {
		t.line(1, decided(d, g))
		if t.wide && d.Audience != "go" {
			t.wrapped(2, strings.Join(d.Clients, ", "))
		}
	}
	if rest := more(len(g.Decisions), len(shown), "changed decision"); rest != "" {
		t.line(1, rest)
	}
	if g.Unasked > 0 {
		t.line(1, unasked(g))
	}
	t.wrapped(1, "cost: "+cost(g.Cost))
	if g.Paused > 0 {
		t.wrapped(1, fmt.Sprintf("paused: %s, where nothing is written before that ends", plural(g.Paused, "Cluster")))
	}
}

func (t *text) entries(g plan.Group) {
	table := terminal.Table{Style: t.style, Margin: indent, Gap: 2, Heading: []string{"", ""}}
	for _, one := range []struct {
		sign, colour string
		all          []plan.Entry
	}{{"+", terminal.Green, g.Comes}, {"-", terminal.Red, g.Goes}} {
		for _, e := range some(one.all, someEntries) {
			table.Add(terminal.Cell{Text: one.sign + " " + e.Entry, Colour: one.colour}, terminal.Cell{Text: originText(e)})
		}
	}
	_, rows, _ := bytes.Cut(table.Bytes(), []byte("\n")) // without a heading
	fmt.Fprintf(t, "%s", rows)
	for _, all := range [][]plan.Entry{g.Comes, g.Goes} {
		if rest := more(len(all), someEntries, "such line"); rest != "" {
			t.line(1, rest)
		}
	}
}

func (t *text) expectations(e *plan.Expectations) {
	if e == nil {
		return
	}
	t.line(0, expected(*e))
	for _, f := range e.Failures {
		t.wrapped(1, failure(f))
	}
}

func expected(e plan.Expectations) string {
	if e.Failed == 0 {
		return fmt.Sprintf("Expectations: all are met in %s.", plural(e.Clusters, "cluster"))
	}
	return fmt.Sprintf("Expectations: %d not met, asked in %s.", e.Failed, plural(e.Clusters, "cluster"))
}
