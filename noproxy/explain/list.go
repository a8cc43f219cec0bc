package explain

import (
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/noproxy"
)

// nonProxyHosts is the one system property with a list that Java has.
const nonProxyHosts = "http.nonProxyHosts"

// List is a NO_PROXY list that knows where its entries were written.
type List struct {
	text, java string
	hidden     bool // nothing of it may be shown: user information is in it
	elements   []element
	patterns   map[string]Entry // of java, with the entry that each was made from
}

// element is one element of the list, with its place.
type element struct {
	start, end int
	source     *Source
}

// Rendered returns a list that the operator writes.
func Rendered(list noproxy.List) List {
	l := List{text: list.String()}
	start := 0
	for _, item := range list {
		end := start + len(item.Entry.String())
		l.elements = append(l.elements, element{start, end, sourceOf(item)})
		start = end + len(",")
	}
	l.addJava(list)
	return l
}

// Written returns a list that somebody wrote, and the field that it was written in,
// to which the position is added. Environment variables get it as it is; what
// cannot be understood is missing from Java's property, which has a language of
// its own.
func Written(text, field string) List {
	l := List{text: text}
	var understood noproxy.List
	for _, e := range noproxy.Cut(text, noproxy.Source{Field: field}) {
		l.hidden = l.hidden || noproxy.HasUserinfo(e.Text)
		l.elements = append(l.elements, element{e.Start, e.End, &Source{Field: e.Source.Field}})
		if entry, err := noproxy.Parse(e.Text); err == nil {
			understood = append(understood, noproxy.Item{Entry: entry, Sources: []noproxy.Source{e.Source}})
		}
	}
	l.addJava(noproxy.Merge(understood))
	return l
}

// shown returns an entry as it may be shown.
func (l List) shown(entry string) string {
	if l.hidden && entry != "" {
		return noproxy.Hidden
	}
	return entry
}

func (l *List) addJava(list noproxy.List) {
	l.java, _ = noproxy.NonProxyHosts(list)
	l.patterns = map[string]Entry{}
	for _, item := range list {
		value, _ := noproxy.NonProxyHosts(noproxy.List{item})
		for _, pattern := range strings.Split(value, "|") {
			if _, ok := l.patterns[pattern]; !ok {
				l.patterns[pattern] = Entry{item.Entry.String(), sourceOf(item)}
			}
		}
	}
}

// origin returns the entry that stands at an offset of the value of a variable:
// where it was written, and how, if Java has another spelling of it.
func (l List) origin(variable string, offset int, entry string) Entry {
	if variable == nonProxyHosts {
		return l.patterns[entry]
	}
	at := slices.IndexFunc(l.elements, func(e element) bool { return e.start <= offset && offset < e.end })
	if at < 0 {
		return Entry{Text: entry}
	}
	return Entry{entry, l.elements[at].source}
}

// Entry is an entry as it stands in the list.
type Entry struct {
	Text   string
	Source *Source
}

// Entries returns what the list holds as it may be shown, in order; nothing of
// a list with user information in it.
func (l List) Entries() []Entry {
	if l.hidden {
		return nil
	}
	entries := make([]Entry, len(l.elements))
	for i, e := range l.elements {
		entries[i] = Entry{Shown(l.text[e.start:e.end]), e.source}
	}
	return entries
}
