package importing

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/plan"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/noproxy/dialect"
	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

// Comparison is what clients decide with the old settings of a cluster, and with Fairlead's.
type Comparison struct {
	System  string `json:"system"`
	File    string `json:"file"`
	Cluster string `json:"cluster"`
	// URLs were asked of each of the clients; those about programs on machines of Go's alone.
	URLs      int   `json:"urls"`
	Clients   int   `json:"clients"`
	Decisions int   `json:"decisions"` // of a client about a URL
	Alike     int   `json:"alike"`     // of these
	Same      bool  `json:"same"`
	Rows      []Row `json:"rows"`
}

// Row is what some clients decide about a URL.
type Row struct {
	Audience string   `json:"audience"` // any: the list of pods; go: that of machines
	URL      string   `json:"url"`
	Before   Answer   `json:"before"`
	After    Answer   `json:"after"`
	Same     bool     `json:"same"`
	Why      string   `json:"why,omitempty"` // where it is not the same
	Clients  []string `json:"clients"`
	Of       int      `json:"of"`
}

// Answer is a decision: direct, proxy with its address, or fails. The entry decided, if it is set.
type Answer struct {
	Decision string `json:"decision"`
	Entry    string `json:"entry,omitempty"`
	From     string `json:"from,omitempty"` // where the entry was written, or who adds it

	reason string
}

// side is what programs find around them.
type side struct {
	env     dialect.Env
	sources []placed
}

// placed is an entry at its place in the list.
type placed struct {
	start, end int
	text, from string
}

// Compare asks every client about every URL that the lists may decide about. Java's system properties are in neither: both
// systems set variables. Passwords are left out: they decide nothing.
func Compare(s Settings, cluster resolve.Cluster, effective resolve.Effective) Comparison {
	choices, _ := explain.Choose(nil) // every client there is
	entries := s.old(cluster)
	targets := targetsOf(entries, effective)
	c := Comparison{System: s.System.Title, File: s.Place.File, Cluster: effective.Namespace + "/" + effective.Cluster, URLs: len(targets), Clients: len(choices)}
	onMachines := entries
	if s.System.bare && s.Effective == nil {
		onMachines = s.NoProxy
	}
	golang := slices.DeleteFunc(slices.Clone(choices), func(c dialect.Choice) bool { return c.Client.Name != "go" })
	c.ask(s, noproxy.AudienceGo, golang, targets, s.side(onMachines, s.Variables), s.side(onMachines, bothCases), sideOf(render.OnMachine(effective), noproxy.AudienceGo))
	c.ask(s, noproxy.AudienceAny, choices, targets, s.side(entries, s.Variables), s.side(entries, bothCases), sideOf(effective, noproxy.AudienceAny))
	c.Same = c.Alike == c.Decisions
	return c
}

// ask compares two sides. The third is the old one with the variables in both cases: a client that decides as now with it
// misses a variable.
func (c *Comparison) ask(s Settings, audience noproxy.Audience, choices []dialect.Choice, targets []dialect.Target, was, named, is side) {
	deciders := make([][3]dialect.Decider, len(choices))
	for i, choice := range choices {
		deciders[i] = [3]dialect.Decider{choice.Read(was.env), choice.Read(named.env), choice.Read(is.env)}
	}
	for _, target := range targets {
		from := len(c.Rows)
		for i, choice := range choices {
			row := Row{Audience: string(audience), URL: target.URL, Before: was.answer(deciders[i][0](target)), After: is.answer(deciders[i][2](target)), Of: len(choices)}
			row.Same = row.Before.Decision == row.After.Decision
			c.Decisions++
			switch {
			case row.Same: // how it came to it does not matter
				c.Alike++
				row.Before, row.After = Answer{Decision: row.Before.Decision}, Answer{Decision: row.After.Decision}
			case named.answer(deciders[i][1](target)).Decision == row.After.Decision:
				row.Why = s.System.Title + " sets " + strings.Join(s.Variables, ", ") + " alone, which is not what these clients read"
			default:
				row.Why = why(row)
			}
			row.Before.reason, row.After.reason = "", ""
			c.merge(row, choice.Client.Name, from)
		}
	}
}

