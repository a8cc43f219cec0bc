package resolve_test

import (
	"errors"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func TestOnlyAClusterThatIsKnownNeverToHaveHadAProxyIsBlankWhenNothingSelectsIt(t *testing.T) {
	notSelected := errors.New("not selected")
	for name, test := range map[string]struct {
		past  resolve.Past
		blank bool
	}{
		"a new cluster":                                {resolve.Past{}, true},
		"new here, and waiting since":                  {resolve.Past{Report: true, HadProxy: "false"}, true},
		"never had one":                                {resolve.Past{Report: true, Mode: resolve.ModeUnproxied, HadProxy: "false"}, true},
		"never had one, from before the note":          {resolve.Past{Report: true, Mode: resolve.ModeUnproxied}, true},
		"has one":                                      {resolve.Past{Report: true, Mode: resolve.ModeProxied, HadProxy: "true"}, false},
		"has one, from before the note":                {resolve.Past{Report: true, Mode: resolve.ModeProxied}, false},
		"has one, whatever somebody notes":             {resolve.Past{Report: true, Mode: resolve.ModeProxied, HadProxy: "false"}, false},
		"direct, from before the note":                 {resolve.Past{Report: true, Mode: resolve.ModeDirect}, false},
		"moved, had one":                               {resolve.Past{Report: true, HadProxy: "true"}, false},
		"moved, never had one":                         {resolve.Past{Report: true, HadProxy: "false"}, true},
		"moved, and the note is gone":                  {resolve.Past{Report: true}, false},
		"moved, and the note is not one of ours":       {resolve.Past{Report: true, HadProxy: "no"}, false},
		"noted, and the writing was not recorded then": {resolve.Past{Report: true, Mode: resolve.ModeUnproxied, HadProxy: "true"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			effective, err := resolve.Unselected(resolve.Cluster{Namespace: "ns", Name: "c1", EndpointHost: "c1.example"}, test.past, false, notSelected)
			if test.blank && (err != nil || effective.Mode != resolve.ModeUnproxied || effective.Cluster != "c1") || !test.blank && !errors.Is(err, notSelected) {
				t.Errorf("%+v, %v", effective, err)
			}
			note := map[bool]string{true: "false", false: "true"}[test.blank]
			for mode, want := range map[resolve.Mode]string{
				"": note, resolve.ModeUnproxied: note, resolve.ModeProxied: "true", resolve.ModeDirect: "true",
			} {
				if got := test.past.Note(mode); got != want {
					t.Errorf("before mode %q is written, the note is %q, want %q", mode, got, want)
				}
			}
		})
	}
}

// Machines of a cluster wait for Secrets that are not there, and not for others than blank ones.
func TestNothingIsBlankBeforeTheEndpointIsKnownAndTheGracePeriodIsOver(t *testing.T) {
	notSelected := errors.New("not selected")
	waiting, blank := resolve.Past{Report: true, HadProxy: "false"}, resolve.Past{Report: true, HadProxy: "false", Mode: resolve.ModeUnproxied}
	for name, test := range map[string]struct {
		past     resolve.Past
		endpoint string
		grace    bool
		reason   resolve.Reason
	}{
		"new, and nothing is known":             {resolve.Past{}, "", true, resolve.ReasonEndpointUnknown},
		"no endpoint, the grace period is over": {waiting, "", false, resolve.ReasonEndpointUnknown},
		"in the grace period":                   {waiting, "c1.example", true, resolve.ReasonNotSelectedYet},
		"the grace period is over":              {waiting, "c1.example", false, ""},
		"one that is blank stays so":            {blank, "", true, ""},
	} {
		effective, err := resolve.Unselected(resolve.Cluster{Namespace: "ns", Name: "c1", EndpointHost: test.endpoint}, test.past, test.grace, notSelected)
		var p *resolve.Problem
		if errors.As(err, &p); test.reason == "" && (err != nil || effective.Mode != resolve.ModeUnproxied) || test.reason != "" && (p == nil || p.Reason != test.reason) {
			t.Errorf("%s: %+v, %v", name, effective, err)
		}
	}
}
