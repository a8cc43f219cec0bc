package tunnel_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// In both directions: no code that is not listed, no listed name that is no code.
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
	_, section, _ := strings.Cut(string(docs), "\n### Codes\n")
	section, _, _ = strings.Cut(section, "\n### ")
	items := regexp.MustCompile("(?m)^- (`\\w+`(?:, `\\w+`)*): ").FindAllString(section, -1)
	listed := names("`(\\w+)`", []byte(strings.Join(items, "\n")))
	if len(codes) < 25 || !slices.Equal(codes, listed) {
		t.Errorf("codes  %q\nlisted %q", codes, listed)
	}
}
