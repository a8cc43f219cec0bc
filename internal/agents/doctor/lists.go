package doctor

import (
	"slices"

	"github.com/fairlead-io/fairlead/internal/agents/lists"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// places are where lists are, or should be. The proxy's URL is judged where an agent reads it.
func (e *Examination) places() []lists.Place {
	var all []lists.Place
	for _, d := range slices.Concat(e.asked, e.documents) {
		all = append(all, slices.DeleteFunc(lists.In("", d.Title(), d.Object.Object), func(p lists.Place) bool { return !p.HasList() })...)
	}
	return all
}

// lists has lint judge each list, and leaves out what nobody can mend, and lists of which nothing is left to say.
func (e *Examination) lists() ([]lint.Result, error) {
	judged, err := lists.Judge(e.places(), e.opts.Lint)
	for i := range judged {
		judged[i].Findings = slices.DeleteFunc(judged[i].Findings, func(f lint.Finding) bool { return f.Severity == lint.Info || lists.OfURL(f) })
	}
	return slices.DeleteFunc(judged, func(l lint.Result) bool { return len(l.Findings) == 0 }), err
}
