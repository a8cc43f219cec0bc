package proxyenv_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/internal/core/proxyenv"
)

var list = regexp.MustCompile(`\['HTTP_PROXY'[^\]]*\]`)

// The policies are CEL, and cannot import the names.
func TestTheListsOfThePoliciesAreThese(t *testing.T) {
	files, _ := filepath.Glob("../../../policies/*/*.yaml")
	files = append(files, "../../../charts/fairlead-policies/templates/replicator-cage.yaml")
	want := map[string][]string{
		"all":                  proxyenv.Names,
		"all, and the bundle":  append(slices.Clone(proxyenv.Names), "ca.crt"),
		"groups":               proxyenv.Groups,
		"URLs":                 slices.DeleteFunc(slices.Clone(proxyenv.Names), proxyenv.IsList),
		"groups with URLs":     slices.DeleteFunc(slices.Clone(proxyenv.Groups), proxyenv.IsList),
		"files beside a relay": {proxyenv.HTTP, proxyenv.NoProxy},
	}
	found := map[string]bool{}
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, written := range list.FindAllString(string(text), -1) {
			names := strings.Split(strings.Trim(written, "[']"), "', '")
			known := false
			for what, these := range want {
				if slices.Equal(names, these) {
					known, found[what] = true, true
				}
			}
			if !known {
				t.Errorf("%s: %s: run make generate", name, written)
			}
		}
	}
	if len(found) != len(want) {
		t.Errorf("only %v of the lists are in policies", found)
	}
}
