package judges_test

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/render"
)

// service writes its environment down.
const service = "[Service]\nType=oneshot\nExecStart=/usr/bin/env -0\nStandardOutput=truncate:/judge/%N\n"

func TestABootedSystemdHandsEveryDropInOnAsItWasMeant(t *testing.T) {
	all := samples(t, sampleCount)
	var files []file
	for i, s := range all {
		content, err := render.DropIn(s.effective, noproxy.AudienceGo)
		if err != nil {
			t.Fatalf("sample %d: %v", i, err)
		}
		files = append(files, file{
			Path: numbered("/etc/systemd/system/sample-%d.service.d/http-proxy.conf", i), Permissions: "0600", Encoding: "base64", Content: base64.StdEncoding.EncodeToString(content),
		})
	}
	m := boot(t, files)
	startServices(t, m, len(all))
	for i, s := range all {
		compare(t, m, numbered("/judge/sample-%d", i), i, s.want())
	}
}

// startServices starts sample-0.service and so on, each to its end.
func startServices(t *testing.T, m *machine.Machine, n int) {
	t.Helper()
	run(t, m, "mkdir -p /judge")
	var names strings.Builder
	for i := range n {
		controlplanetest.Require(t, m.WriteFile(numbered("/etc/systemd/system/sample-%d.service", i), []byte(service), 0o644))
		names.WriteString(numbered("sample-%d.service\n", i))
	}
	controlplanetest.Require(t, m.WriteFile("/judge/names", []byte(names.String()), 0o644))
	run(t, m, "systemctl daemon-reload && xargs -n 100 systemctl start < /judge/names")
}

// compare holds an environment that was written down against what was meant.
func compare(t *testing.T, m *machine.Machine, name string, i int, want map[string]string) {
	t.Helper()
	environment, err := m.ReadFile(name)
	if err != nil {
		t.Errorf("sample %d: %v", i, err)
		return
	}
	if diff := cmp.Diff(want, proxyVariables(environment)); diff != "" {
		t.Errorf("sample %d (-want +got):\n%s", i, diff)
	}
}
