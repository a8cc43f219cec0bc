package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fairlead-io/fairlead/e2e/repository"
)

func TestAChangeTouchesWhatImportsItAndWhatTheTableSays(t *testing.T) {
	all := []packages{
		{"internal/core/render", true, nil},
		{"internal/cli", true, []string{"internal/core/render"}},
		{"e2e/nodes", true, nil},
		{"e2e/judges", true, nil},
		{"e2e/operator", true, nil},
		{"e2e/clusterapi", true, nil},
		{"e2e/ignition", true, nil},
		{"e2e/workloads", true, []string{"e2e/helm"}},
		{"e2e/helm", false, nil},
		{"e2e/policies", true, nil},
		{"internal/agents/mutation", true, nil},
	}
	for changed, want := range map[string][2][]string{
		"internal/core/render/testdata/x": {
			{"internal/cli", "internal/core/render"},
			{"e2e/clusterapi", "e2e/ignition", "e2e/judges", "e2e/nodes", "e2e/operator", "e2e/workloads"},
		},
		"e2e/helm/helm.go":                     {nil, {"e2e/workloads"}},
		"CHANGELOG.md":                         {nil, nil},
		"e2e/policies/testdata/decisions/x.md": {{"internal/agents/mutation"}, {"e2e/policies"}},
	} {
		unit, e2e := decide([]string{changed}, all)
		if diff := cmp.Diff(want, [2][]string{unit, e2e}); diff != "" {
			t.Errorf("%s (-want +got):\n%s", changed, diff)
		}
	}
}

func TestTheTableKnowsEveryFolderAndNamesOnlyWhatIsThere(t *testing.T) {
	isFolder := func(elements ...string) bool {
		info, err := os.Stat(repository.Path(elements...))
		return err == nil && info.IsDir()
	}
	for _, r := range table {
		if _, err := os.Stat(repository.Path(r.path)); err != nil {
			t.Errorf("row %q: %v", r.path, err)
		}
		for _, name := range r.packages {
			if !isFolder("e2e", name) {
				t.Errorf("row %q names %s, which is no package of e2e", r.path, name)
			}
		}
	}
	// Each folder of these has a row of its own, or one of a folder above that names packages.
	for _, parent := range []string{".", "internal", "internal/core", "internal/workload", "internal/manager", "operator", "e2e/tools"} {
		entries, err := os.ReadDir(repository.Path(parent))
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			path := filepath.Join(parent, entry.Name())
			switch {
			case !isFolder(path) || strings.HasPrefix(entry.Name(), ".") || path == "e2e" || path == "operator" || path == "dist":
			case parent == "e2e/tools" && !exists(path, "go.mod"):
			case slices.ContainsFunc(table, func(r row) bool { return r.path == path }):
			case len(rowOf(path).packages) == 0 && !ownTestsSuffice[path]:
				t.Errorf("%s: no row says what runs it end to end", path)
			}
		}
	}
}

// What unit tests prove alone, or what only names and generates.
var ownTestsSuffice = map[string]bool{"internal/reference": true, "internal/version": true}

func exists(elements ...string) bool {
	_, err := os.Stat(repository.Path(elements...))
	return err == nil
}
