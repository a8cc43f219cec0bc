package tunnel_test

import (
	"os"
	"regexp"
	"slices"
	"testing"
)

// In both directions: no code without a row, no row without a code.
func TestEveryCodeIsDocumented(t *testing.T) {
	source, err := os.ReadFile("finding.go")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../../docs/how-to/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	names := func(pattern string, text []byte) []string {
		var found []string
		for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
			found = append(found, match[1])
		}
		slices.Sort(found)
		return found
	}
	codes := names(`\bCode = "(\w+)"`, source)
	rows := names("(?m)^\\| `(\\w+)` \\| (?:Error|Warning|Info)", docs)
	if len(codes) < 25 || !slices.Equal(codes, rows) {
		t.Errorf("codes %q\nrows  %q", codes, rows)
	}
}
