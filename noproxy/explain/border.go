package explain

import (
	"strconv"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy/dialect"
)

// Range is successive earlier versions of a client that decide alike.
type Range struct {
	Since    string `json:"since,omitempty"` // empty: from the first version on
	Before   string `json:"before"`
	Decision string `json:"decision"`
}

// String names the versions: "before 2", "1 to before 2", or the only one, "1.0.1".
func (r Range) String() string {
	switch {
	case r.Since == "":
		return "before " + r.Before
	case r.single():
		return r.Since
	}
	return r.Since + " to before " + r.Before
}

// single reports whether a range has one version: 1.0.1 before 1.0.2 is one, but 1 before 2 is not, since it has 1.1.
func (r Range) single() bool {
	branch, last := cutLast(r.Since)
	nextBranch, next := cutLast(r.Before)
	patch, err := strconv.Atoi(last)
	return err == nil && branch == nextBranch && strings.Contains(branch, ".") && next == strconv.Itoa(patch+1)
}

func cutLast(version string) (branch, last string) {
	dot := strings.LastIndexByte(version, '.')
	return version[:max(dot, 0)], version[dot+1:]
}

// border tells from which version on a client decides as its newest one does.
// It is empty for a client that was asked for in a version.
type border struct {
	behaviours []dialect.Behaviour
	earlier    []dialect.Decider // all but the newest, oldest first
}

func borderOf(choice dialect.Choice, env dialect.Env) border {
	b := border{behaviours: choice.Client.Behaviours}
	if choice.Version != "" {
		return b
	}
	for _, behaviour := range b.behaviours[:len(b.behaviours)-1] {
		b.earlier = append(b.earlier, behaviour.Read(env))
	}
	return b
}

// find returns the first version that decides so, and what those before it do,
// the newest first. Both are empty if every version decides so.
func (b border) find(target dialect.Target, route dialect.Route) (since string, earlier []Range) {
	decision := route.String()
	for i := len(b.earlier) - 1; i >= 0; i-- {
		own, next := b.behaviours[i].Since, b.behaviours[i+1].Since
		if other := b.earlier[i](target).Route.String(); other != decision {
			earlier, decision = append(earlier, Range{Before: next, Decision: other}), other
		}
		if len(earlier) > 0 {
			earlier[len(earlier)-1].Since = own
		}
	}
	if len(earlier) > 0 {
		since = earlier[0].Before
	}
	return since, earlier
}

// bordered returns the answers that do not hold in every version: those with several earlier ranges, or those with
// one.
func bordered(answers []Answer, ranges bool) []Answer {
	var some []Answer
	for _, a := range answers {
		if a.Since != "" && ranges == (len(a.Earlier) > 1) {
			some = append(some, a)
		}
	}
	return some
}
