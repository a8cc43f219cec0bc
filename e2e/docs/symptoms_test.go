package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const symptoms = "docs/troubleshooting.md"

var (
	testedBy = regexp.MustCompile("^- \\*\\*Test\\*\\*: `(e2e/[a-z]+)`: (.+)$")
	testName = regexp.MustCompile("`(Test\\w+)`")
)

// Who reads what a symptom comes from can see it happen.
func TestEachSymptomNamesATestThatIsThere(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, symptoms))
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(page), "\n### ")[1:]
	if len(sections) < 10 {
		t.Errorf("%d symptoms", len(sections))
	}
	for _, section := range sections {
		title, body, _ := strings.Cut(section, "\n")
		for _, part := range []string{"Why", "Prove", "Mend", "Test"} {
			if !strings.Contains(body, "\n- **"+part+"**: ") && !strings.Contains(body, "\n- **"+part+"**:\n") {
				t.Errorf("%s: %s is not said", title, part)
			}
		}
		for line := range strings.Lines(body) {
			m := testedBy.FindStringSubmatch(strings.TrimSpace(line))
			if m == nil {
				continue
			}
			for _, name := range testName.FindAllStringSubmatch(m[2], -1) {
				if !hasTest(t, m[1], name[1]) {
					t.Errorf("%s: %s has no %s", title, m[1], name[1])
				}
			}
		}
	}
}

func hasTest(t *testing.T, folder, name string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(root, folder, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(content), "\nfunc "+name+"(t *testing.T)") {
			return true
		}
	}
	return false
}
