package planned

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/plan"
)

// longest is from where on nothing is added: a comment on GitHub has 65,536 characters.
const longest = 50_000

// Markdown returns the plan for a pull request: a summary, and the rest folded.
func Markdown(p plan.Plan) []byte {
	var m bytes.Buffer
	fmt.Fprintf(&m, "### Proxy plan\n\n**%s**\n\n", escaped(headline(p)))
	summary(&m, p)
	for i, g := range p.Groups {
		if m.Len() > longest {
			fmt.Fprintf(&m, "\n%s\n", more(len(p.Groups), i, "group"))
			break
		}
		fold(&m, g)
	}
	m.WriteByte('\n')
	for _, note := range p.Notes {
		fmt.Fprintf(&m, "<sub>%s</sub>\\\n", escaped(note))
	}
	fmt.Fprintf(&m, "<sub>Digest `%s`</sub>\n", p.Digest)
	return m.Bytes()
}

func summary(m *bytes.Buffer, p plan.Plan) {
	item := func(label, text string) { fmt.Fprintf(m, "- **%s**: %s\n", label, escaped(text)) }
	if len(p.Clusters) > 0 {
		item("Cost", cost(p.Summary.Cost))
		for _, unknown := range p.Unknown {
			item("Unknown", unknown)
		}
	}
	if n := p.Summary.Decisions; n > 0 {
		item("Clients", fmt.Sprintf("%s of clients about URLs change", plural(n, "decision")))
	}
	if n := p.Summary.Withheld; n > 0 {
		item("Withheld", withheld(n))
	}
	for _, w := range p.Rollouts {
		says, warnings := rollout(w)
		item("Rollout", says)
		for _, warning := range warnings {
			fmt.Fprintf(m, "  - ⚠️ %s\n", escaped(warning))
		}
	}
	if e := p.Expectations; e != nil {
		item("Expectations", strings.TrimPrefix(expected(*e), "Expectations: "))
		for _, f := range e.Failures {
			fmt.Fprintf(m, "  - ❌ %s\n", escaped(failure(f)))
		}
	}
}

func fold(m *bytes.Buffer, g plan.Group) {
	fmt.Fprintf(m, "\n<details><summary>%s</summary>\n\n", escaped(title(g, false)))
	for _, problem := range problems(g) {
		fmt.Fprintf(m, "- ⚠️ %s\n", escaped(problem))
	}
	for _, f := range g.Fields {
		fmt.Fprintf(m, "- %s: %s\n", f.Name, escaped(field(f)))
	}
	if len(g.Lists) > 0 {
		fmt.Fprintf(m, "- list differs: %s\n", lists(g))
	}
	fmt.Fprintf(m, "- cost: %s\n", escaped(cost(g.Cost)))
	if len(g.Comes)+len(g.Goes) > 0 {
		m.WriteString("\n```diff\n")
		diff(m, "+", g.Comes)
		diff(m, "-", g.Goes)
		m.WriteString("```\n")
	}
	shown := some(g.Decisions, someDecisions)
	if len(shown) > 0 {
		m.WriteString("\n| who | URL | before | after |\n| --- | --- | --- | --- |\n")
	}
	for _, d := range shown {
		who := deciders(d)
		if d.Clusters < len(g.Clusters) {
			who += ", in " + plural(d.Clusters, "cluster")
		}
		fmt.Fprintf(m, "| %s | `%s` | %s | %s |\n", who, d.URL, d.Before, d.After)
	}
	if rest := more(len(g.Decisions), len(shown), "changed decision"); rest != "" {
		fmt.Fprintf(m, "\n%s\n", rest)
	}
	if g.Unasked > 0 {
		fmt.Fprintf(m, "\n%s\n", unasked(g))
	}
	m.WriteString("\n</details>\n")
}

func diff(m *bytes.Buffer, sign string, all []plan.Entry) {
	shown := some(all, someEntries)
	for _, e := range shown {
		fmt.Fprintf(m, "%s %s  # %s\n", sign, e.Entry, strings.NewReplacer("\n", " ", "`", "'").Replace(originText(e)))
	}
	if rest := more(len(all), len(shown), "such line"); rest != "" {
		fmt.Fprintln(m, "# "+rest)
	}
}

// escaped keeps names and messages from being markup, or from calling somebody.
func escaped(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\n", " ", "*", `\*`, "_", `\_`, "`", "'", "[", `\[`, "|", `\|`, "@", "@\u200b").Replace(text)
}
