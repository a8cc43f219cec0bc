package dialect

import (
	"fmt"
	"slices"
	"strings"
)

// Client is a program or library that reads proxy variables in a way of its own.
type Client struct {
	Name      string   // such as "curl" or "python-requests"
	Aliases   []string // other names it is asked for by, such as "libcurl"
	Programs  []string // programs that it is asked for by, with versions of their own
	AlsoReads []string // well-known programs that are built on it, for people: "git", "pip"
	// Behaviours in the order of their versions, oldest first; at least one.
	Behaviours []Behaviour
	// Release turns the client's own way of naming a version, such as "8.2.35
	// libcurl 7.88.1", into the number that Since is compared with. Nil: the
	// first number in it.
	Release func(version string) string
	// Written is a version as it is asked for, where a number alone is none that
	// decides.
	Written string
	// Latest is the newest release that is known, as far as its number is looked
	// at: "1.27" for 1.27.3 as well, and "2" for 2.99. Empty: any number is taken.
	Latest string
}

// Behaviour is how a client behaves from one version on.
type Behaviour struct {
	Since  string // the first version that does; empty for the first behaviour
	Change string // what changed with it, for people; empty for the first
	Source string // where the rules are from: repository, file, version
	Read   func(Env) Decider
	// Resolves says that NO_PROXY is not asked about a name, but about what it
	// resolves to.
	Resolves bool
	// Observe words what a measurement of this client records, where that is
	// not a connection to a proxy but the result of a function. Usually nil.
	Observe func(Decision) string
}

// versions are behaviours as a table: the version that changed something, what
// it changed, where the rules are from, and the rules.
type versions []struct {
	since, change, source string
	read                  func(Env) Decider
}

func (v versions) behaviours() []Behaviour {
	behaviours := make([]Behaviour, len(v))
	for i, row := range v {
		behaviours[i] = Behaviour{Since: row.since, Change: row.change, Source: row.source, Read: row.read}
	}
	return behaviours
}

// Choice is a client in one of its behaviours.
type Choice struct {
	Client *Client
	Behaviour
	Version string // as it was asked for; empty: the newest
}

// String returns "name" or "name@version".
func (c Choice) String() string {
	if c.Version == "" {
		return c.Client.Name
	}
	return c.Client.Name + "@" + c.Version
}

func (c *Client) clone() *Client {
	own := *c
	own.Aliases, own.Programs = slices.Clone(c.Aliases), slices.Clone(c.Programs)
	own.AlsoReads, own.Behaviours = slices.Clone(c.AlsoReads), slices.Clone(c.Behaviours)
	return &own
}

func (c *Client) isAlias(name string) bool {
	return slices.ContainsFunc(c.Aliases, func(alias string) bool { return strings.EqualFold(alias, name) })
}

// IsProgram reports whether the name is one of Programs: its versions are not
// those of the client.
func (c *Client) IsProgram(name string) bool {
	return slices.ContainsFunc(c.Programs, func(program string) bool { return strings.EqualFold(program, name) })
}

// Newest returns the client as of its newest known behaviour.
func (c *Client) Newest() Choice {
	return Choice{Client: c, Behaviour: c.Behaviours[len(c.Behaviours)-1]}
}

// Check returns an error if the client has no such version, as far as is known.
func (c *Client) Check(version string) error {
	parts := strings.Split(c.release(version), ".")
	number := strings.Join(parts[:min(len(parts), 1+strings.Count(c.Latest, "."))], ".")
	if c.Latest == "" || number == "" || compareVersions(number, c.Latest) <= 0 {
		return nil
	}
	return fmt.Errorf("%s has no version %s that is known: the newest is %s; without a version, its rules are meant", c.Name, version, c.newestKnown())
}

// newestKnown is the newest release that is known, as exactly as it is.
func (c *Client) newestKnown() string {
	newest := c.Latest
	for _, choice := range c.Choices() {
		for _, version := range append(choice.Measured(), choice.Since) {
			if number := c.release(version); number != "" && compareVersions(number, newest) > 0 {
				newest = number
			}
		}
	}
	return newest
}

func (c *Client) release(version string) string {
	if c.Release != nil {
		return c.Release(version)
	}
	return firstNumber(version)
}

