package docs_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

var (
	link    = regexp.MustCompile(`\]\(([^()\s]+)\)`)
	defined = regexp.MustCompile(`^ *\[[^\]^]+\]: +(\S+)`)
	ownPage = regexp.MustCompile(`^https://github\.com/fairlead-io/fairlead/(?:blob|tree)/main/([^#]*)`)
	titled  = regexp.MustCompile(`(\]\([^()\s]+) +(?:"[^"]*"|'[^']*')\)`)
	broken  = regexp.MustCompile(`\] \(|\]\(\s|\]\([^()]*\s[^()]*\)|\]\(\)`)
	element = regexp.MustCompile(`\b(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`^#{1,6} +(.+?) *$`)
	anchor  = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	address = regexp.MustCompile(`^https://[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?(/\S*)?$|^https?://(127\.0\.0\.1|localhost)\b|^mailto:\S+@\S+$`)
)

// TestEveryLinkLeadsSomewhere looks at the links of all pages of the repository: relative ones with their anchors, addresses
// of others by their form, because tests have no internet.
func TestEveryLinkLeadsSomewhere(t *testing.T) {
	links, addresses := 0, 0
	for _, file := range markdown(t) {
		for i, line := range withoutCode(t, file) {
			line = titled.ReplaceAllString(line, "$1)")
			if m := broken.FindString(line); m != "" {
				t.Errorf("%s:%d: %s is no link", file, i+1, m)
			}
			for _, target := range targets(line) {
				if strings.Contains(target, ":") {
					addresses++
				} else {
					links++
				}
				if problem := checkLink(t, file, target); problem != "" {
					t.Errorf("%s:%d: %s: %s", file, i+1, target, problem)
				}
			}
		}
	}
	if links < 500 || addresses < 7 {
		t.Errorf("only %d links and %d addresses", links, addresses)
	}
}

// targets of the links of a line.
func targets(line string) []string {
	var all []string
	for _, form := range []*regexp.Regexp{link, element, defined} {
		for _, m := range form.FindAllStringSubmatch(line, -1) {
			all = append(all, m[1])
		}
	}
	return all
}

func checkLink(t *testing.T, file, link string) string {
	t.Helper()
	target, fragment, _ := strings.Cut(link, "#")
	switch own := ownPage.FindStringSubmatch(link); {
	case own != nil:
		return follow(t, "README.md", own[1], fragment)
	case !strings.Contains(target, ":"):
		return follow(t, file, target, fragment)
	case !address.MatchString(link):
		return "is no address of a page: mend it, or write it as code"
	}
	return ""
}

// withoutCode is the lines of a page without its blocks and spans of code.
func withoutCode(t *testing.T, file string) []string {
	t.Helper()
	paragraphs := strings.Split(strings.ReplaceAll(strings.Join(prose(t, file), "\n"), "`` ` ``", ""), "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = spanned.ReplaceAllStringFunc(p, func(code string) string { return strings.Repeat("\n", strings.Count(code, "\n")) })
	}
	return strings.Split(strings.Join(paragraphs, "\n\n"), "\n")
}

func follow(t *testing.T, file, target, fragment string) string {
	t.Helper()
	path := filepath.Join(filepath.Dir(file), target)
	if target == "" {
		path = file
	}
	if _, err := os.Stat(filepath.Join(root, path)); err != nil {
		return "there is no " + path
	}
	if fragment == "" || !strings.HasSuffix(path, ".md") {
		return ""
	}
	if !anchors(t, path)[fragment] {
		return path + " has no such heading"
	}
	return ""
}

// markdown are the files of the repository that are pages.
func markdown(t *testing.T) []string {
	t.Helper()
	var files []string
	err := fs.WalkDir(os.DirFS(root), ".", func(path string, entry fs.DirEntry, err error) error {
		if entry.IsDir() && (notOfTheCheckout(path) || entry.Name() == "testdata") {
			return fs.SkipDir
		}
		if err == nil && !entry.IsDir() && strings.HasSuffix(path, ".md") {
			files = append(files, path)
		}
		return err
	})
	controlplanetest.Require(t, err)
	return files
}

// upToDate are the pages but the changelog, which has what was before.
func upToDate(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(markdown(t), func(file string) bool { return file == "CHANGELOG.md" })
}

// prose returns the lines of a page, with the lines of code blocks emptied.
func prose(t *testing.T, file string) []string {
	t.Helper()
	lines, _ := parts(t, file)
	return lines
}

// parts returns the lines of a page, with the lines of code blocks emptied, and the text of the blocks.
func parts(t *testing.T, file string) (lines []string, blocks string) {
	t.Helper()
	lines = strings.Split(read(t, file), "\n")
	inside := false
	for i, line := range lines {
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			inside, lines[i] = !inside, ""
		} else if inside {
			blocks += line + "\n"
			lines[i] = ""
		}
	}
	return lines, blocks
}

// anchors returns the headings of a page, as GitHub spells them in a link.
func anchors(t *testing.T, file string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, line := range prose(t, file) {
		if m := heading.FindStringSubmatch(line); m != nil {
			name := slug(m[1])
			for base, n := name, 1; found[name]; n++ {
				name = base + "-" + string(rune('0'+n))
			}
			found[name] = true
		}
		for _, m := range anchor.FindAllStringSubmatch(line, -1) {
			found[m[1]] = true
		}
	}
	return found
}

func slug(heading string) string {
	heading = link.ReplaceAllString(strings.ReplaceAll(heading, "[", ""), "")
	return strings.Map(func(r rune) rune {
		switch {
		case r == ' ':
			return '-'
		case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
			return unicode.ToLower(r)
		}
		return -1
	}, strings.ReplaceAll(heading, "`", ""))
}

// Programs, values and alerts send their readers to pages, too.
func TestEveryPageThatTheCodeNamesIsThere(t *testing.T) {
	found := regexp.MustCompile(`(?:^|[\s("'\x60]|blob/main/)(docs/[\w/-]+\.md)(?:#([\w-]+))?`).FindAllStringSubmatch(readSource(t).ours.text, -1)
	for _, m := range found {
		if problem := follow(t, "README.md", m[1], m[2]); problem != "" {
			t.Errorf("%s: %s", m[0], problem)
		}
	}
	if len(found) < 60 {
		t.Errorf("only %d", len(found))
	}
}
