package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
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
		parts = []string{s.agreement()}
	case len(s.of(dialect.Proxy)) == len(s.answers):
		parts = s.proxies()
	default:
		parts = slices.Concat(s.direct(), s.proxied(), s.failing(), s.depending())
	}
	earlier := s.earlier()
	if rest, all := strings.CutPrefix(parts[0], "All "); all && len(earlier) > 0 {
		parts[0] = "In their newest versions, all " + rest
	}
	return strings.Join(append(parts, earlier...), "; ")
}

// earlier says what the earlier versions do of a client that does so in newer
// ones only. Of one whose still earlier versions do something else it names the range.
func (s sentence) earlier() []string {
	before := func(a Answer) string { return a.Earlier[0].Decision }
	parts := textForEachValue(bordered(s.answers, false), before, func(decision string, same []Answer) string {
		return "earlier versions of " + upToThree(same, func(a Answer) string { return a.Client }) + " " + verbs[decision][1]
	})
	return append(parts, textForEachValue(bordered(s.answers, true), before, func(decision string, same []Answer) string {
		text := upToThree(same, func(a Answer) string { return a.Client + " " + a.Earlier[0].String() })
		if len(same) > 3 {
			text = "some earlier versions of " + text
		}
		return text + " " + verbs[decision][min(len(same), 2)-1]
	})...)
}

// upToThree names up to three answers, and counts more.
func upToThree(answers []Answer, name func(Answer) string) string {
	if len(answers) > 3 {
		return fmt.Sprintf("%d of these", len(answers))
	}
	named := make([]string, len(answers))
	for i, a := range answers {
		named[i] = name(a)
	}
	return listed(named)
}

// depending names those whose decision is up to more than the URL.
func (s sentence) depending() []string {
	return textForEachValue(s.of(dialect.Depends), reasonOf, withReason)
}

func (s sentence) of(route dialect.Route) []Answer {
	return slices.DeleteFunc(slices.Clone(s.answers), func(a Answer) bool { return a.route != route })
}

func (s sentence) agreement() string {
	text := clause(s.answers)
	if strings.HasPrefix(text, count(s.answers)) {
		text = "All " + text
	}
	entries, reasons := values(s.answers, entryOf), values(s.answers, reasonOf)
	switch {
	case entries[0] != "" && len(entries) <= 2:
		text += " because of " + strings.Join(entries, " or ")
	case s.answers[0].route == dialect.Proxy && strings.TrimSpace(s.configuration.List.text) == "":
		text += ": NO_PROXY is empty"
	case len(reasons) == 1:
		text += ": " + reasons[0]
	case slices.ContainsFunc(s.answers, Answer.hasOwnReason):
		text = strings.Join(textForEachValue(s.answers, reasonOf, withReason), "; ")
	}
	return text
}

// direct names the clients that go direct: because of an entry, or by a rule of their own.
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
		parts = append(parts, clause(byEntry)+" because of "+because)
	}
	return append(parts, textForEachValue(byRule, reasonOf, func(reason string, same []Answer) string { return clause(same) + " (" + reason + ")" })...)
}

// proxied names the clients that use the proxy, and the reason, such as a form of entry that they
// do not read.
func (s sentence) proxied() []string {
	var byList, byRule []Answer
	for _, a := range s.of(dialect.Proxy) {
		if a.hasOwnReason() {
			byRule = append(byRule, a)
		} else {
			byList = append(byList, a)
		}
	}
	return append(s.unlisted(byList), textForEachValue(byRule, reasonOf, withReason)...)
}

// unlisted is for those that the list does not cover.
func (s sentence) unlisted(answers []Answer) []string {
	entry := s.decidingEntry()
	if len(answers) == 0 {
		return nil
	}
	if entry == "" {
		return []string{clause(answers)}
	}
	claim := claimFor(entry, s.target)
	words := make(map[string]string, len(answers))
	for _, a := range answers {
		words[a.Name()] = claim.of(s.configuration, s.target, a.choice, entry)
	}
	wordsOf := func(a Answer) string { return words[a.Name()] }
	return textForEachValue(answers, wordsOf, func(word string, same []Answer) string {
		not := "do not"
		if isOne(same) {
			not = "does not"
		}
		return fmt.Sprintf("%s %s %s and %s", subject(same), not, word, verb(same))
	})
}

