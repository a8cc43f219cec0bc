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

// ParseEntries parses all entries, in order. If any is refused, the error is a
// *Problem with that reason which names every refused one: an entry that is
// dropped silently is a host that nobody finds out about.
func ParseEntries(reason Reason, written []Written) (noproxy.List, error) {
	list := make(noproxy.List, 0, len(written))
	var refused refusals
	if refused.whole(written) {
		return nil, refused.problem(reason)
	}
	for _, w := range written {
		entry, err := noproxy.Parse(w.Value)
		if err != nil {
			refused.add(w.Source, err)
			continue
		}
		list = append(list, noproxy.Item{Entry: entry, Sources: []noproxy.Source{w.Source}})
	}
	if err := refused.problem(reason); err != nil {
		return nil, err
	}
	return list, nil
}

// refusals collects refused entries into one Problem.
type refusals struct {
	object string
	fields []string
	errs   []error
}

func (r *refusals) add(source noproxy.Source, err error) {
	r.object = source.Object
	r.fields = append(r.fields, source.Field)
	r.errs = append(r.errs, err)
}

// whole refuses all entries at once if noproxy.Whole does.
func (r *refusals) whole(written []Written) bool {
	values := make([]string, len(written))
	for i := range written {
		values[i] = written[i].Value
	}
	at, refusal := noproxy.Whole(values)
	if refusal != nil {
		r.add(written[at].Source, refusal)
	}
	return refusal != nil
}

// problem returns an untyped nil if nothing was refused.
func (r *refusals) problem(reason Reason) error {
	if len(r.errs) == 0 {
		return nil
	}
	p := problem(reason, r.object, r.fields[0], "%v", r.errs[0])
	for i, err := range r.errs {
		p.Refusals = append(p.Refusals, r.fields[i]+": "+err.Error())
	}
	if more := len(r.errs) - 1; more > 0 {
		p.Detail += fmt.Sprintf(" (and %d more refused)", more)
	}
	return p
}
