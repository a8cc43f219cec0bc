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
	startServices(t, m, "dropin", len(all), "")
	for i, s := range all {
		compare(t, m, fmt.Sprintf("dropin-%d", i), s, s.want())
	}
}

func judgeEnvironmentFiles(t *testing.T, m *machine.Machine, all []sample) {
	startServices(t, m, "file", len(all), "EnvironmentFile=/etc/judge/%N.env\n")
	inPlain := 0
	for i, s := range all {
		compare(t, m, fmt.Sprintf("file-%d", i), s, s.want())
		if s.plain {
			inPlain++
		}
	}
	if inPlain < len(all)/2 {
		t.Errorf("only %d of %d came without base64", inPlain, len(all))
	}
}

func judgeRancherFiles(t *testing.T, m *machine.Machine, all []sample) {
	startServices(t, m, "rke2", len(all), "EnvironmentFile=-/etc/judge/%N.env\n")
	for i, s := range all {
		want := s.want()
		for name, value := range s.want() {
			want["CONTAINERD_"+name] = value
		}
		compare(t, m, fmt.Sprintf("rke2-%d", i), s, want)
	}
}

// service writes its environment down.
const service = "[Service]\nType=oneshot\nExecStart=/usr/bin/env -0\nStandardOutput=truncate:/run/judge/%N\n"

// startServices starts n services, each to its end.
func startServices(t *testing.T, m *machine.Machine, name string, n int, more string) {
	t.Helper()
	run(t, m, "mkdir -p /run/judge")
	var names strings.Builder
	for i := range n {
		unit := fmt.Sprintf("%s-%d.service", name, i)
		controlplanetest.Require(t, m.WriteFile("/etc/systemd/system/"+unit, []byte(service+more), 0o644))
		names.WriteString(unit + "\n")
	}
	controlplanetest.Require(t, m.WriteFile("/run/names", []byte(names.String()), 0o644))
	run(t, m, "systemctl daemon-reload && xargs -n 100 systemctl start < /run/names")
}

// compare holds an environment that was written down against what was meant.
func compare(t *testing.T, m *machine.Machine, name string, s sample, want map[string]string) {
	t.Helper()
	environment, err := m.ReadFile("/run/judge/" + name)
	if err != nil {
		t.Errorf("%s: %v", name, err)
		return
	}
	if diff := cmp.Diff(want, proxyVariables(environment)); diff != "" {
		t.Errorf("%s, made of %s (-want +got):\n%s", name, s, diff)
	}
}
