package explain

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/dialect"
	"github.com/fairlead-io/fairlead/noproxy/dialect/vector"
)

// Mismatch is an expectation that a client does not meet.
type Mismatch struct {
	File string `json:"file"` // that has the expectation; "": none
	Row  int    `json:"row"`  // in the file, counted from 1
	Line int    `json:"line"`

	Client   string `json:"client"`
	Version  string `json:"version,omitempty"`
	URL      string `json:"url"`
	Given    string `json:"given"` // the list, or the name of the environment
	Expected string `json:"expected"`
	Got      string `json:"got"`
	// Credentials says that the proxy gets others than expected. Neither is shown.
	Credentials bool   `json:"credentialsDiffer,omitempty"`
	Reason      string `json:"reason"`
}

// Checker compares expectations with what clients do. It reads each list once
// for each client, as files of expectations ask about few lists in many ways.
type Checker struct {
	deciders map[question]dialect.Decider
	given    *Configuration // of rows without a list of their own
	title    string
}

// NewChecker returns a Checker.
func NewChecker() *Checker { return &Checker{deciders: map[question]dialect.Decider{}} }

// NewCheckerOf returns a Checker whose rows may be about this configuration, which the title names.
func NewCheckerOf(given Configuration, title string) *Checker {
	c := NewChecker()
	c.given, c.title = &given, title
	return c
}

// Check returns nil if the client of a row does as expected.
func (c *Checker) Check(row vector.Row) (*Mismatch, error) {
	choice, err := row.Choice()
	if err != nil {
		return nil, err
	}
	target, err := row.Target()
	if err != nil {
		return nil, err
	}
	decision := c.decider(choice, row)(target)
	got := decision.Route.String()
	if row.Observed != "" {
		got = vector.Observe(choice, decision)
	}
	if got == row.Want() {
		return nil, nil //nolint:nilnil // there is no mismatch
	}
	expected, got, differ := withoutCredentials(row.Want()), withoutCredentials(got), got != row.Want()
	return &Mismatch{
		Client: row.Client, Version: row.Version, URL: target.URL, Given: c.nameOf(row),
		Expected: expected, Got: got, Credentials: differ && expected == got, Reason: decision.Reason,
	}, nil
}

func (c *Checker) decider(choice dialect.Choice, row vector.Row) dialect.Decider {
	key := question{client: choice.Client.Name, since: choice.Since, environment: fmt.Sprintf("%t %q", row.Env != nil, row.Env), listed: row.NoProxy != nil}
	if row.NoProxy != nil {
		key.list = *row.NoProxy
	}
	decide, read := c.deciders[key]
	if !read {
		env := row.Environment()
		if c.about(row) {
			env = c.given.env()
		}
		decide = choice.Read(env)
		c.deciders[key] = decide
	}
	return decide
}

// about says whether the row is about the configuration that is given.
func (c *Checker) about(row vector.Row) bool { return c.given != nil && row.Listless() }

func (c *Checker) nameOf(row vector.Row) string {
	if c.about(row) {
		return c.title
	}
	return surroundings(row)
}

// question is everything of a row that a client reads but the URL.
type question struct {
	client, since     string
	list, environment string
	listed            bool
}

// withoutCredentials hides what an observation says of them.
func withoutCredentials(observed string) string {
	if before, _, ok := strings.Cut(observed, "auth="); ok {
		return before + "auth=***"
	}
	return observed
}

// surroundings names the variables or the list that the client gets.
func surroundings(row vector.Row) string {
	switch {
	case len(row.Env) > 0 && (row.Name == "" || strings.Contains(row.Name, "@")):
		return "variables " + strings.Join(slices.Sorted(maps.Keys(row.Env)), ", ")
	case row.Env != nil && row.Name == "":
		return "an empty environment"
	case row.Env != nil:
		return "environment " + row.Name
	case row.NoProxy == nil:
		return "no list"
	case noproxy.Shown(*row.NoProxy, *row.NoProxy) == noproxy.Hidden:
		return "a list that is hidden: a URL with user information is in it"
	}
	return "NO_PROXY " + strconv.Quote(*row.NoProxy)
}
