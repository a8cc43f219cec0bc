package render

import (
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/templates/systemd"
)

// DropIn returns the systemd drop-in of a unit with the list for an audience:
// both cases of each variable, because clients disagree about which they read. A
// variable without value is left out, because clients disagree about what an
// empty one means; so the drop-in of an unproxied cluster is an empty [Service]
// section. The error is a *resolve.Problem.
func DropIn(e resolve.Effective, audience noproxy.Audience) ([]byte, error) {
	assignments, err := assign(environment(e, audience), systemdAssignment)
	if err != nil {
		return nil, problemAt(e, "drop-in", err)
	}
	return execute(systemd.HTTPProxy, assignments)
}

type variable struct{ name, value string }

// environment lists the variables that are set. NO_PROXY never stands without
// a proxy, nor a proxy without NO_PROXY.
func environment(e resolve.Effective, audience noproxy.Audience) []variable {
	var set []variable
	for _, v := range []struct{ upper, lower, value string }{
		{"HTTP_PROXY", "http_proxy", e.HTTP.Reveal()},
		{"HTTPS_PROXY", "https_proxy", e.HTTPS.Reveal()},
		{"NO_PROXY", "no_proxy", e.NoProxy.For(audience).String()},
	} {
		if v.value != "" {
			set = append(set, variable{v.upper, v.value}, variable{v.lower, v.value})
		}
	}
	return set
}
