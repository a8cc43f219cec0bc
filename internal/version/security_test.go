package version

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	fuzzTarget  = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)
	fuzzNames   = regexp.MustCompile("`(Fuzz\\w+)`")
	fuzzPackage = regexp.MustCompile("` in `([a-z/]+)`")
)

// SECURITY.md lists each fuzz target with its package, and no other.
func TestTheFuzzTargetsAreListed(t *testing.T) {
	if want, got := fuzzTargets(t), listedTargets(t); !slices.Equal(want, got) {
		t.Errorf("SECURITY.md lists\n%s\nthe code has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// fuzzTargets returns "package target" of each in the code, sorted.
func fuzzTargets(t *testing.T) []string {
	t.Helper()
	var targets []string
	for _, folder := range []string{"noproxy", "operator", "internal"} {
		err := filepath.WalkDir(filepath.Join(root, folder), func(path string, _ os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, "_test.go") {
				return err
			}
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			in, err := filepath.Rel(root, filepath.Dir(path))
			for _, match := range fuzzTarget.FindAllStringSubmatch(string(content), -1) {
				targets = append(targets, in+" "+match[1])
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(targets)
	return targets
}

// listedTargets returns the same of SECURITY.md.
func listedTargets(t *testing.T) []string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join(root, "SECURITY.md"))
	if err != nil {
		t.Fatal(err)
	}
	var targets []string
	for line := range strings.Lines(string(page)) {
		in := fuzzPackage.FindStringSubmatch(line)
		if in == nil {
			continue
		}
		for _, name := range fuzzNames.FindAllStringSubmatch(line, -1) {
			targets = append(targets, in[1]+" "+name[1])
		}
	}
	slices.Sort(targets)
	return targets
}
