package lint_test

import (
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/lint"
)

func TestWhatEndsIsSaidThreeDaysBefore(t *testing.T) {
	const end, day = 2_000_000_000, 24 * 60 * 60
	for name, test := range map[string]struct {
		now  int64
		want lint.Severity
	}{
		"nobody asks about dates":        {0, ""},
		"a second more than three days ": {end - 3*day - 1, ""},
		"three days before":              {end - 3*day, lint.Warning},
		"a second before":                {end - 1, lint.Warning},
		"at that time":                   {end, lint.Info},
	} {
		t.Run(name, func(t *testing.T) {
			in := lint.Input{Now: test.now, Ends: []lint.End{{What: "a.example", Object: "CorporateProxy p", Field: "spec.noProxy[1]", Time: end, Owner: "team", Reason: "moves"}}}
			var found []lint.Finding
			for _, f := range lint.Structure(in) {
				if f.Code == lint.Ends {
					found = append(found, f)
				}
			}
			if lint.Worst(found) != test.want {
				t.Fatalf("%+v", found)
			}
			if len(found) == 0 {
				return
			}
			if e := found[0].Entries[0]; e.Value != "a.example" || e.Field != "spec.noProxy[1]" || !strings.Contains(found[0].Why, "2033-05-18T03:33:20Z") {
				t.Errorf("%+v", found[0])
			}
			if test.want == lint.Warning && !strings.Contains(found[0].Why, "team, who gave the reason: moves") {
				t.Error(found[0].Why)
			}
		})
	}
}
