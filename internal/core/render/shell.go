package render

import (
	"strings"

	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Shell returns commands that export the variables, for any POSIX shell: for the
// machine on which a management cluster is made, before there is an operator. Its
// programs are of any kind, so it is usually given the list for any client.
//
// It is not the language of "docker run --env-file", which has no quoting, so that
// no shell can read it safely. Docker takes over what a shell has exported with
// "--env NAME".
func Shell(e resolve.Effective, audience noproxy.Audience) ([]byte, error) {
	lines, err := assign(e, "env", environment(e, audience), shellExport)
	return joinLines(lines), err
}

// shellExport returns a command that exports a variable. Between single quotes
// every byte stands for itself, and only a single quote cannot be there (POSIX.1,
// Shell Command Language, 2.2.2). No environment holds a NUL byte.
func shellExport(name, value string) (string, error) {
	if strings.ContainsRune(value, 0) {
		return "", notCarriable("%s contains a NUL byte, which no environment can carry", name)
	}
	return "export " + name + "='" + strings.ReplaceAll(value, "'", `'\''`) + "'", nil
}