// At returns the client as of a version. A version in which no number can be
// found, such as a commit, has the newest behaviour.
func (c *Client) At(version string) Choice {
	choice := Choice{Client: c, Behaviour: c.Behaviours[0], Version: version}
	number := c.release(version)
	for _, behaviour := range c.Behaviours[1:] {
		if number == "" || compareVersions(behaviour.Since, number) <= 0 {
			choice.Behaviour = behaviour
		}
	}
	return choice
}

// Find returns the client of that name, alias or program. What stands in parentheses
// after the name, such as "(trust_env)", only says how it was run.
func Find(name string) (*Client, error) {
	for _, asked := range []string{name, strings.TrimSpace(beforeParenthesis(name))} {
		for _, client := range clients {
			if strings.EqualFold(client.Name, asked) || client.isAlias(asked) || client.IsProgram(asked) {
				return client.clone(), nil
			}
		}
	}
	if near := namesLike(name); len(near) > 0 {
		return nil, fmt.Errorf("unknown client %q; did you mean %s?", name, strings.Join(near, " or "))
	}
	return nil, fmt.Errorf("unknown client %q; known are %s", name, strings.Join(Names(), ", "))
}

// namesLike are the clients with the word in any of their names.
func namesLike(word string) []string {
	var near []string
	for _, client := range clients {
		all := slices.Concat([]string{client.Name}, client.Aliases, client.AlsoReads)
		if len(word) > 1 && slices.ContainsFunc(all, func(name string) bool { return strings.Contains(strings.ToLower(name), strings.ToLower(word)) }) {
			near = append(near, client.Name)
		}
	}
	return near
}

// Names returns the names of all clients, in the order of Clients.
func Names() []string {
	var names []string
	for _, client := range clients {
		names = append(names, client.Name)
	}
	return names
}

func beforeParenthesis(text string) string {
	before, _, _ := strings.Cut(text, "(")
	return before
}

// firstNumber returns the first dotted number of a version: "8.18" of ">=8.18
// (source …)", "" of "runtime@02a63a5".
func firstNumber(version string) string {
	if strings.Contains(version, "@") { // a commit
		return ""
	}
	start := strings.IndexAny(version, "0123456789")
	if start < 0 {
		return ""
	}
	number := version[start:]
	if end := strings.IndexFunc(number, func(r rune) bool { return r != '.' && (r < '0' || r > '9') }); end >= 0 {
		number = number[:end]
	}
	return strings.Trim(number, ".")
}

// compareVersions compares dotted numbers part by part; a missing part is 0.
func compareVersions(a, b string) int {
	as, bs := strings.Split(a, "."), strings.Split(b, ".")
	for i := range max(len(as), len(bs)) {
		if order := comparePart(part(as, i), part(bs, i)); order != 0 {
			return order
		}
	}
	return 0
}

func part(parts []string, i int) string {
	if i >= len(parts) {
		return ""
	}
	return strings.TrimLeft(parts[i], "0")
}

// comparePart compares two numbers without leading zeros.
func comparePart(a, b string) int {
	if len(a) != len(b) {
		return len(a) - len(b)
	}
	return strings.Compare(a, b)
}

// Choices returns the client in each of its behaviours, oldest first.
func (c *Client) Choices() []Choice {
	choices := make([]Choice, len(c.Behaviours))
	for i, behaviour := range c.Behaviours {
		choices[i] = Choice{Client: c, Behaviour: behaviour, Version: behaviour.Since}
	}
	return choices
}

// All returns every client in every behaviour.
func All() []Choice {
	var all []Choice
	for _, client := range Clients() {
		all = append(all, client.Choices()...)
	}
	return all
}

// Between names the client with the versions of its behaviours from first to
// last, such as "curl before 7.86" or "curl from 8.10".
func (c *Client) Between(first, last int) string {
	newest := len(c.Behaviours) - 1
	switch {
	case first == 0 && last == newest:
		return c.Name
	case first == 0:
		return c.Name + " before " + c.Behaviours[last+1].Since
	case last == newest:
		return c.Name + " from " + c.Behaviours[first].Since
	}
	return c.Name + " " + c.Behaviours[first].Since + " to before " + c.Behaviours[last+1].Since
}
