package explain

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// all asks for every behaviour of every client.
const all = "all"

// Choose returns the clients of these names, each once: "curl" as of its newest
// behaviour, "curl@8.5" as of a version, "curl before 7.86" as the behaviours
// that answers call so, "all" for every behaviour of every client. Without a name it
// returns every client as of its newest behaviour.
func Choose(names []string) ([]dialect.Choice, error) {
	if len(names) == 0 {
		for _, client := range dialect.Clients() {
			names = append(names, client.Name)
		}
	}
	var chosen []dialect.Choice
	seen := map[string]bool{}
	for _, name := range names {
		choices, err := choose(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		for _, choice := range choices {
			if text := choice.String(); !seen[text] {
				seen[text] = true
				chosen = append(chosen, choice)
			}
		}
	}
	return chosen, nil
}

func choose(name string) ([]dialect.Choice, error) {
	if name == all {
		return labelledAll(dialect.All()), nil
	}
	if choices := spanned(name); choices != nil {
		return choices, nil
	}
	name, version, versioned := strings.Cut(name, "@")
	version = strings.TrimPrefix(version, "v") // as go version -m prints it
	if name == "" {
		return nil, errors.New("a client's name is missing")
	}
	client, err := dialect.Find(name)
	switch {
	case err != nil:
		return nil, err
	case !versioned:
		return []dialect.Choice{client.Newest()}, nil
	case version == "" || version[0] < '0' || version[0] > '9':
		return nil, fmt.Errorf("client %s: a version such as 1.2 follows the @", client.Name)
	}
	if client.IsProgram(name) {
		return nil, fmt.Errorf("client %s: %s has versions of its own, and decides as %s does: leave the version out", client.Name, name, client.Name)
	}
	if client.Written != "" && client.Release(version) == "" {
		return nil, fmt.Errorf("client %s: version %s does not say what decides: write it as %q", client.Name, version, client.Written)
	}
	if err := client.Check(version); err != nil {
		return nil, fmt.Errorf("client %w", err)
	}
	return []dialect.Choice{client.At(version)}, nil
}

// spanned returns the successive behaviours that have this name as a span. For a
// client's plain name, which also stands for its newest behaviour, it returns none.
func spanned(name string) []dialect.Choice {
	for _, client := range dialect.Clients() {
		choices := client.Choices()
		for first := range choices {
			for last := first; last < len(choices); last++ {
				if name != client.Name && name == client.Between(first, last) {
					return labelledAll(choices[first : last+1])
				}
			}
		}
	}
	return nil
}

func labelledAll(choices []dialect.Choice) []dialect.Choice {
	for i := range choices {
		choices[i] = labelled(choices[i])
	}
	return choices
}

// label names a behaviour by the versions that have it: "curl from 8.21".
func label(choice dialect.Choice) string {
	return choice.Client.Between(place(choice), place(choice))
}

// labelled gives a behaviour the versions of its label; none where the client
// has but one.
func labelled(choice dialect.Choice) dialect.Choice {
	choice.Version = strings.TrimSpace(strings.TrimPrefix(label(choice), choice.Client.Name))
	return choice
}

// name is how people call a client in one of its behaviours: "curl" is the
// newest, "curl@7.74" a version, "curl before 7.86" a behaviour.
func name(choice dialect.Choice) string {
	if isLabelled(choice) {
		return label(choice)
	}
	return choice.String()
}

// isLabelled reports whether a behaviour was asked for as such, not by a version
// that has it.
func isLabelled(choice dialect.Choice) bool { return choice.Version == labelled(choice).Version }

// place is which of its client's behaviours a choice is.
func place(choice dialect.Choice) int {
	return slices.IndexFunc(choice.Client.Behaviours, func(b dialect.Behaviour) bool { return b.Since == choice.Since })
}

// follows reports whether a choice is the behaviour after another of one client.
func follows(choice, before dialect.Choice) bool {
	return choice.Client.Name == before.Client.Name && isLabelled(choice) && isLabelled(before) && place(choice) == place(before)+1
}

// span names successive behaviours of one client; "curl" are all of them.
func span(first, last dialect.Choice) string {
	if first.String() == last.String() {
		return name(first)
	}
	return first.Client.Between(place(first), place(last))
}

// names names clients, successive behaviours of one together.
func names(answers []Answer) []string {
	var all []string
	for start := 0; start < len(answers); {
		end := start + 1
		for end < len(answers) && follows(answers[end].choice, answers[end-1].choice) {
			end++
		}
		if end == start+1 {
			all = append(all, answers[start].Name())
		} else {
			all = append(all, span(answers[start].choice, answers[end-1].choice))
		}
		start = end
	}
	return all
}

// Row is a client in one behaviour, or in successive ones that do the same.
type Row struct {
	Name      string
	AlsoReads []string // well-known programs that are built on it
	Measured  []string // versions that were run; none: read from source only
	Sources   []string // where the rules are from
	Answers   []Answer // one for each explanation
}

// Rows returns the answers by client. The explanations are about the same
// clients in the same order.
func Rows(explanations []Explanation) []Row {
	if len(explanations) == 0 {
		return nil
	}
	var rows []Row
	var first dialect.Choice
	for i, a := range explanations[0].Decisions {
		if i > 0 && follows(a.choice, explanations[0].Decisions[i-1].choice) && sameAsBefore(explanations, i) {
			last := &rows[len(rows)-1]
			last.Name, last.Measured, last.Sources = span(first, a.choice), append(last.Measured, a.Measured...), append(last.Sources, a.Rules)
			continue
		}
		first = a.choice
		row := Row{Name: name(a.choice), AlsoReads: a.choice.Client.AlsoReads, Measured: slices.Clone(a.Measured), Sources: []string{a.Rules}}
		if len(explanations) == 1 { // of several, each may hold from another version on
			row.Name = a.Name()
		}
		for _, e := range explanations {
			row.Answers = append(row.Answers, e.Decisions[i])
		}
		rows = append(rows, row)
	}
	return rows
}

func sameAsBefore(explanations []Explanation, i int) bool {
	return !slices.ContainsFunc(explanations, func(e Explanation) bool {
		return !e.groupOf(e.Decisions[i]).same(e.groupOf(e.Decisions[i-1]))
	})
}