// decidingEntry returns the entry that makes most clients go direct. It returns "" where most of
// them follow rules of their own.
func (s sentence) decidingEntry() string {
	entries := values(s.of(dialect.Direct), func(a Answer) string { return a.written })
	if len(entries) == 0 {
		return ""
	}
	return entries[0]
}

// failing names the clients that fail, and the entry that they cannot read, if one is the cause.
func (s sentence) failing() []string {
	why := func(a Answer) string {
		if a.Entry != "" {
			return " because of " + entryOf(a) + ": " + a.Reason
		}
		return ": " + a.Reason
	}
	return textForEachValue(s.of(dialect.Fails), why, func(reason string, same []Answer) string { return clause(same) + reason })
}

// proxies is for clients that all use a proxy, but not the same one.
func (s sentence) proxies() []string {
	which := func(a Answer) string {
		if a.hasOwnReason() {
			return a.Proxy + ": " + a.Reason
		}
		return a.Proxy
	}
	return textForEachValue(s.answers, which, func(proxy string, same []Answer) string { return clause(same) + " " + proxy })
}

// hasOwnReason reports whether it is not the list that makes a client use the proxy.
func (a Answer) hasOwnReason() bool { return a.route == dialect.Proxy && a.Reason != dialect.NoEntry }

// withReason says what clients do, and why: "curl uses the proxy: REASON".
func withReason(reason string, same []Answer) string { return clause(same) + ": " + reason }

func entryOf(a Answer) string  { return Shown(a.written) }
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

// textForEachValue returns a text for each distinct value of the answers, the most frequent first.
func textForEachValue(answers []Answer, of func(Answer) string, words func(value string, same []Answer) string) []string {
	var parts []string
	for _, value := range values(answers, of) {
		same := slices.DeleteFunc(slices.Clone(answers), func(a Answer) bool { return of(a) != value })
		parts = append(parts, words(value, same))
	}
	return parts
}

// clause says what clients do that decide alike: "curl and go use the proxy".
func clause(answers []Answer) string { return subject(answers) + " " + verb(answers) }

// subject names up to three clients, and counts more.
func subject(answers []Answer) string {
	named := names(answers)
	if len(named) > 3 {
		return count(answers)
	}
	return listed(named)
}

func listed(named []string) string {
	last := len(named) - 1
	if last == 0 {
		return named[0]
	}
	return strings.Join(named[:last], ", ") + " and " + named[last]
}

// count says how many; a client in several behaviours is not several clients.
func count(answers []Answer) string {
	clients := values(answers, func(a Answer) string { return a.Client })
	if len(clients) < len(answers) {
		return fmt.Sprintf("%d clients in %d behaviours", len(clients), len(answers))
	}
	return fmt.Sprintf("%d clients", len(answers))
}

// isOne reports whether the clients take a verb in the singular.
func isOne(answers []Answer) bool { return len(names(answers)) == 1 }

// verbs are in the singular and in the plural.
var verbs = map[string][2]string{
	dialect.Direct.String():  {"goes direct", "go direct"},
	dialect.Proxy.String():   {"uses the proxy", "use the proxy"},
	dialect.Fails.String():   {"fails", "fail"},
	dialect.Depends.String(): {"depends", "depend"},
}

func verb(answers []Answer) string {
	text := verbs[answers[0].route.String()][1]
	if isOne(answers) {
		text = verbs[answers[0].route.String()][0]
	}
	if answers[0].route == dialect.Depends && !slices.ContainsFunc(answers, func(a Answer) bool { return a.Reason == dialect.NotJudged }) {
		text += " on the address"
	}
	return text
}
