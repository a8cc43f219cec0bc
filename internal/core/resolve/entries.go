package resolve

import (
	"fmt"

	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// Written is one entry as somebody wrote it, and where.
type Written struct {
	Value  string
	Source noproxy.Source
}

// SplitEntries cuts a NO_PROXY string into entries of that source; the field
// gets the position of each, as noproxy.Cut counts them.
func SplitEntries(list string, source noproxy.Source) []Written {
	var written []Written
	for _, element := range noproxy.Cut(list, source) {
		if element.Text != "" {
			written = append(written, Written{element.Text, element.Source})
		}
	}
	return written
}

// Positioned are the texts of a list as entries of that source; the field gets the
// position of each, and what stands below it.
func Positioned(texts []string, source noproxy.Source, below string) []Written {
	return PositionedAt(texts, nil, source, below)
}

// PositionedAt is Positioned for texts of which some before them are left out: at has the position of each. Nil: none is.
func PositionedAt(texts []string, at []int, source noproxy.Source, below string) []Written {
	written := make([]Written, len(texts))
	for i, text := range texts {
		position := i
		if at != nil {
			position = at[i]
		}
		written[i] = Written{text, source}
		written[i].Source.Field = fmt.Sprintf("%s[%d]%s", source.Field, position, below)
	}
	return written
}

// ParseEntries parses all entries, in order. If any is refused, the error is a
// *Problem with that reason which names every refused one: an entry that is
// dropped silently is a host that nobody finds out about.
func ParseEntries(reason Reason, written []Written) (noproxy.List, error) {
	list := make(noproxy.List, 0, len(written))
	err := eachEntry(reason, written, func(w Written, entry noproxy.Entry) error {
		list = append(list, noproxy.Item{Entry: entry, Sources: []noproxy.Source{w.Source}})
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// eachEntry parses entries and hands them over, in order. What cannot be parsed, and
// what take refuses, is one *Problem; of a list that noproxy.Whole refuses it names
// that one entry alone.
func eachEntry(reason Reason, written []Written, take func(Written, noproxy.Entry) error) error {
	p := &Problem{Reason: reason}
	refuse := func(at noproxy.Source, err error) {
		if len(p.Refusals) == 0 {
			p.Field, p.Detail = at.Field, err.Error()
		}
		p.Object = at.Object
		p.Refusals = append(p.Refusals, at.Field+": "+err.Error())
	}
	values := make([]string, len(written))
	for i := range written {
		values[i] = written[i].Value
	}
	if at, refusal := noproxy.Whole(values); refusal != nil {
		refuse(written[at].Source, refusal)
		return p
	}
	for _, w := range written {
		entry, err := noproxy.Parse(w.Value)
		if err == nil {
			err = take(w, entry)
		}
		if err != nil {
			refuse(w.Source, err)
		}
	}
	switch more := len(p.Refusals) - 1; {
	case more < 0:
		return nil
	case more > 0:
		p.Detail += fmt.Sprintf(" (and %d more refused)", more)
	}
	return p
}
