package resolve

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// Written is one entry as somebody wrote it, and where.
type Written struct {
	Value  string
	Source noproxy.Source
}

// SplitEntries cuts a NO_PROXY string into entries of that source; the field
// gets the position of each, counted from 0.
func SplitEntries(list string, source noproxy.Source) []Written {
	var written []Written
	for i, token := range noproxy.Split(list) {
		at := source
		at.Field = fmt.Sprintf("%s[%d]", source.Field, i)
		written = append(written, Written{token, at})
	}
	return written
}

// ParseEntries parses all entries, in order. If any is refused, the error is a
// *Problem with that reason which names every refused one: an entry that is
// dropped silently is a host that nobody finds out about.
func ParseEntries(reason Reason, written []Written) (noproxy.List, error) {
	list := make(noproxy.List, 0, len(written))
	refused := refusals{hidden: slices.ContainsFunc(written, hasUserinfo)}
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

// hasUserinfo recognizes a proxy URL that ended up in a list. Commas in its
// password have cut it into entries, each of which may be a part of the password.
func hasUserinfo(w Written) bool { return strings.Contains(w.Value, "@") }

// refusals collects refused entries into one Problem.
type refusals struct {
	hidden bool // do not show the entries
	object string
	fields []string
	errs   []error
}

func (r *refusals) add(source noproxy.Source, err error) {
	r.object = source.Object
	r.fields = append(r.fields, source.Field)
	var refusal *noproxy.Refusal
	if r.hidden && errors.As(err, &refusal) {
		err = &noproxy.Refusal{Value: "(hidden: a URL with user information is in the list)", Reason: refusal.Reason, Detail: refusal.Detail}
	}
	r.errs = append(r.errs, err)
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
