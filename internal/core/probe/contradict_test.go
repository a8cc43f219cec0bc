package probe

import "testing"

func TestTwoTargetsContradictEachOther(t *testing.T) {
	reach := func(route Route) Target { return Target{"https://a.example", Reachable, route} }
	not := func(route Route) Target { return Target{"https://a.example", Unreachable, route} }
	for name, test := range map[string]struct {
		a, b Target
		want bool
	}{
		"by any way, and by none":              {reach(""), not(""), true},
		"by the proxy, and by none":            {reach(Proxied), not(""), true},
		"by the proxy, and not around it":      {reach(Proxied), not(Direct), false},
		"by some way, and not around it":       {reach(""), not(Direct), false},
		"around it, and not around it":         {reach(Direct), not(Direct), true},
		"by the proxy, and not by the proxy":   {reach(Proxied), not(Proxied), true},
		"by the proxy, and around it":          {reach(Proxied), reach(Direct), true},
		"by some way, and by the proxy":        {reach(""), reach(Proxied), false},
		"the same":                             {reach(Direct), reach(Direct), false},
		"not by one way, and not by the other": {not(Direct), not(Proxied), false},
		"another URL":                          {reach(""), Target{"https://b.example", Unreachable, ""}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if Contradict(test.a, test.b) != test.want || Contradict(test.b, test.a) != test.want {
				t.Error(!test.want)
			}
		})
	}
}
