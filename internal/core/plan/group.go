package plan

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Group is clusters that change alike.
type Group struct {
	Change   Kind     `json:"change"`
	Clusters []string `json:"clusters"`
	Paused   int      `json:"paused,omitempty"` // of those
	Fields   []Field  `json:"fields"`
	Comes    []Entry  `json:"comes"` // object and field only where they are the same for all
	Goes     []Entry  `json:"goes"`
	Lists    []string `json:"lists"`
	Problem  Problems `json:"problem,omitzero"` // with the message of the first cluster
	Cost     Cost     `json:"cost"`
	// Decisions of clients that change, those of most clients first.
	Decisions []Decision `json:"decisions"`
	// Unasked is how many URLs nobody was asked about: there is a limit.
	Unasked int `json:"unaskedURLs,omitempty"`
}

// whole reports whether all settings of a cluster come, go or are replaced: its entries say nothing that its mode does not.
func (c Change) whole() bool {
	return c.Change != Changed || slices.ContainsFunc(c.Fields, func(f Field) bool { return f.Name == fieldMode })
}

// alike is the same for clusters that change alike, wherever their entries were written.
func (c Change) alike() string {
	texts := func(entries []Entry) (all []string) {
		for _, e := range entries {
			all = append(all, e.Layer+" "+e.Entry)
		}
		slices.Sort(all)
		return all
	}
	var comes, goes []string
	if !c.whole() {
		comes, goes = texts(c.Comes), texts(c.Goes)
	}
	text, _ := json.Marshal([]any{c.Change, c.Fields, comes, goes, c.Lists, c.Problem.reasons(), c.Costs.Charts, c.Costs.ReplacesMachines})
	return string(text)
}

func (p Problems) reasons() [2]string {
	var reasons [2]string
	for i, problem := range []*Problem{p.Vanishes, p.Appears} {
		if problem != nil {
			reasons[i] = problem.Reason
		}
	}
	return reasons
}

// groups numbers the changes by their group.
func groups(changes []Change) []Group {
	members := map[string][]int{}
	var order []string
	for i, c := range changes {
		key := c.alike()
		if members[key] == nil {
			order = append(order, key)
		}
		members[key] = append(members[key], i)
	}
	slices.SortStableFunc(order, func(a, b string) int { return cmp.Compare(len(members[b]), len(members[a])) })
	all := []Group{}
	for _, key := range order {
		var of []Change
		for _, i := range members[key] {
			changes[i].Group = len(all) + 1
			of = append(of, changes[i])
		}
		all = append(all, groupOf(of))
	}
	return all
}

func groupOf(changes []Change) Group {
	first := changes[0]
	g := Group{
		Change: first.Change, Fields: first.Fields, Lists: first.Lists, Problem: first.Problem, Cost: costOf(changes),
		Comes: []Entry{}, Goes: []Entry{}, Decisions: []Decision{},
	}
	for _, c := range changes {
		g.Clusters, g.Unasked = append(g.Clusters, c.Cluster), max(g.Unasked, c.unasked)
		if c.Paused {
			g.Paused++
		}
	}
	if !first.whole() || len(changes) == 1 {
		g.Comes = shared(changes, func(c Change) []Entry { return c.Comes })
		g.Goes = shared(changes, func(c Change) []Entry { return c.Goes })
	}
	g.Decisions = append(g.Decisions, decided(changes)...)
	return g
}

// shared are entries that all have, less where they were written if that differs.
func shared(changes []Change, of func(Change) []Entry) []Entry {
	all := slices.Clone(of(changes[0]))
	at := map[string]int{}
	for i, e := range all {
		at[e.Entry] = i
	}
	for _, c := range changes[1:] {
		for _, e := range of(c) {
			if i := at[e.Entry]; all[i].Object != e.Object || all[i].Field != e.Field {
				all[i].Object, all[i].Field = "", ""
			}
		}
	}
	return all
}

// decided counts the clusters for each decision.
func decided(changes []Change) []Decision {
	var all []Decision
	at := map[string]int{}
	for _, c := range changes {
		for _, d := range c.decisions {
			i, ok := at[d.key()]
			if !ok {
				i = len(all)
				at[d.key()] = i
				d.Clusters = 0
				all = append(all, d)
			}
			all[i].Clusters++
		}
	}
	slices.SortStableFunc(all, func(a, b Decision) int {
		return cmp.Or(cmp.Compare(b.Clusters, a.Clusters), cmp.Compare(len(b.Clients), len(a.Clients)), cmp.Compare(a.Audience, b.Audience))
	})
	return all
}
