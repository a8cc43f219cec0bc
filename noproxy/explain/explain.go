// Package explain asks clients about URLs, and words the answers for people:
// what each client does, which entry of NO_PROXY decided, where that entry was
// written, and what the others do not read. The command line prints the
// answers as a table or as JSON, and package page as a web page.
//
// No credential comes out of it, whatever went in.
package explain

import (
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Configuration has the proxy settings that the clients read.
type Configuration struct {
	// The proxy URLs; an empty one is not set.
	HTTP, HTTPS string
	List        List
}

func (c Configuration) env() dialect.Env {
	return dialect.Uniform(c.HTTP, c.HTTPS, c.List.text, c.List.java)
}

// Explanation has the decisions of clients about one URL. Its encoding as JSON is
// stable.
type Explanation struct {
	URL string `json:"url"` // less user information
	// Agree says that all clients decide alike; where they use the proxy, that
	// it is the same one.
	Agree     bool     `json:"agree"`
	Summary   string   `json:"summary"` // one sentence
	Decisions []Answer `json:"decisions"`
}

// Answer is the decision of one client about the URL, and the reason.
type Answer struct {
	Client   string  `json:"client"`
	Version  string  `json:"version,omitempty"`  // empty: the newest behaviour
	Since    string  `json:"since,omitempty"`    // the newest behaviour decides so from this version on; empty: in every version
	Earlier  []Range `json:"earlier,omitempty"`  // what the versions before that decide, the newest first
	Decision string  `json:"decision"`           // direct, proxy, fails or depends
	Entry    string  `json:"entry"`              // the deciding entry; empty where none decided
	Source   *Source `json:"source,omitempty"`   // where that entry was written
	Variable string  `json:"variable,omitempty"` // what decided: of NO_PROXY or of the proxy
	Reason   string  `json:"reason"`
	Proxy    string  `json:"proxy,omitempty"` // host:port
	// Measured are the versions with this behaviour that were run and asked; none:
	// it was only read from the client's source. Rules says where they are from.
	Measured []string `json:"measured"`
	Rules    string   `json:"rules"`

	choice  dialect.Choice
	route   dialect.Route
	written string // the entry as NO_PROXY has it
}

// Name returns "curl", "curl@7.74", "curl before 7.86" or, where earlier
// versions decide otherwise, "curl from 7.86".
func (a Answer) Name() string {
	if a.Since != "" {
		return a.Client + " from " + a.Since
	}
	return name(a.choice)
}

// Evaluate asks every client about every URL.
func Evaluate(c Configuration, choices []dialect.Choice, targets []dialect.Target) []Explanation {
	env := c.env()
	explanations := make([]Explanation, len(targets))
	for i, target := range targets {
		explanations[i].URL = target.URL
	}
	for _, choice := range choices {
		decide := choice.Read(env) // once for all URLs: lists may be long
		border := borderOf(choice, env)
		for i, target := range targets {
			answer := c.answer(env, choice, decide(target))
			answer.Since, answer.Earlier = border.find(target, answer.route)
			explanations[i].Decisions = append(explanations[i].Decisions, answer)
		}
	}
	for i, target := range targets {
		e := &explanations[i]
		e.Agree = agree(e.Decisions)
		e.Summary = sentence{c, target, e.Decisions}.String()
	}
	return explanations
}

func (c Configuration) answer(env dialect.Env, choice dialect.Choice, d dialect.Decision) Answer {
	a := Answer{
		Client: choice.Client.Name, Version: choice.Version,
		Decision: d.Route.String(), Variable: d.Variable, Reason: d.Reason,
		Measured: append([]string{}, choice.Measured()...), Rules: choice.Source,
		Proxy:  strings.ToLower(d.Hop.Address),
		choice: choice, route: d.Route,
	}
	if entry := strings.TrimSpace(d.Entry.Of(env[d.Variable])); entry != "" {
		a.Entry = c.List.shown(entry)
		origin := c.List.origin(d.Variable, d.Entry.Start, entry)
		a.Source, a.written = origin.Source, c.List.shown(origin.Text)
	}
	return a
}

// Shown returns an entry as it goes to a terminal: one line, and no sequences
// that the terminal would follow.
func Shown(entry string) string {
	if strings.ContainsFunc(entry, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return strconv.Quote(entry)
	}
	return entry
}

func agree(answers []Answer) bool {
	return !slices.ContainsFunc(answers, func(a Answer) bool { return a.route != answers[0].route || a.Proxy != answers[0].Proxy })
}

// Agree reports whether the clients agree on every URL.
func Agree(explanations []Explanation) bool {
	return !slices.ContainsFunc(explanations, func(e Explanation) bool { return !e.Agree })
}

// Source is where an entry was written.
type Source struct {
	Layer  string `json:"layer,omitempty"` // empty for --no-proxy
	Object string `json:"object,omitempty"`
	Field  string `json:"field,omitempty"`
}

// String returns the source in one line.
func (s *Source) String() string {
	if s == nil {
		return ""
	}
	parts := slices.DeleteFunc([]string{s.Layer, s.Object, s.Field}, func(part string) bool { return part == "" })
	return strings.Join(parts, " ")
}

func sourceOf(item noproxy.Item) *Source {
	if len(item.Sources) == 0 {
		return nil
	}
	s := item.Sources[0]
	return &Source{string(s.Layer), s.Object, s.Field}
}
