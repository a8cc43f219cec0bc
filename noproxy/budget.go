package noproxy

import (
	"cmp"
	"slices"
)

// Budget is the length in bytes up to which a portable form adds ".d" beside "d"
// and lists the addresses of small networks. A longer list stays as short as its
// meaning allows: a process environment carries no value much longer than this
// (see render.MaxNoProxyBytes).
const Budget = 100_000

// Version is the version of form Portable. What a version writes never changes, since running machines have its lists.
type Version uint8

// V1 leaves all of these additions out of a list that is over the budget with them. V2 adds as many as there is room for, so
// that one entry more costs no other clients than it must. V3 is V2, and writes no IPv6 network for [AudienceAny], not even the
// cluster's own: one breaks clients for every URL. The addresses in it that matter are there.
const (
	V1 Version = 1 + iota
	V2
	V3
)

// Writing is a list in a portable form, for an audience.
type Writing struct {
	Written List
	Omitted List // what cannot be written for the audience
	Left    List // entries that lack additions, for the budget
}

// additions returns what stands beside an entry so that more clients read it as it is meant.
func (w *writer) additions(item Item) List {
	var added List
	add := func(e Entry) { added = append(added, Item{e, item.Sources}) }
	switch e := item.Entry; {
	case e.Kind == Domain && !isClusterSuffix(item):
		e.Kind = Subdomains
		add(e)
	case e.Kind == CIDR && w.audience == AudienceAny && e.Prefix.Addr().Is4() && e.Prefix.Bits() >= listedFrom:
		for addr := e.Prefix.Addr(); e.Prefix.Contains(addr); addr = addr.Next() {
			add(addrOf(addr))
		}
	}
	return added
}

// afford adds them, if there is room.
func (w *writer) afford(item Item) {
	if !w.lean || w.kept[item.Entry.String()] {
		w.written = append(w.written, w.additions(item)...)
	}
}

// affordable chooses the entries of a lean list that get their additions: names first, which more clients need, then
// networks from the smallest on, each in the order of the list. What does not fit is passed over, so that nothing fits
// at the end and the result can be written again.
func (w *writer) affordable(list List) map[string]bool {
	candidates := slices.DeleteFunc(slices.Clone(list), func(item Item) bool { return len(w.additions(item)) == 0 })
	slices.SortFunc(candidates, func(a, b Item) int {
		return cmp.Or(
			cmp.Compare(group(b.Entry), group(a.Entry)),
			cmp.Compare(b.Entry.Prefix.Bits(), a.Entry.Prefix.Bits()),
			compareEntries(a.Entry, b.Entry),
		)
	})
	has, kept, room := w.texts(), map[string]bool{}, Budget-len(w.written.String())
	for _, item := range candidates {
		cost := 0
		added := w.additions(item)
		for _, a := range added {
			if text := a.Entry.String(); !has[text] {
				cost += len(text) + len(",")
			}
		}
		if cost > room {
			continue
		}
		room -= cost
		kept[item.Entry.String()] = true
		for _, a := range added {
			has[a.Entry.String()] = true
		}
	}
	return kept
}

// left returns the entries that lack additions.
func (w *writer) left(list List) List {
	has := w.texts()
	return slices.DeleteFunc(slices.Clone(list), func(item Item) bool {
		return !slices.ContainsFunc(w.additions(item), func(a Item) bool { return !has[a.Entry.String()] })
	})
}

func (w *writer) texts() map[string]bool {
	has := map[string]bool{}
	for _, text := range w.written.Texts() {
		has[text] = true
	}
	return has
}
