package resolve_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
)

func TestTheHighestPriorityThatSelectsTheClusterAndAllowsItsNamespaceWins(t *testing.T) {
	cluster := resolve.Cluster{Namespace: "org-acme", Name: "c1"}
	fits := func(name string, priority int32) resolve.Candidate {
		return resolve.Candidate{Name: name, Priority: priority, Selected: true, Allowed: true}
	}
	barred := func(name string, priority int32) resolve.Candidate {
		return resolve.Candidate{Name: name, Priority: priority, Selected: true}
	}
	other := func(name string, priority int32) resolve.Candidate {
		return resolve.Candidate{Name: name, Priority: priority, Allowed: true}
	}
	broken := func(name string) resolve.Candidate {
		return resolve.Candidate{Name: name, Broken: &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Object: "CorporateProxy " + name, Detail: "broken"}}
	}
	for name, test := range map[string]struct {
		candidates []resolve.Candidate
		want       string
		reason     resolve.Reason
		text       string
	}{
		"none exists":                            {nil, "", resolve.ReasonNoProxy, "no CorporateProxy exists"},
		"one fits":                               {[]resolve.Candidate{fits("a", 0)}, "a", "", ""},
		"two of different priority":              {[]resolve.Candidate{fits("a", 1), fits("b", 2)}, "b", "", ""},
		"negative priorities":                    {[]resolve.Candidate{fits("a", -1), fits("b", -2)}, "a", "", ""},
		"the lowest priority of all":             {[]resolve.Candidate{fits("a", -1<<31)}, "a", "", ""},
		"a tie":                                  {[]resolve.Candidate{fits("b", 1), fits("a", 1)}, "", resolve.ReasonAmbiguous, "a and b both match with priority 1"},
		"a tie below the highest":                {[]resolve.Candidate{fits("b", 1), fits("a", 1), fits("c", 2)}, "c", "", ""},
		"a tie at the top alone is told":         {[]resolve.Candidate{fits("z", 0), fits("b", 1), fits("a", 1)}, "", resolve.ReasonAmbiguous, "a and b both match"},
		"a tie with one that is barred":          {[]resolve.Candidate{fits("a", 1), barred("b", 1)}, "a", "", ""},
		"a tie with one that does not select":    {[]resolve.Candidate{fits("a", 1), other("b", 1)}, "a", "", ""},
		"barred from the namespace":              {[]resolve.Candidate{barred("b", 1), barred("a", 2)}, "", resolve.ReasonNamespaceNotAllowed, `namespace "org-acme" is not in spec.allowedNamespaces of CorporateProxy a, b`},
		"the highest barred, a lower one allows": {[]resolve.Candidate{barred("a", 9), fits("b", 1)}, "b", "", ""},
		"not selected":                           {[]resolve.Candidate{other("a", 1), other("b", 1)}, "", resolve.ReasonNotSelected, "no CorporateProxy selects this cluster"},
		"one barred, one not selected":           {[]resolve.Candidate{other("a", 1), barred("b", 1)}, "", resolve.ReasonNamespaceNotAllowed, "CorporateProxy b"},
		"one broken, one fits":                   {[]resolve.Candidate{broken("a"), fits("b", 0)}, "b", "", ""},
		"one broken, one not selected":           {[]resolve.Candidate{broken("a"), other("b", 0)}, "", resolve.ReasonInvalidProxy, "CorporateProxy a: broken"},
		"one broken, one barred":                 {[]resolve.Candidate{broken("a"), barred("b", 0)}, "", resolve.ReasonNamespaceNotAllowed, "CorporateProxy b"},
		"two broken":                             {[]resolve.Candidate{broken("a"), broken("b")}, "", resolve.ReasonInvalidProxy, "CorporateProxy a: broken"},
		"neither selected nor allowed":           {[]resolve.Candidate{{Name: "a"}}, "", resolve.ReasonNotSelected, "no CorporateProxy selects"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 2 { // in both orders: the answer must not depend on a cache's
				got, err := resolve.Choose(cluster, resolve.Has{}, test.candidates)
				var p *resolve.Problem
				if got != test.want || (test.reason != "") != errors.As(err, &p) {
					t.Fatalf("chose %q (%v), want %q", got, err, test.want)
				}
				if p != nil && (p.Reason != test.reason || p.Reason != resolve.ReasonInvalidProxy && p.Object != "Cluster org-acme/c1" || !strings.Contains(p.Error(), test.text)) {
					t.Errorf("%s: %s, want %s: …%s…", p.Reason, p, test.reason, test.text)
				}
				slices.Reverse(test.candidates)
			}
		})
	}
}

