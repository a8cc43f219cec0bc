package cli_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// manifests writes pods, and Secrets, ConfigMaps and NetworkPolicies beside them, into a file.
func manifests(t *testing.T, pods, beside int) string {
	t.Helper()
	var text strings.Builder
	for i := range pods {
		fmt.Fprintf(&text, "---\napiVersion: v1\nkind: Pod\nmetadata: {name: p%d, namespace: n, labels: {app: frpc}}\nspec: {containers: [{name: frpc}]}\n", i)
	}
	for i := range beside {
		for _, rest := range []string{
			"v1\nkind: Secret\ndata: {a: YQ==}", "v1\nkind: ConfigMap\ndata: {a: b}", "networking.k8s.io/v1\nkind: NetworkPolicy\nspec: {podSelector: {}}",
		} {
			fmt.Fprintf(&text, "---\nmetadata: {name: o%d}\napiVersion: %s\n", i, rest)
		}
	}
	file := filepath.Join(t.TempDir(), "manifests.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// What stands beside pods is decoded once, however many pods there are.
func TestDoctorDecodesWhatStandsBesidePodsOnce(t *testing.T) {
	diagnose := func(pods, beside int) float64 {
		file := manifests(t, pods, beside)
		return testing.AllocsPerRun(1, func() {
			if status := cli.Run([]string{"doctor", "tunnel", "-f", file, "--fail-on", "never"}, strings.NewReader(""), io.Discard, io.Discard); status != 0 {
				t.Fatalf("status %d", status)
			}
		})
	}
	pods, beside, both := diagnose(40, 1), diagnose(1, 40), diagnose(40, 40)
	if both > 1.5*(pods+beside) {
		t.Errorf("%.0f allocations for 40 pods, %.0f for 120 objects beside one, %.0f for both", pods, beside, both)
	}
}
