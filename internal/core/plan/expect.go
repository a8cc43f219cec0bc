package plan

import (
	"fmt"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

// check evaluates expectations on the list of every cluster with a proxy; each distinct list is asked once.
func check(after State, checks []Check) (*Expectations, error) {
	found := &Expectations{Failures: []Failure{}}
	known := map[environment][]explain.Mismatch{}
	at := map[string]int{}
	clusters := byName(after)
	for _, name := range namesOf(clusters) {
		c := clusters[name]
		if c.Effective.Mode != resolve.ModeProxied {
			continue
		}
		found.Clusters++
		effective := public(c.Effective)
		key := environmentOf(effective, effective.NoProxy.Any)
		mismatches, ok := known[key]
		if !ok {
			var err error
			if mismatches, err = expect(effective, checks); err != nil {
				return nil, err
			}
			known[key] = mismatches
		}
		for _, m := range mismatches {
			where := fmt.Sprint(m.File, m.Row, m.Got)
			i, ok := at[where]
			if !ok {
				i = len(found.Failures)
				at[where] = i
				found.Failures = append(found.Failures, Failure{Mismatch: m})
			}
			found.Failures[i].Clusters = append(found.Failures[i].Clusters, name)
		}
	}
	found.Failed = len(found.Failures)
	return found, nil
}

func expect(e resolve.Effective, checks []Check) ([]explain.Mismatch, error) {
	var mismatches []explain.Mismatch
	checker := explain.NewCheckerOf(explain.Configuration{HTTP: text(e.HTTP), HTTPS: text(e.HTTPS), List: explain.Rendered(e.NoProxy.Any)}, "the new list")
	for _, file := range checks {
		cases, err := checker.CheckFile(file.File, file.Data)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file.File, err)
		}
		for _, c := range cases {
			if c.Mismatch != nil {
				mismatches = append(mismatches, *c.Mismatch)
			}
		}
	}
	return mismatches, nil
}
