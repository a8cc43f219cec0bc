package page

import (
	"fmt"
	"html/template" // the type of a style sheet
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

type view struct {
	Subject, Verdict string
	Style            template.CSS
	Entries          []explain.Entry
	Columns          []column
	Rows             []row
	Routes           []route
}

// column is a URL.
type column struct {
	URL, Scheme string
	Rest        []string // the authority and the path, cut where a line may end
	Agree       bool
	Summary     string
	Counts      []count
}

// row is a client.
type row struct {
	Name, AlsoReads string
	Cells           []cell
}

// cell is a client's decision about a URL.
type cell struct {
	Word, Route, Entry, From, Reason string
	Agree, Left                      bool // Left: the note about it opens to the left
}

// count is how many clients go one way.
type count struct {
	Route  string
	Number int
}

// route is a line of the legend.
type route struct{ Name, Meaning string }

var routes = []route{
	{dialect.Direct.String(), "straight to the host"},
	{dialect.Proxy.String(), "through the proxy"},
	{dialect.Fails.String(), "the client reports an error"},
	{dialect.Depends.String(), "up to the address of the name"},
}

func columns(explanations []explain.Explanation) []column {
	all := make([]column, len(explanations))
	for i, e := range explanations {
		scheme, rest, _ := strings.Cut(e.URL, "://")
		all[i] = column{
			URL: e.URL, Scheme: scheme, Rest: broken(strings.TrimSuffix(rest, "/")),
			Agree: e.Agree, Summary: e.Summary, Counts: counts(e),
		}
	}
	return all
}

// broken cuts a host behind its dots; an address stays whole.
func broken(rest string) []string {
	if host, _, _ := strings.Cut(rest, "/"); strings.Trim(host, "0123456789.:") == "" {
		return []string{rest}
	}
	return strings.SplitAfter(rest, ".")
}

func counts(e explain.Explanation) []count {
	var all []count
	for _, r := range routes {
		c := count{Route: r.Name}
		for _, answer := range e.Decisions {
			if answer.Decision == r.Name {
				c.Number++
			}
		}
		if c.Number > 0 {
			all = append(all, c)
		}
	}
	return all
}

func rows(explanations []explain.Explanation) []row {
	var all []row
	for _, r := range explain.Rows(explanations) {
		shown := row{Name: r.Name, AlsoReads: strings.Join(r.AlsoReads, ", ")}
		for i, a := range r.Answers {
			e := explanations[i]
			shown.Cells = append(shown.Cells, cell{
				Word: e.Word(a), Route: a.Decision, Entry: explain.Shown(a.Entry), From: a.Source.String(), Reason: reason(a),
				Agree: e.Agree, Left: i > 0 && i >= len(explanations)/2,
			})
		}
		all = append(all, shown)
	}
	return all
}

// reason says also whether earlier versions decide otherwise.
func reason(a explain.Answer) string {
	if a.Since == "" {
		return a.Reason
	}
	text := fmt.Sprintf("%s (from %s on; before that: %s", a.Reason, a.Since, a.Earlier[0].Decision)
	for _, earlier := range a.Earlier[1:] {
		text += fmt.Sprintf("; %s: %s", earlier, earlier.Decision)
	}
	return text + ")"
}

func verdict(explanations []explain.Explanation) string {
	disagree, clients := 0, map[string]bool{}
	for _, e := range explanations {
		if !e.Agree {
			disagree++
		}
		for _, a := range e.Decisions {
			clients[a.Client] = true
		}
	}
	who := many(len(clients), "client")
	if disagree == 0 {
		return fmt.Sprintf("%s, %s: no disagreement", who, many(len(explanations), "URL"))
	}
	return fmt.Sprintf("%s disagree on %d of %s", who, disagree, many(len(explanations), "URL"))
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
