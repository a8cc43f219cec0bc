package explain

import "github.com/fairlead-io/fairlead/operator/noproxy/dialect"

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

// find returns the first version that decides so, and what the one before it
// does. Both are empty if every version decides so.
func (b border) find(target dialect.Target, route dialect.Route) (since, earlier string) {
	for i := len(b.earlier) - 1; i >= 0; i-- {
		if other := b.earlier[i](target).Route; other != route {
			return b.behaviours[i+1].Since, other.String()
		}
	}
	return "", ""
}

// bordered are the answers that do not hold in every version.
func bordered(answers []Answer) []Answer {
	var some []Answer
	for _, a := range answers {
		if a.Since != "" {
			some = append(some, a)
		}
	}
	return some
}
