package measure_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/vectors/measure"
	"github.com/fairlead-io/fairlead/e2e/vectors/session"
	"github.com/fairlead-io/fairlead/e2e/vectors/table"
)

// What the lab sees is held against a client whose code needs no guessing.
func TestTheLabSeesWhatAClientDoes(t *testing.T) {
	s := open(t, "go")
	const plain, secure = "http://example.test/", "https://example.test/"
	for _, tc := range []struct{ name, variable, proxy, url, want string }{
		{"no proxy", "HTTP_PROXY", "", plain, "direct"},
		{"no proxy, over TLS", "HTTPS_PROXY", "", secure, "direct"},
		{"a port of the target that nobody has asked for yet", "HTTP_PROXY", "", "http://example.test:4711/", "direct"},
		{"an IPv6 target", "HTTP_PROXY", "", "http://[2001:db8::1]/", "direct"},
		{"an absolute request", "HTTP_PROXY", "http://127.0.0.1:3128", plain, "proxy A http"},
		{"credentials, a character for each byte", "HTTP_PROXY", "http://user:p%C3%A9@127.0.0.1:3128", plain, "proxy A http auth=user:pÃ©"},
		{"a tunnel", "HTTPS_PROXY", "http://127.0.0.1:3129", secure, "proxy B CONNECT"},
		{"a tunnel with credentials", "HTTPS_PROXY", "http://user:pw@[::1]:3128", secure, "proxy v6 CONNECT auth=user:pw"},
		{"TLS to the proxy", "HTTP_PROXY", "https://127.0.0.1:3128", plain, "proxy A tls"},
		{"SOCKS 5", "HTTP_PROXY", "socks5://127.0.0.1:3128", plain, "proxy A socks5 target=name"},
		{"SOCKS 5 with credentials", "HTTPS_PROXY", "socks5://user:pw@127.0.0.1:3128", secure, "proxy A socks5 target=name auth=user:pw"},
		{"a proxy that is none", "HTTP_PROXY", "http://127.0.0.1", plain, "connects to 127.0.0.1:80"},
		{"a proxy with a name is not told from the target", "HTTP_PROXY", "http://proxy.test:3128", plain, "direct"},
		{"a port that cannot be", "HTTP_PROXY", "http://127.0.0.1:65536", plain, "error"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			env, err := json.Marshal(map[string]string{tc.variable: tc.proxy})
			controlplanetest.Require(t, err)
			row, err := measure.Ask(s, table.Row{Env: env, URL: tc.url})
			controlplanetest.Require(t, err)
			if row.Observed != tc.want {
				t.Errorf("%s, want %s", row.Observed, tc.want)
			}
		})
	}
}

func TestALabLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	s := open(t, "go")
	_, err := s.Ask(session.Question{URL: "http://example.test/"})
	controlplanetest.Require(t, err)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if left, err := filepath.Glob(dir + "/*"); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	mounts := controlplanetest.ReadFile(t, "/proc/self/mountinfo")
	if strings.Contains(string(mounts), dir) {
		t.Errorf("a mount stayed:\n%s", mounts)
	}
}
