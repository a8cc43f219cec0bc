package main

import (
	"bytes"
	"io"
	"runtime/debug"
	"strings"
	"testing"
)

func TestACallThatIsWrongIsStatus2AndSaysWhy(t *testing.T) {
	for _, row := range []struct {
		args, want string
	}{
		{"--proxy=/run/fairlead-proxy", "there is no target: say --target=host:port"},
		{"--target=hub.example:443", "--proxy is missing"},
		{"--proxy=/run/fairlead-proxy --target=hub.example", `target "hub.example": it is not host:port`},
		{"--listen=127.0.0.1:3128", "--proxy is missing: the folder with the settings"},
		{"--proxy=/run/fairlead-proxy --target=hub.example:443 hub.example:444", `"hub.example:444" is no flag`},
		{"--proxy=/run/fairlead-proxy --target=hub.example:443 --listen=:443", "--target and --listen are two ways: use one"},
	} {
		var stdout, stderr bytes.Buffer
		if status := run(t.Context(), strings.Fields(row.args), &stdout, &stderr); status != statusUsage || !strings.Contains(stderr.String(), row.want) {
			t.Errorf("%s: %d, %s", row.args, status, &stderr)
		}
	}
}

func TestItSaysItsVersion(t *testing.T) {
	var stdout, stderr bytes.Buffer
	if status := run(t.Context(), []string{"--version"}, &stdout, &stderr); status != 0 || !strings.HasPrefix(stdout.String(), "v") {
		t.Errorf("%d, %q, %q", status, &stdout, &stderr)
	}
}

func TestTheCollectorKnowsThatThereAre64MiB(t *testing.T) {
	was := debug.SetMemoryLimit(-1)
	t.Cleanup(func() { debug.SetMemoryLimit(was) })
	run(t.Context(), []string{"--version"}, io.Discard, io.Discard)
	if now := debug.SetMemoryLimit(-1); now >= 64<<20 {
		t.Errorf("it takes %d bytes before it collects", now)
	}
}
