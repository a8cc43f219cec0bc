package internal_test

import (
	"slices"
	"testing"
)

// Helm's engine and Sprig are for values that somebody gives on a command line, with their own rights.
func TestTheCommandLineAloneRendersCharts(t *testing.T) {
	engines := []string{"helm.sh/helm", "github.com/Masterminds"}
	for program, may := range map[string]bool{"fairlead-operator": false, "fairlead-relay": false, "fairlead": true} {
		reached := slices.ContainsFunc(list(t, "-deps", "./operator/cmd/"+program), func(p listed) bool { return below(p.ImportPath, engines) })
		if reached != may {
			t.Errorf("%s reaches Helm: %v, want %v", program, reached, may)
		}
	}
}
