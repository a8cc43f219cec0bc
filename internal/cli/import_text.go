package cli

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/importing"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// comparedText has a block for each comparison, and in it one for each cause of differences; wide has all decisions instead.
func comparedText(s terminal.Style, all []importing.Comparison, wide bool) []byte {
	var text bytes.Buffer
	for i, c := range all {
		if i > 0 {
			text.WriteByte('\n')
		}
		heading := fmt.Sprintf("%s (%s) and Fairlead, for Cluster %s: %d of %d decisions alike, of %s about %s", c.File, c.System, c.Cluster,
			c.Alike, c.Decisions, terminal.Plural(c.Clients, "client"), terminal.Plural(c.URLs, "URL"))
		for _, line := range terminal.Wrapped(terminal.ASCII(heading), s.Line()) {
			fmt.Fprintln(&text, s.Paint(terminal.Bold, line))
		}
		if wide {
			decisions(&text, s, c.Rows)
			continue
		}
		why := ""
		for _, cause := range causesOf(c.Rows) {
			cause.add(&text, s, cause.why != why)
			why = cause.why
		}
	}
	return text.Bytes()
}

// decisions are all, side by side.
func decisions(text *bytes.Buffer, s terminal.Style, rows []importing.Row) {
	lines := terminal.Table{Style: s, Margin: margin, Gap: 2, Heading: []string{"URL", "BEFORE", "NOW", "LIST", "CLIENTS"}}
	for _, r := range rows {
		lines.Add(terminal.Cells(terminal.ASCII(explain.Shown(r.URL)), r.Before.Decision, r.After.Decision, r.Audience, strings.Join(r.Clients, ","))...)
	}
	text.Write(lines.Bytes())
}

// cause is why decisions differ, and which: every client decides so at every URL.
type cause struct {
	why, decision string
	machines      bool
	urls, clients []string
}

func causesOf(rows []importing.Row) []cause {
	var all []cause
	for _, r := range rows {
		if r.Same {
			continue
		}
		c := cause{
			why: r.Why, decision: r.Before.Decision + " -> " + r.After.Decision, machines: r.Audience == string(noproxy.AudienceGo),
			urls: []string{explain.Shown(r.URL)}, clients: r.Clients,
		}
		if at := slices.IndexFunc(all, c.alike); at >= 0 {
			all[at].urls = union(all[at].urls, c.urls)
			continue
		}
		all = slices.Insert(all, behind(all, c.why), c)
	}
	return all
}

func (c cause) alike(o cause) bool {
	return o.why == c.why && o.decision == c.decision && o.machines == c.machines && slices.Equal(o.clients, c.clients)
}

// behind returns where the next cause of this kind goes.
func behind(all []cause, why string) int {
	for i := len(all); i > 0; i-- {
		if all[i-1].why == why {
			return i
		}
	}
	return len(all)
}

// add writes why where it is not what the text says already.
func (c cause) add(text *bytes.Buffer, s terminal.Style, heading bool) {
	clients := fmt.Sprintf("%s: %s", terminal.Plural(len(c.clients), "client"), strings.Join(c.clients, ", "))
	if c.machines {
		clients = "Go on machines"
	}
	if heading {
		fmt.Fprintln(text)
		text.WriteString(s.Paragraph("", terminal.ASCII(c.why)))
	}
	for _, line := range []string{c.decision + ": " + strings.Join(c.urls, ", "), clients} {
		text.WriteString(s.Paragraph(margin, terminal.ASCII(line)))
	}
}
