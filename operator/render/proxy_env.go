package render

import (
	"bytes"
	"strings"

	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/resolve"
)

// proxyEnv returns an EnvironmentFile with the list for an audience; an empty one
// where nothing is set. Inside double quotes systemd takes a backslash before
// these four characters only, and every other character as it is (systemd.exec(5),
// EnvironmentFile=; src/basic/env-file.c).
func proxyEnv(e resolve.Effective, audience noproxy.Audience) ([]byte, error) {
	var out bytes.Buffer
	for _, v := range environment(e, audience) {
		// What no unit file can carry, no environment can.
		if _, err := systemdAssignment(v.name, v.value); err != nil {
			return nil, err
		}
		out.WriteString(v.name + `="` + proxyEnvEscaper.Replace(v.value) + "\"\n")
	}
	return out.Bytes(), nil
}

var proxyEnvEscaper = strings.NewReplacer(`\`, `\\`, `"`, `\"`, `$`, `\$`, "`", "\\`")
