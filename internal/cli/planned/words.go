// Package planned writes a plan for people: as a text, as Markdown for pull requests, and as a page.
package planned

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/plan"
)

// UpgradeNote stands in a plan of an upgrade.
const UpgradeNote = "This is what the newest form and provider facts would write. Clusters keep what they have until told: " +
	"set spec.form of the CorporateProxy, or the annotation fairlead.io/facts-version of the ProxyReport."

// How many of something a text for people has.
const (
	someClusters  = 5
	someEntries   = 30
	someDecisions = 12
	someGroups    = 50
)

// headline says what the plan does in one sentence.
func headline(p plan.Plan) string {
	s := p.Summary
	if len(p.Clusters) == 0 && len(p.Unknown) > 0 {
		return "Unknown: " + strings.Join(p.Unknown, " ")
	}
	if !p.Changed {
		return fmt.Sprintf("No change in %s.", plural(s.Clusters, "cluster"))
	}
	var parts []string
	for _, part := range []struct {
		n    int
		what string
	}{{s.Changed, "changed"}, {s.Added, "added"}, {s.Removed, "removed"}} {
		if part.n > 0 {
			parts = append(parts, number(part.n)+" "+part.what)
		}
	}
	if s.Added+s.Removed == 0 {
		return fmt.Sprintf("%s of %s change.", number(s.Changed), plural(s.Clusters, "cluster"))
	}
	return fmt.Sprintf("%s of %s change: %s.", number(s.Changed+s.Added+s.Removed), plural(s.Clusters, "cluster"), strings.Join(parts, ", "))
}

// cost says what a change costs.
func cost(c plan.Cost) string {
	var parts []string
	if c.Charts > 0 {
		parts = append(parts, fmt.Sprintf("charts of %s get new values and restart their pods, which are not counted", plural(c.Charts, "cluster")))
	}
	if seen := c.MachinesOf - c.MachinesUnseen; c.Machines+c.MachinePools > 0 {
		text := fmt.Sprintf("%s of %s are outdated then", plural(c.Machines, "machine"), plural(seen, "cluster"))
		if c.MachinePools > 0 {
			text += fmt.Sprintf(", and %s", plural(c.MachinePools, "MachinePool"))
		}
		parts = append(parts, text)
	}
	if c.MachinesUnseen > 0 {
		parts = append(parts, fmt.Sprintf("machines of %s are outdated then, which nobody has counted here", plural(c.MachinesUnseen, "cluster")))
	}
	if len(parts) == 0 {
		return "nothing that runs"
	}
	return strings.Join(parts, "; ")
}

// title names the clusters of a group: all of them, or some.
func title(g plan.Group, all bool) string {
	text := plural(len(g.Clusters), "cluster")
	if g.Change != plan.Changed {
		text += " " + strings.ToLower(string(g.Change))
	}
	return text + ": " + names(g.Clusters, all)
}

func names(clusters []string, all bool) string {
	if all || len(clusters) <= someClusters {
		return strings.Join(clusters, ", ")
	}
	return strings.Join(clusters[:someClusters], ", ") + fmt.Sprintf(" and %s more", number(len(clusters)-someClusters))
}

// originText says where an entry comes from: its layer, object and field.
func originText(e plan.Entry) string {
	if e.Audience != "" {
		return "for pods and values alone; drop-ins have it"
	}
	return strings.Join(slices.DeleteFunc([]string{e.Layer, e.Object, e.Field}, func(s string) bool { return s == "" }), " ")
}

// field says how a setting changes.
func field(f plan.Field) string {
	return fmt.Sprintf("%s -> %s", terminal.Dash(f.Before), terminal.Dash(f.After))
}

// deciders says who decides differently.
func deciders(d plan.Decision) string {
	if d.Audience == "go" {
		return "Go on machines"
	}
	return fmt.Sprintf("%d of %d clients", len(d.Clients), d.Of)
}

// decided says who decides differently, and how.
func decided(d plan.Decision, g plan.Group) string {
	text := fmt.Sprintf("%s: %s %s -> %s", deciders(d), d.URL, d.Before, d.After)
	if d.Clusters < len(g.Clusters) {
		text += fmt.Sprintf(" (in %s)", plural(d.Clusters, "cluster"))
	}
	return text
}

// unasked says of how many URLs no client was asked.
func unasked(g plan.Group) string {
	if g.Unasked == 0 {
		return ""
	}
	return "no client was asked about " + plural(g.Unasked, "URL") + " more below these entries"
}

// lists says which of the written lists differ.
func lists(g plan.Group) string {
	says := map[string]string{"any": "that of pods and charts (any)", "go": "that of machines (go)"}
	var all []string
	for _, l := range g.Lists {
		all = append(all, says[l])
	}
	return strings.Join(all, ", ")
}

// problems says what keeps Secrets from being written, or no longer does.
func problems(g plan.Group) []string {
	var all []string
	if p := g.Problem.Vanishes; p != nil {
		all = append(all, "no longer "+p.Reason+": "+p.Message)
	}
	if p := g.Problem.Appears; p != nil {
		all = append(all, p.Reason+": "+p.Message+"; the Secrets stay as they are")
	} else if g.Problem.Vanishes != nil {
		all = append(all, "the Secrets are written; what they have now is not known, so all of it counts as changed")
	}
	return all
}

// rollout returns the order in which clusters would be changed, and warnings about obstacles.
func rollout(w plan.Waves) (text string, warnings []string) {
	text = fmt.Sprintf("CorporateProxy %s: %s", w.Proxy, plural(w.Clusters, "cluster"))
	for i, wave := range w.Waves {
		join := ", "
		if i == 0 {
			join = " in waves: "
		}
		text += fmt.Sprintf("%s%s %s of %s", join, wave.Name, number(wave.Changed), number(wave.Of))
	}
	if len(w.Waves) == 0 {
		text += ", all at once"
	}
	if w.Invalid != "" {
		warnings = append(warnings, w.Invalid+": no cluster is changed (InvalidRollout)")
	}
	if w.Paused {
		warnings = append(warnings, "spec.rollout.paused is true: nothing is written before it is false")
	}
	if len(w.Without) > 0 {
		warnings = append(warnings, fmt.Sprintf("no wave selects %s, which keep what they have: %s", plural(len(w.Without), "cluster"), names(w.Without, false)))
	}
	for _, wave := range w.Empty {
		warnings = append(warnings, fmt.Sprintf("wave %s selects no cluster: the rollout stalls there", wave))
	}
	return text, warnings
}

func failure(f plan.Failure) string {
	client := f.Client
	if f.Version != "" {
		client += "@" + f.Version
	}
	return fmt.Sprintf("%s:%d: row %d: %s: %s: expected %s, got %s (%s), in %s: %s", f.File, f.Line, f.Row, client, f.URL, f.Expected, f.Got, f.Reason,
		plural(len(f.Clusters), "cluster"), names(f.Clusters, false))
}

// plural returns a number with its noun.
func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return number(n) + " " + noun + "s"
}

// withheld says what becomes of clusters that have a problem.
func withheld(clusters int) string {
	if clusters == 1 {
		return "1 cluster has a problem after the change and keeps its Secrets"
	}
	return plural(clusters, "cluster") + " have a problem after the change and keep their Secrets"
}

// number has commas between thousands.
func number(n int) string {
	text := fmt.Sprint(n)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}

// some returns the first of many.
func some[T any](all []T, n int) []T { return all[:min(len(all), n)] }

// more says how many of something are not shown.
func more(all, shown int, what string) string {
	if all <= shown {
		return ""
	}
	return fmt.Sprintf("and %s more; -o json has all", plural(all-shown, what))
}
