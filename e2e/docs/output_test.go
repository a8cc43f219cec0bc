package docs_test

import (
	"regexp"
	"strings"
)

// What varies from run to run is compared by its kind.
var (
	age   = regexp.MustCompile(`^(\d+[smhd])+$`)
	clock = regexp.MustCompile(`^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$`)
	words = regexp.MustCompile(`\s{2,}|\S+|\s`)
)

const anything = "…"

// shows reports whether a page shows what was printed. "…" stands for anything within a line; alone on a line, for any
// lines. An age stands for any age, a time for any time, and two blanks or more for as many, as columns have them.
func shows(want, got string) bool {
	pattern := &strings.Builder{}
	pattern.WriteString(`\A`)
	for line := range strings.SplitSeq(strings.TrimRight(want, "\n"), "\n") {
		if strings.TrimSpace(line) == anything {
			pattern.WriteString(`(?s:.*\n)??`)
			continue
		}
		pattern.WriteString(lineLike(line) + `[ \t]*\n`)
	}
	pattern.WriteString(`\z`)
	got = strings.TrimRight(got, "\n") + "\n"
	if want == "" {
		return got == "\n"
	}
	return regexp.MustCompile(pattern.String()).MatchString(got)
}

func lineLike(line string) string {
	line = strings.TrimRight(line, " ")
	indent := len(line) - len(strings.TrimLeft(line, " "))
	pattern := &strings.Builder{}
	pattern.WriteString(line[:indent])
	for _, word := range words.FindAllString(line[indent:], -1) {
		switch {
		case age.MatchString(word):
			pattern.WriteString(`(\d+[smhd])+`)
		case clock.MatchString(strings.TrimRight(word, ":,.")):
			pattern.WriteString(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ` + regexp.QuoteMeta(word[len("2006-01-02T15:04:05Z"):]))
		case len(word) > 1 && strings.TrimSpace(word) == "":
			pattern.WriteString(` {2,}`)
		default:
			pattern.WriteString(strings.ReplaceAll(regexp.QuoteMeta(word), anything, `.*`))
		}
	}
	return pattern.String()
}
