package render

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// Shell returns commands that export the variables, for any POSIX shell: for the
// machine on which a management cluster is made, before there is an operator. Its
// programs are of any kind, so it is usually given the list for any client. It is
// empty where nothing is set. The error is a *resolve.Problem.
//
// It is not the language of "docker run --env-file", which has no quoting, so that
// no shell can read it safely. Docker takes over what a shell has exported with
// "--env NAME".
func Shell(e resolve.Effective, audience noproxy.Audience) ([]byte, error) {
	lines, err := assign(environment(e, audience), shellExport)
	if err != nil {
		return nil, problemAt(e, "env", err)
	}
	var text strings.Builder
	for _, line := range lines {
		text.WriteString(line + "\n")
	}
	return []byte(text.String()), nil
}
