package importing

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/plan"
	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// Comparison compares the decisions of clients with the old settings of a cluster to those with Fairlead's.
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

// Row has the decisions of some clients about one URL.
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

// side is the environment of programs, before or after.
type side struct {
	env     dialect.Env
	sources map[string][]placed // of each variable
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
	lists := s.old(cluster)
	targets := targetsOf(union(lists(proxyenv.NoProxy), lists(proxyenv.LowerNoProxy)), effective)
	c := Comparison{System: s.System.Title, File: s.Place.File, Cluster: effective.Namespace + "/" + effective.Cluster, URLs: len(targets), Clients: len(choices)}
	onMachines := lists
	if s.System.bare && s.Effective == nil {
		onMachines = s.listOf
	}
	golang, _ := explain.Choose([]string{"go"})
	c.ask(s, noproxy.AudienceGo, golang, targets, onMachines, render.OnMachine(effective))
	c.ask(s, noproxy.AudienceAny, choices, targets, lists, effective)
	c.Same = c.Alike == c.Decisions
	return c
}

// ask compares two sides. The third has the old settings in variables of both cases: a client that decides there as with
// Fairlead's settings does not read the variables that the old system sets.
func (c *Comparison) ask(s Settings, audience noproxy.Audience, choices []dialect.Choice, targets []dialect.Target, old lists, effective resolve.Effective) {
	was, named, is := newSide(s.HTTP.URL, s.HTTPS.URL, s.Variables, old), newSide(s.HTTP.URL, s.HTTPS.URL, bothCases, old), sideOf(effective, audience)
	for _, name := range s.Blank {
		was.env[name] = ""
	}
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
				row.Why = s.System.Title + " sets " + strings.Join(s.setVariables(), ", ") + " alone, which is not what these clients read"
			default:
				row.Why = causeText(row)
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

// causeText says why clients decide differently.
func causeText(r Row) string {
	switch direct := dialect.Direct.String(); {
	case r.After.Decision == direct && r.After.Entry != "":
		return "Fairlead's list has " + r.After.Entry + " (" + r.After.From + ")"
	case r.Before.Decision == direct && r.Before.Entry != "":
		return "Fairlead's list has nothing for " + r.Before.Entry + " (" + r.Before.From + ") that these clients read"
	}
	return "before: " + r.Before.reason + "; now: " + r.After.reason
}

// lists are the lists that the other system writes, by the name of the variable.
type lists func(name string) []Entry

func (s Settings) old(cluster resolve.Cluster) lists {
	if s.Effective != nil {
		return func(string) []Entry { return s.Effective }
	}
	before, after := s.Added(cluster)
	return func(name string) []Entry { return slices.Concat(before, s.listOf(name), after) }
}

// listOf returns what the file has for a variable, or else for the same in the other case.
func (s Settings) listOf(name string) []Entry {
	for _, n := range []string{name, strings.ToUpper(name), strings.ToLower(name)} {
		if list, ok := s.Lists[n]; ok {
			return list
		}
	}
	return s.NoProxy
}

// newSide sets these variables, without credentials. A variable with an empty value is left out.
func newSide(http, https proxyurl.URL, variables []string, of lists) side {
	s := side{dialect.Env{}, map[string][]placed{}}
	for _, name := range variables {
		value := ""
		switch strings.ToUpper(name) {
		case proxyenv.HTTP:
			value = http.WithoutCredentials().String()
		case proxyenv.HTTPS:
			value = https.WithoutCredentials().String()
		case proxyenv.NoProxy:
			value, s.sources[name] = written(of(name))
		}
		if value != "" {
			s.env[name] = value
		}
	}
	return s
}

// written returns a list as a variable has it, and where each entry stands in it.
func written(entries []Entry) (list string, at []placed) {
	start := 0
	for _, e := range entries {
		end := start + len(e.Text)
		at = append(at, placed{start, end, e.Text, cmp.Or(e.Reason, e.Place.String())})
		start = end + 1
	}
	return strings.Join(textsOf(entries), ","), at
}

func sideOf(e resolve.Effective, audience noproxy.Audience) side {
	var entries []Entry
	for _, item := range e.NoProxy.For(audience) {
		entry := Entry{Text: item.Entry.String()}
		if len(item.Sources) > 0 {
			from := item.Sources[0]
			entry.Reason = strings.Join(strings.Fields(string(from.Layer)+" "+from.Object+" "+from.Field), " ")
		}
		entries = append(entries, entry)
	}
	return newSide(e.HTTP, e.HTTPS, bothCases, func(string) []Entry { return entries })
}

func (s side) answer(d dialect.Decision) Answer {
	a := Answer{Decision: d.Route.String(), reason: d.Reason}
	if d.Route == dialect.Proxy {
		a.Decision += " " + d.Hop.Address
	}
	for _, p := range s.sources[d.Variable] {
		if !d.Entry.Empty() && p.start <= d.Entry.Start && d.Entry.Start < p.end {
			a.Entry, a.From = explain.Shown(p.text), p.from
		}
	}
	return a
}

// setVariables returns the variables with a value.
func (s Settings) setVariables() []string {
	return slices.DeleteFunc(slices.Clone(s.Variables), func(name string) bool { return slices.Contains(s.Blank, name) })
}

// union returns the first list with what the second has besides.
func union(first, second []Entry) []Entry {
	texts := textsOf(first)
	return slices.Concat(first, slices.DeleteFunc(slices.Clone(second), func(e Entry) bool { return slices.Contains(texts, e.Text) }))
}

// targetsOf returns the URLs that both lists may decide about. A text that is no entry to Fairlead gives the URL of a
// host that resembles it.
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
	return plan.Targets(append(plan.URLs(old, effective.Entries), more...))
}
