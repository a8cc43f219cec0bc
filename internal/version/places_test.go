package version

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// root is the repository's.
const root = "../.."

func TestTheChartsHaveTheNumber(t *testing.T) {
	charts, err := filepath.Glob(filepath.Join(root, "charts", "*", "Chart.yaml"))
	if err != nil || len(charts) != 2 {
		t.Fatal(charts, err)
	}
	for _, file := range charts {
		var chart struct{ Version, AppVersion string }
		content, err := os.ReadFile(file)
		if err == nil {
			err = yaml.Unmarshal(content, &chart)
		}
		if err != nil {
			t.Fatal(err)
		}
		if chart.Version != Number || chart.AppVersion != Number {
			t.Errorf("%s has version %s and appVersion %s, internal/version/VERSION is %s", file, chart.Version, chart.AppVersion, Number)
		}
	}
}

var (
	// Every image of ours that any file names, with its tag if it has one.
	image = regexp.MustCompile(`ghcr\.io/fairlead-io/((?:charts/)?[a-z-]+)(?::([0-9A-Za-z._-]+))?`)
	// Every other way in which a file names a version of ours: in a registry of the reader, as a file, to Go, Helm, Argo CD, Sveltos and an App.
	ours = regexp.MustCompile(`(?:registry\.example/\S*(?:fairlead[a-z-]*|\$image):|fairlead(?:-policies)?-|fairlead@v|/fairlead(?:-policies)? --version |targetRevision: |chartVersion: |catalog: fairlead\n.*\n *version: )(\d+\.\d+\.\d+[0-9A-Za-z.-]*)`)
)

func TestEveryPlaceThatNamesAVersionOfOursHasTheNumber(t *testing.T) {
	programs, err := os.ReadDir(filepath.Join(root, "operator", "cmd"))
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"charts/fairlead", "charts/fairlead-policies", "charts"} // Argo CD names the last one
	for _, program := range programs {
		names = append(names, program.Name())
	}
	found := 0
	for _, folder := range []string{"charts", "config", "docs", "examples", "policies", "noproxy", "operator", "internal", "README.md"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry os.DirEntry, err error) error {
			if err != nil || !entry.Type().IsRegular() {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			for _, match := range image.FindAllStringSubmatch(string(content), -1) {
				found++
				if !slices.Contains(names, match[1]) {
					t.Errorf("%s: %s is no image of ours", path, match[0])
				}
				if tag := strings.TrimRight(match[2], "."); tag != "" && tag != Number {
					t.Errorf("%s: %s, and VERSION is %s", path, match[0], Number)
				}
			}
			if strings.HasSuffix(path, "_test.go") {
				return nil
			}
			for _, match := range ours.FindAllStringSubmatch(string(content), -1) {
				found++
				if strings.TrimSuffix(strings.TrimRight(match[1], "."), ".tgz") != Number {
					t.Errorf("%s: %q, and VERSION is %s", path, match[0], Number)
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 30 {
		t.Errorf("found %d places: is this the repository?", found)
	}
}
