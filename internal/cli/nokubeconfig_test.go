package cli_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// Nobody has a kubeconfig at first. Where one was looked for is said by every verb that needs it.
func TestWithoutAKubeconfigItSaysWhereItLooked(t *testing.T) {
	for _, verb := range []string{"status", "nodes", "pods", "rollout status", "doctor tunnel x", "doctor cluster x", "wire x"} {
		for name, test := range map[string]struct{ variable, want string }{
			"none":     {"", "KUBECONFIG is not set, and this is no pod; give --kubeconfig"},
			"a folder": {filepath.Join(t.TempDir(), "none"), "no cluster is in "},
		} {
			t.Setenv("KUBECONFIG", test.variable)
			t.Setenv("KUBERNETES_SERVICE_HOST", "")
			t.Setenv("HOME", t.TempDir())
			var out bytes.Buffer
			if status := cli.Run(strings.Fields(verb), nil, &out, &out); status == 0 || !strings.Contains(out.String(), test.want) {
				t.Errorf("%s, %s: status %d, it says %s", verb, name, status, out.String())
			}
		}
	}
}
