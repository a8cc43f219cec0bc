package resolve

import (
	"fmt"

	"github.com/fairlead-io/fairlead/noproxy"
)

// ParseEntries parses all elements, in order. If any is refused, also by check, the error is a
// *Problem with that reason which names every refused one: an entry that is
// dropped silently is a host that nobody finds out about.
func ParseEntries(reason Reason, elements []noproxy.Element, check func(noproxy.Element, noproxy.Entry) *noproxy.Refusal) (noproxy.List, error) {
	list, refused := noproxy.ParseElements(elements, check)
	if len(refused) == 0 {
		return list, nil
	}
	first := refused[0]
	p := &Problem{Reason: reason, Field: first.Source.Field, Detail: first.Refusal.Error()}
	for _, r := range refused {
		p.Object = r.Source.Object
		p.Refusals = append(p.Refusals, r.Error())
	}
	if more := len(refused) - 1; more > 0 {
		p.Detail += fmt.Sprintf(" (and %d more refused)", more)
	}
	return nil, p
}
