package explain

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy/dialect"
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
	return []dialect.Choice{client.At(version)}, nil
}

// spanned returns the successive behaviours that span calls by this name; none
// for a client's plain name, which is also that of its newest behaviour.
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