// merge adds a client to those that answer alike.
func (c *Comparison) merge(row Row, client string, from int) {
	for i := from; i < len(c.Rows); i++ {
		if r := &c.Rows[i]; r.Before == row.Before && r.After == row.After && r.Why == row.Why {
			r.Clients = append(r.Clients, client)
			return
		}
	}
	row.Clients = []string{client}
	c.Rows = append(c.Rows, row)
}

// why words the cause of a difference.
func why(r Row) string {
	switch direct := dialect.Direct.String(); {
	case r.After.Decision == direct && r.After.Entry != "":
		return "Fairlead's list has " + r.After.Entry + " (" + r.After.From + ")"
	case r.Before.Decision == direct && r.Before.Entry != "":
		return "Fairlead's list has nothing for " + r.Before.Entry + " (" + r.Before.From + ") that these clients read"
	}
	return "before: " + r.Before.reason + "; now: " + r.After.reason
}

// old is the list that the other system writes.
func (s Settings) old(cluster resolve.Cluster) []Entry {
	if s.Effective != nil {
		return s.Effective
	}
	before, after := s.System.Adds(s, cluster)
	return slices.Concat(before, s.NoProxy, after)
}

func (s Settings) side(entries []Entry, variables []string) side {
	var list strings.Builder
	var sources []placed
	for i, e := range entries {
		if i > 0 {
			list.WriteByte(',')
		}
		start, from := list.Len(), e.Reason
		if from == "" {
			from = e.Place.String()
		}
		list.WriteString(e.Text)
		sources = append(sources, placed{start, list.Len(), e.Text, from})
	}
	return side{environment(s.HTTP, s.HTTPS, list.String(), variables), sources}
}

// environment has these variables, without credentials and without what is empty.
func environment(http, https interface{ WithoutCredentials() proxyurl.URL }, list string, variables []string) dialect.Env {
	values := map[string]string{"HTTP_PROXY": http.WithoutCredentials().String(), "HTTPS_PROXY": https.WithoutCredentials().String(), "NO_PROXY": list}
	env := dialect.Env{}
	for _, name := range variables {
		if value := values[strings.ToUpper(name)]; value != "" {
			env[name] = value
		}
	}
	return env
}

func sideOf(e resolve.Effective, audience noproxy.Audience) side {
	list := e.NoProxy.For(audience)
	var sources []placed
	start := 0
	for _, item := range list {
		from, end := "", start+len(item.Entry.String())
		if len(item.Sources) > 0 {
			from = strings.Join(strings.Fields(strings.Join([]string{string(item.Sources[0].Layer), item.Sources[0].Object, item.Sources[0].Field}, " ")), " ")
		}
		sources = append(sources, placed{start, end, item.Entry.String(), from})
		start = end + 1
	}
	return side{environment(e.HTTP, e.HTTPS, list.String(), bothCases), sources}
}

func (s side) answer(d dialect.Decision) Answer {
	a := Answer{Decision: d.Route.String(), reason: d.Reason}
	if d.Route == dialect.Proxy {
		a.Decision += " " + d.Hop.Address
	}
	for _, p := range s.sources {
		if !d.Entry.Empty() && p.start <= d.Entry.Start && d.Entry.Start < p.end {
			a.Entry, a.From = explain.Shown(p.text), p.from
		}
	}
	return a
}

// targetsOf are the URLs that both lists may decide about. Of what is no entry to Fairlead, what it looks like is asked.
func targetsOf(entries []Entry, effective resolve.Effective) []dialect.Target {
	var old noproxy.List
	var more []string
	for _, e := range entries {
		entry, err := noproxy.Parse(e.Text)
		if err == nil {
			old = append(old, noproxy.Item{Entry: entry})
			continue
		}
		host, _, _ := strings.Cut(strings.Trim(strings.ReplaceAll(e.Text, "*", "7"), "."), "-")
		more = append(more, "https://"+host+"/")
	}
	var targets []dialect.Target
	for _, url := range append(plan.URLs(old, effective.Entries), more...) {
		if target, err := dialect.ParseTarget(url); err == nil {
			targets = append(targets, target)
		}
	}
	return targets
}
