package lint_test

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

func TestEveryCodeIsDocumented(t *testing.T) {
	source, err := os.ReadFile("finding.go")
	if err != nil {
		t.Fatal(err)
	}
	docs, err := os.ReadFile("../../../docs/reference/lint.md")
	if err != nil {
		t.Fatal(err)
	}
	codes := regexp.MustCompile(`\bCode = "(\w+)"`).FindAllStringSubmatch(string(source), -1)
	if len(codes) < 20 {
		t.Fatalf("only %d codes found", len(codes))
	}
	items := strings.Join(regexp.MustCompile("(?m)^- (`\\w+`(?:, `\\w+`)*): ").FindAllString(string(docs), -1), "\n")
	for _, code := range codes {
		if !strings.Contains(items, "`"+code[1]+"`") {
			t.Errorf("docs/reference/lint.md has no %s", code[1])
		}
	}
}
