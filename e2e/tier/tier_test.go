package tier_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/repository"
)

func TestEveryPackageIsInOneTier(t *testing.T) {
	makefile := read(t, "Makefile")
	short, full := list(t, makefile, "short"), list(t, makefile, "full")
	for _, of := range packages(t) {
		switch in := []bool{slices.Contains(short, of.path), slices.Contains(full, of.path)}; {
		case in[0] == in[1]:
			t.Errorf("%s: in the list short: %t, in full: %t; it belongs in one of them", of.path, in[0], in[1])
		case in[1] && strings.Contains(of.tests, "tier.Full("):
			t.Errorf("%s is in the list full as a whole: tier.Full says it a second time", of.path)
		}
	}
	for _, path := range slices.Concat(short, full) {
		if !slices.ContainsFunc(packages(t), func(of tested) bool { return of.path == path }) {
			t.Errorf("the Makefile lists %s, which has no test", path)
		}
	}
}

// list is the value of a variable of the Makefile, which may go on after backslashes.
func list(t *testing.T, makefile, name string) []string {
	t.Helper()
	found := regexp.MustCompile(`(?m)^` + name + ` := ((?:.*\\\n)*.*)$`).FindStringSubmatch(makefile)
	if found == nil {
		t.Fatalf("the Makefile has no list %s", name)
	}
	return strings.Fields(strings.ReplaceAll(found[1], "\\\n", " "))
}

type tested struct {
	path  string // as in the Makefile
	tests string // the text of its tests
}

// packages returns the packages of this module that have tests.
func packages(t *testing.T) []tested {
	t.Helper()
	var all []tested
	root := repository.Path("e2e")
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case !entry.IsDir() || path == root:
			return nil
		case entry.Name() == "testdata":
			return filepath.SkipDir
		}
		files, err := filepath.Glob(filepath.Join(path, "*_test.go"))
		if err != nil || len(files) == 0 {
			return err
		}
		relative, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		of := tested{path: "./" + filepath.ToSlash(relative)}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			of.tests += string(text)
		}
		all = append(all, of)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func read(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(repository.Path(path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}
