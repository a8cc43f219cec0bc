package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// Plan says what a change does. Its encoding as JSON is stable.
type Plan struct {
	Digest  string `json:"digest"` // SHA-256 of everything else
	Changed bool   `json:"changed"`
	Summary Totals `json:"summary"`

	// Groups are the clusters that change alike, the largest group first.
	Groups []Group `json:"groups"`
	// Clusters that change, by name.
	Clusters []Change `json:"clusters"`
	// Rollouts that would be needed.
	Rollouts []Waves `json:"rollouts"`
	// Unknown says what was given and cannot be compared: there may be a change.
	Unknown []string `json:"unknown,omitempty"`
	// Notes say which settings are not compared.
	Notes []string `json:"notes"`
	// Expectations of the new lists; nil: none were given.
	Expectations *Expectations `json:"expectations,omitempty"`
}

// Totals count all clusters of the plan.
type Totals struct {
	Clusters  int `json:"clusters"` // in both states together
	Changed   int `json:"changed"`
	Added     int `json:"added"`
	Removed   int `json:"removed"`
	Withheld  int `json:"withheld"`  // have a problem after the change, and keep their Secrets
	Entries   int `json:"entries"`   // that come or go somewhere
	Decisions int `json:"decisions"` // of a client about a URL that change somewhere
	Cost
}

// Check is an expectation file.
type Check struct {
	File string
	Data []byte
}

// Options say what else is wanted.
type Options struct {
	Checks   []Check
	Progress func(done, all int) // called for each cluster; may be nil
}

// CredentialsNote stands in every plan.
const CredentialsNote = "Passwords and user names are not compared, only the names of the Secrets that have them."

// Compare returns what becomes of a fleet. An error is about an expectation.
func Compare(before, after State, options Options) (Plan, error) {
	p := Plan{Clusters: []Change{}, Rollouts: []Waves{}, Unknown: after.Unknown, Notes: notes(before, after)}
	earlier, current := byName(before), byName(after)
	asked := newClients()
	names := namesOf(earlier, current)
	for i, name := range names {
		if change, ok := asked.change(earlier[name], current[name]); ok {
			p.Clusters = append(p.Clusters, change)
		}
		if options.Progress != nil {
			options.Progress(i+1, len(names))
		}
	}
	p.Groups = groups(p.Clusters)
	p.Changed = len(p.Clusters)+len(p.Unknown) > 0
	p.Summary = total(len(names), after, p)
	p.Rollouts = rollouts(after, p.Clusters)
	if len(options.Checks) > 0 {
		var err error
		if p.Expectations, err = check(after, options.Checks); err != nil {
			return Plan{}, err
		}
	}
	p.Digest = digest(p)
	return p, nil
}

func byName(s State) map[string]*Cluster {
	all := make(map[string]*Cluster, len(s.Clusters))
	for i := range s.Clusters {
		all[s.Clusters[i].name()] = &s.Clusters[i]
	}
	return all
}

// namesOf returns the keys of all maps.
func namesOf[T any](all ...map[string]T) []string {
	var names []string
	for _, m := range all {
		names = slices.AppendSeq(names, maps.Keys(m))
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func notes(states ...State) []string {
	all := []string{CredentialsNote}
	for _, s := range states {
		all = append(all, s.Notes...)
	}
	return unique(all)
}

// digest is made of everything that the plan says.
func digest(p Plan) string {
	text, _ := json.Marshal(p) // texts and numbers
	return fmt.Sprintf("%x", sha256.Sum256(text))
}

func total(clusters int, after State, p Plan) Totals {
	t := Totals{Clusters: clusters, Cost: costOf(p.Clusters)}
	entries, decisions := map[string]bool{}, map[string]bool{}
	for _, c := range p.Clusters {
		switch c.Change {
		case Added:
			t.Added++
		case Removed:
			t.Removed++
		default:
			t.Changed++
			for _, e := range slices.Concat(c.Comes, c.Goes) {
				entries[e.Entry] = true
			}
		}
		for _, d := range c.decisions {
			for _, client := range d.Clients {
				decisions[d.Audience+" "+client+" "+d.URL] = true
			}
		}
	}
	for _, c := range after.Clusters {
		if c.Problem != nil {
			t.Withheld++
		}
	}
	t.Entries, t.Decisions = len(entries), len(decisions)
	return t
}

// Expectations are the results of files of expectations, on the new list of every cluster.
type Expectations struct {
	Clusters int       `json:"clusters"` // whose lists were asked
	Failed   int       `json:"failed"`
	Failures []Failure `json:"failures"`
}

// Failure is an expectation that is not met in some clusters.
type Failure struct {
	explain.Mismatch
	Clusters []string `json:"clusters"`
}
