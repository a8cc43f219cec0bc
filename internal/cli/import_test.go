package cli_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/cli"
	"github.com/fairlead-io/fairlead/internal/core/cabundle/cabundletest"
)

const aCluster = "../../examples/cluster.yaml"

// What import makes of any system's settings is for lint, render and the comparison; import has named what lint finds.
func TestOtherVerbsTakeWhatImportMakesOfEveryExample(t *testing.T) {
	examples, err := filepath.Glob("../../examples/import/*")
	if err != nil || len(examples) < 11 {
		t.Fatal(examples, err)
	}
	pem, _ := cabundletest.Authority(t, "Corp")
	configMap, err := json.Marshal(map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]string{"name": "user-ca-bundle", "namespace": "fairlead-system"}, "data": map[string]string{"ca-bundle.crt": pem},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		t.Run(filepath.Base(example), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			var objects, named bytes.Buffer
			if status := cli.Run([]string{"import", "-f", example, "--name", "corp", "--cluster", aCluster}, nil, &objects, &named); status != 0 {
				t.Fatal(named.String())
			}
			for name, content := range map[string][]byte{"corp.yaml": objects.Bytes(), "ca.json": configMap} {
				if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			checkNamed(t, fairlead(t, "", "lint", "--proxy", folder, "--cluster", aCluster, "-o", "json"), named.String())
			fairlead(t, "", "render", "--proxy", folder, "--cluster", aCluster, "-o", "yaml")
			checkExplained(t, example)
		})
	}
}

func checkNamed(t *testing.T, linted, named string) {
	t.Helper()
	var all []struct {
		Findings []struct{ Severity, Code string }
	}
	if err := json.Unmarshal([]byte(linted), &all); err != nil {
		t.Fatal(err)
	}
	for _, f := range all[0].Findings {
		if f.Severity != "Info" && !strings.Contains(named, f.Severity+" "+f.Code) {
			t.Errorf("lint finds %s, and import says\n%s", f.Code, named)
		}
	}
}

// checkExplained wants a reason for each difference, and no password.
func checkExplained(t *testing.T, example string) {
	t.Helper()
	var out, report bytes.Buffer
	if status := cli.Run([]string{"import", "-f", example, "--cluster", aCluster, "--compare", "-o", "json"}, nil, &out, &report); status != 1 {
		t.Fatal(status, report.String())
	}
	if strings.Contains(out.String()+report.String(), "mySuper") {
		t.Error("the comparison has the password")
	}
	var all []struct {
		Decisions, Clients, URLs int
		Rows                     []struct {
			Same    bool
			Why     string
			Clients []string
		}
	}
	if err := json.Unmarshal(out.Bytes(), &all); err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		decided := 0
		for _, r := range c.Rows {
			decided += len(r.Clients)
			if !r.Same && r.Why == "" {
				t.Errorf("a difference without a reason: %+v", r)
			}
		}
		if decided != c.Decisions || decided != c.URLs*(c.Clients+1) {
			t.Errorf("%d decisions of %d clients about %d URLs, %d shown", c.Decisions, c.Clients, c.URLs, decided)
		}
	}
}
