package docs_test

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

const symptoms = "docs/how-to/troubleshooting.md"

var (
	part     = regexp.MustCompile(`(?m)^- \*\*(Why|Prove|Mend)\*\*:`)
	testedBy = regexp.MustCompile("^`([a-z0-9/]+)`: `Test\\w+`(?:, `Test\\w+`)*(?:, script `[a-z_/]+`)?$")
	quotes   = regexp.MustCompile("`([^`]+)`")
	// answers are what a command says: a block that is compared, a word in the text, or a page that has it.
	answers = regexp.MustCompile("(?s)\n```console\n|(?:says?|shows?|names?) [^.]*`|names the|\\]\\(")
)

// elsewhere is said by programs that do not run here: a kubelet, and Python's httpx.
var elsewhere = []string{`secret "fairlead-proxy" not found`, "ImagePullBackOff", "httpx.InvalidURL: Invalid port"}

// TestEachSymptomIsProducedByATest reads the sections of the page: each has its parts, a command with its answer, and
// tests in testdata/symptoms.txt. Readers search for the text that a title quotes, so one of those tests, or our code, has it.
func TestEachSymptomIsProducedByATest(t *testing.T) {
	ours := readSource(t).ours
	testOf := map[string]string{} // the line of tests, by the title of the symptom
	for entry := range strings.SplitSeq(read(t, "e2e/docs/testdata/symptoms.txt"), "\n\n") {
		title, test, _ := strings.Cut(strings.TrimSpace(entry), "\n")
		testOf[title] = test
	}
	sections := strings.Split(read(t, symptoms), "\n### ")[1:]
	if len(sections) < 20 {
		t.Errorf("%d symptoms", len(sections))
	}
	for _, section := range sections {
		title, body, _ := strings.Cut(section, "\n")
		parts := partsOf(body)
		for _, name := range []string{"Why", "Prove", "Mend"} {
			if parts[name] == "" {
				t.Errorf("%s: %s is not said", title, name)
			}
		}
		if !quotes.MatchString(parts["Prove"]) && !strings.Contains(parts["Prove"], "$ ") || !answers.MatchString(parts["Prove"]) {
			t.Errorf("%s: Prove has no command with what it says:%s", title, parts["Prove"])
		}
		said := producedBy(t, title, testOf[title]) + ours.text
		delete(testOf, title)
		for _, m := range quotes.FindAllStringSubmatch(title, -1) {
			for text := range strings.SplitSeq(m[1], "…") {
				if !strings.Contains(said, text) && !slices.Contains(elsewhere, text) {
					t.Errorf("%s: no test of it has %q", title, text)
				}
			}
		}
	}
	for title := range testOf {
		t.Errorf("testdata/symptoms.txt: there is no symptom %s", title)
	}
}

func partsOf(body string) map[string]string {
	parts := map[string]string{}
	found := part.FindAllStringSubmatchIndex(body, -1)
	for i, m := range found {
		end := len(body)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		parts[body[m[2]:m[3]]] = body[m[1]:end]
	}
	return parts
}

// producedBy returns the content of the folders of the tests that a symptom names.
func producedBy(t *testing.T, title, line string) string {
	t.Helper()
	var all strings.Builder
	for item := range strings.SplitSeq(line, "; ") {
		m := testedBy.FindStringSubmatch(item)
		if m == nil {
			t.Errorf("%s: %q is no folder with a test", title, item)
			continue
		}
		code := folderText(t, m[1])
		all.WriteString(code)
		for _, name := range quotes.FindAllStringSubmatch(item, -1)[1:] {
			isScript := exists(filepath.Join(m[1], "testdata", name[1]+".txtar"))
			if !isScript && !strings.Contains(code, "\nfunc "+name[1]+"(t *testing.T)") {
				t.Errorf("%s: %s has no %s", title, m[1], name[1])
			}
		}
	}
	return all.String()
}

func folderText(t *testing.T, folder string) string {
	t.Helper()
	var all strings.Builder
	err := filepath.WalkDir(filepath.Join(root, folder), func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			all.Write(append(controlplanetest.ReadFile(t, path), '\n'))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return all.String()
}
