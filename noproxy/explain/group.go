package explain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Group is the clients that do the same for the same reason.
type Group struct {
	Decision string
	Entry    string
	Source   *Source
	Reason   string
	Clients  []string
}

// Groups returns the clients grouped: direct, proxy, fails, depends, and among those the
// largest group first.
func (e Explanation) Groups() []Group {
	var groups []Group
	var members [][]Answer
	for _, a := range e.Decisions {
		group := e.groupOf(a)
		at := slices.IndexFunc(groups, group.same)
		if at < 0 {
			at = len(groups)
			groups, members = append(groups, group), append(members, nil)
		}
		members[at] = append(members[at], a)
	}
	for i := range groups {
		groups[i].Clients = names(members[i])
	}
	slices.SortStableFunc(groups, func(a, b Group) int {
		return cmp.Or(cmp.Compare(rank(a.Decision), rank(b.Decision)), cmp.Compare(len(b.Clients), len(a.Clients)))
	})
	return groups
}

// groupOf returns the group of a client, which is not in it yet.
func (e Explanation) groupOf(a Answer) Group {
	return Group{Decision: e.Word(a), Entry: Shown(a.Entry), Source: a.Source, Reason: a.Reason}
}

func (g Group) same(other Group) bool {
	return g.Decision == other.Decision && g.Entry == other.Entry && g.Reason == other.Reason && g.Source.String() == other.Source.String()
}

func rank(decision string) int {
	for _, route := range []dialect.Route{dialect.Direct, dialect.Proxy, dialect.Fails, dialect.Depends} {
		if strings.HasPrefix(decision, route.String()) {
			return int(route)
		}
	}
	return 0
}

// Word returns the decision, with the proxy where clients use different ones.
func (e Explanation) Word(a Answer) string {
	if a.route != dialect.Proxy || oneProxy(e.Decisions) {
		return a.Decision
	}
	return a.Decision + " " + a.Proxy
}

func oneProxy(answers []Answer) bool {
	proxy := ""
	for _, a := range answers {
		if a.route == dialect.Proxy && proxy != "" && a.Proxy != proxy {
			return false
		}
		proxy = cmp.Or(a.Proxy, proxy)
	}
	return true
}
