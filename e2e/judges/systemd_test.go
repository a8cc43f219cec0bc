package judges_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
)

func judgeDropIns(t *testing.T, m *machine.Machine, all []sample) {
	t.Helper()
	startServices(t, m, "dropin", all, "")
	for _, s := range all {
		compare(t, m, "dropin", s, s.want())
	}
}

func judgeEnvironmentFiles(t *testing.T, m *machine.Machine, all []sample) {
	t.Helper()
	startServices(t, m, "file", all, "EnvironmentFile=/etc/judge/%N.env\n")
	inPlain := 0
	for _, s := range all {
		compare(t, m, "file", s, s.want())
		if s.plain {
			inPlain++
		}
	}
	if inPlain < len(all)/2 {
		t.Errorf("only %d of %d came without base64", inPlain, len(all))
	}
}

// readByShell has a shell read each file: a person does, or an init system that is not systemd.
const readByShell = `
mkdir -p /run/judge
cd /etc/judge
for file in file-*.env; do
	i=${file#file-}
	(set -a; . "./$file"; exec /usr/bin/env -0) > "/run/judge/shell-${i%.env}"
done`

// systemd takes a $ as it is, a shell does not. So this test covers the escape.
func judgeShell(t *testing.T, m *machine.Machine, all []sample) {
	t.Helper()
	run(t, m, readByShell)
	for _, s := range all {
		compare(t, m, "shell", s, s.want())
	}
}

// service writes its environment down.
const service = "[Service]\nType=oneshot\nExecStart=/usr/bin/env -0\nStandardOutput=truncate:/run/judge/%N\n"

// startServices starts a service for each sample, to its end.
func startServices(t *testing.T, m *machine.Machine, name string, all []sample, more string) {
	t.Helper()
	run(t, m, "mkdir -p /run/judge")
	var names strings.Builder
	for _, s := range all {
		unit := fmt.Sprintf("%s-%d.service", name, s.Number)
		controlplanetest.Require(t, m.WriteFile("/etc/systemd/system/"+unit, []byte(service+more), 0o644))
		names.WriteString(unit + "\n")
	}
	controlplanetest.Require(t, m.WriteFile("/run/names", []byte(names.String()), 0o644))
	run(t, m, "systemctl daemon-reload && xargs -n 100 systemctl start < /run/names")
}

// compare compares an environment that was written down with the intended one.
func compare(t *testing.T, m *machine.Machine, name string, s sample, want map[string]string) {
	t.Helper()
	environment, err := m.ReadFile(fmt.Sprintf("/run/judge/%s-%d", name, s.Number))
	if err != nil {
		t.Errorf("%s, sample %s: %v", name, s, err)
		return
	}
	if diff := cmp.Diff(want, proxyVariables(environment)); diff != "" {
		t.Errorf("%s, sample %s (-want +got):\n%s", name, s, diff)
	}
}