// A typo, or a deletion, is no wish for another proxy, list and password.
func TestNoClusterIsHandedToAnotherCorporateProxyByAccident(t *testing.T) {
	cluster := resolve.Cluster{Namespace: "org-acme", Name: "c1"}
	fallback := resolve.Candidate{Name: "default", Selected: true, All: true, Allowed: true}
	named := resolve.Candidate{Name: "default", Selected: true, Allowed: true}
	other := resolve.Candidate{Name: "site", Priority: 10, Allowed: true}
	broken := func(priority int32) resolve.Candidate {
		return resolve.Candidate{Name: "site", Priority: priority, Broken: &resolve.Problem{Reason: resolve.ReasonInvalidProxy, Object: "CorporateProxy site", Detail: "broken"}}
	}
	replacing := func(names ...string) resolve.Candidate {
		c := fallback
		c.Replaces = names
		return c
	}
	site, none := resolve.Has{Proxy: "site"}, resolve.Has{}
	for name, test := range map[string]struct {
		has        resolve.Has
		candidates []resolve.Candidate
		want       string
		reason     resolve.Reason
		text       string
	}{
		"its own is broken":                                {site, []resolve.Candidate{fallback, broken(10)}, "", resolve.ReasonInvalidProxy, "CorporateProxy site: broken"},
		"its own is broken, and of the same priority":      {site, []resolve.Candidate{fallback, broken(0)}, "", resolve.ReasonInvalidProxy, "CorporateProxy site: broken"},
		"its own is broken, and of a lower priority":       {site, []resolve.Candidate{fallback, broken(-1)}, "default", "", ""},
		"another is broken":                                {resolve.Has{Proxy: "default"}, []resolve.Candidate{fallback, broken(10)}, "default", "", ""},
		"it is new, and one that goes first is broken":     {none, []resolve.Candidate{fallback, broken(10)}, "", resolve.ReasonInvalidProxy, "CorporateProxy site: broken"},
		"it is new, and another is broken":                 {none, []resolve.Candidate{fallback, broken(0)}, "default", "", ""},
		"its own does not select it any more":              {site, []resolve.Candidate{fallback, other}, "default", "", ""},
		"its own is gone":                                  {site, []resolve.Candidate{fallback}, "", resolve.ReasonProxyGone, "CorporateProxy site, whose settings it has, does not exist any more; CorporateProxy default selects every Cluster, and gets this one with spec.replaces: [site]"},
		"its own is gone, and another replaces others":     {site, []resolve.Candidate{replacing("berlin", "rome")}, "", resolve.ReasonProxyGone, "site"},
		"its own is gone, and another replaces it":         {site, []resolve.Candidate{replacing("berlin", "site")}, "default", "", ""},
		"its own is gone, and one that does not select it": {site, []resolve.Candidate{fallback, {Name: "rome", Replaces: []string{"site"}}}, "", resolve.ReasonProxyGone, "CorporateProxy default selects"},
		"its own is gone, and another selects by labels":   {site, []resolve.Candidate{named}, "default", "", ""},
		"its own is gone, and nothing selects it":          {site, []resolve.Candidate{{Name: "rome"}}, "", resolve.ReasonNotSelected, ""},
		"its own is gone, and its owner wants none":        {resolve.Has{Proxy: "site", Direct: true}, []resolve.Candidate{fallback}, "default", "", ""},
		"its owner wants none, and its own is broken":      {resolve.Has{Proxy: "site", Direct: true}, []resolve.Candidate{fallback, broken(10)}, "default", "", ""},
	} {
		got, err := resolve.Choose(cluster, test.has, test.candidates)
		var p *resolve.Problem
		if errors.As(err, &p); got != test.want || (test.reason != "") != (p != nil) || p != nil && (p.Reason != test.reason || !strings.Contains(p.Error(), test.text)) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}
