package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy/dialect"
)

// sentence says in one sentence what clients do with a URL, and where they
// disagree, what it is that some of them do not read.
type sentence struct {
	configuration Configuration
	target        dialect.Target
	answers       []Answer
}

// String returns the sentence, without a full stop: it may end in an entry, and
// example.com. is not example.com.
func (s sentence) String() string {
	var parts []string
	switch {
	case len(s.answers) == 0:
		return "no client was asked"
	case agree(s.answers):
		return s.agreement()
	case len(s.of(dialect.Proxy)) == len(s.answers):
		parts = s.proxies()
	default:
		parts = slices.Concat(s.direct(), s.proxied(), s.failing())
	}
	return strings.Join(parts, "; ")
}

// of returns the answers of one route.
func (s sentence) of(route dialect.Route) []Answer {
	return slices.DeleteFunc(slices.Clone(s.answers), func(a Answer) bool { return a.route != route })
}

func (s sentence) agreement() string {
	who, verb := "All "+count(len(s.answers)), plural
	switch len(s.answers) {
	case 1:
		who, verb = s.answers[0].Name(), singular
	case 2:
		who = "Both clients"
	}
	entries, reasons := values(s.answers, entryOf), values(s.answers, reasonOf)
	text := who + " " + verb(s.answers[0].route)
	switch {
	case entries[0] != "" && len(entries) <= 2:
		text += " because of " + strings.Join(entries, " or ")
	case len(reasons) == 1:
		text += ": " + reasons[0]
	}
	return text
}

// direct names those that go direct: because of an entry, or by a rule of their own.
func (s sentence) direct() []string {
	var byEntry, byRule []Answer
	for _, a := range s.of(dialect.Direct) {
		if a.Entry != "" {
			byEntry = append(byEntry, a)
		} else {
			byRule = append(byRule, a)
		}
	}
	var parts []string
	if len(byEntry) > 0 {
		entries := values(byEntry, entryOf)
		because := strings.Join(entries[:min(2, len(entries))], " or ")
		if len(entries) > 2 {
			because = entries[0] + " or other entries"
		}
		parts = append(parts, who(byEntry)+" "+verb(byEntry)+" because of "+because)
	}
	for _, reason := range values(byRule, reasonOf) {
		same := with(byRule, reasonOf, reason)
		parts = append(parts, fmt.Sprintf("%s %s (%s)", who(same), verb(same), reason))
	}
	return parts
}

// proxied names those that use the proxy, and what the others read that they do not.
func (s sentence) proxied() []string {
	answers := s.of(dialect.Proxy)
	entry := s.decidingEntry()
	if len(answers) == 0 {
		return nil
	}
	if entry == "" {
		return []string{who(answers) + " " + verb(answers)}
	}
	claim := claimFor(entry, s.target)
	words := make(map[string]string, len(answers))
	for _, a := range answers {
		words[a.Name()] = claim.of(s.configuration, s.target, a.choice, entry)
	}
	wordsOf := func(a Answer) string { return words[a.Name()] }
	var parts []string
	for _, word := range values(answers, wordsOf) {
		same := with(answers, wordsOf, word)
		not := "do not"
		if len(same) == 1 {
			not = "does not"
		}
		parts = append(parts, fmt.Sprintf("%s %s %s and %s", who(same), not, word, verb(same)))
	}
	return parts
}

// decidingEntry is the one that most clients go direct because of.
func (s sentence) decidingEntry() string {
	for _, entry := range values(s.of(dialect.Direct), entryOf) {
		if entry != "" {
			return entry
		}
	}
	return ""
}

func (s sentence) failing() []string {
	answers := s.of(dialect.Fails)
	var parts []string
	for _, reason := range values(answers, reasonOf) {
		same := with(answers, reasonOf, reason)
		parts = append(parts, fmt.Sprintf("%s %s: %s", who(same), verb(same), reason))
	}
	return parts
}

// proxies is for clients that all use a proxy, but not the same one.
func (s sentence) proxies() []string {
	var parts []string
	for _, proxy := range values(s.answers, Answer.proxy) {
		same := with(s.answers, Answer.proxy, proxy)
		parts = append(parts, who(same)+" "+verb(same)+" "+proxy)
	}
	return parts
}

func entryOf(a Answer) string  { return Shown(a.Entry) }
func reasonOf(a Answer) string { return a.Reason }

// values returns the distinct values of the answers, the most frequent first.
func values(answers []Answer, of func(Answer) string) []string {
	var distinct []string
	counts := map[string]int{}
	for _, a := range answers {
		if counts[of(a)]++; counts[of(a)] == 1 {
			distinct = append(distinct, of(a))
		}
	}
	slices.SortStableFunc(distinct, func(a, b string) int { return cmp.Compare(counts[b], counts[a]) })
	return distinct
}

func with(answers []Answer, of func(Answer) string, value string) []Answer {
	return slices.DeleteFunc(slices.Clone(answers), func(a Answer) bool { return of(a) != value })
}

// who names up to three clients, and counts more.
func who(answers []Answer) string {
	if len(answers) > 3 {
		return count(len(answers))
	}
	var text string
	for i, a := range answers {
		switch {
		case i == 0:
		case i == len(answers)-1:
			text += " and "
		default:
			text += ", "
		}
		text += a.Name()
	}
	return text
}

func count(n int) string { return fmt.Sprintf("%d clients", n) }

func verb(answers []Answer) string {
	if len(answers) == 1 {
		return singular(answers[0].route)
	}
	return plural(answers[0].route)
}

func singular(route dialect.Route) string {
	return map[dialect.Route]string{dialect.Direct: "goes direct", dialect.Proxy: "uses the proxy", dialect.Fails: "fails"}[route]
}

func plural(route dialect.Route) string {
	return map[dialect.Route]string{dialect.Direct: "go direct", dialect.Proxy: "use the proxy", dialect.Fails: "fail"}[route]
}
