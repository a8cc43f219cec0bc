package docs_test

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

// class is a kind of name that pages write as code: what it looks like, and which there are.
type class struct {
	what    string
	pattern *regexp.Regexp
	known   func(name string) bool
	// own: a block of the page may have it, since the reader makes it. anywhere: not only as code.
	own, anywhere bool
	least         int // how many different ones the pages have
}

// reserved are names of hosts for examples, which look like fields.
var reserved = regexp.MustCompile(`\.(?:example|test|invalid)$|\bexample\.(?:com|net|org)$`)

func classes(t *testing.T) []class {
	t.Helper()
	s, schemas, help := readSource(t), readSchemas(t), readHelps(t)
	alerts := read(t, "charts/fairlead/monitoring/alerts.yaml") + read(t, "charts/fairlead-policies/monitoring/alerts.yaml")
	metrics := read(t, "docs/reference/metrics.md") // made of the code
	return []class{
		{"test", regexp.MustCompile(`^((?:Test|Fuzz|Benchmark)[A-Z]\w+)$`), s.tests.has, false, false, 15},
		{"metric", regexp.MustCompile(`\b(fairlead_[a-z_]+[a-z])\b`), func(name string) bool { return strings.Contains(metrics, "| `"+name+"` |") }, false, true, 35},
		{"alert", regexp.MustCompile(`\b(Fairlead[A-Z]\w+)`), func(name string) bool { return strings.Contains(alerts, "alert: "+name+"\n") }, false, true, 10},
		{"label, annotation or group", regexp.MustCompile(`(?:^|[^\w/.-])((?:(?:proxyreports|exclusions)\.)?fairlead\.io(?:/[a-z0-9-]*[a-z0-9])?)`), s.ours.has, false, true, 20},
		{"file", regexp.MustCompile(`^((?:api|charts|config|docs|e2e|examples|images|internal|noproxy|operator|policies|templates)/\S+)$`), exists, false, false, 55},
		{"file", regexp.MustCompile(`^([a-z][\w-]*/[\w./-]+\.(?:go|json|md|mod|sh|txt|txtar|ya?ml))$`), func(name string) bool {
			return !notOfTheCheckout(strings.Split(name, "/")[0]) && exists(name) || strings.Contains(s.all.text, "/"+name+"\n")
		}, true, false, 20},
		{
			"field or value", regexp.MustCompile(`^(?:--set )?([a-z]\w*(?:\[\])?(?:\.\w+(?:\[\d*\])?)+)(?:[=:].*)?$`),
			func(name string) bool {
				return reserved.MatchString(name) || schemas.have(name) || !schemas.claim(name) && s.all.hasEach(name)
			}, true, false, 140,
		},
		{
			"flag", regexp.MustCompile(`^(--?[a-z][a-z-]*)`),
			func(name string) bool {
				return row(help, name) != "" || s.all.has(name)
			}, false, false, 50,
		},
		{"kind, condition, reason or code", regexp.MustCompile(`^([A-Z][a-z][A-Za-z]+)$`), func(name string) bool { return s.tests.has(name) || s.ours.has(name) }, false, false, 250},
		{"word", regexp.MustCompile(`^([a-z_][\w-]*|[A-Z][A-Z_]+)$`), s.all.has, true, false, 500},
	}
}

// TestEveryNameOnAPageIsOneThatThereIs looks at what pages write as code: a name that is not in the code any more leads its
// reader nowhere.
func TestEveryNameOnAPageIsOneThatThereIs(t *testing.T) {
	all, foreign := classes(t), readForeign(t)
	commands := "" // TestEveryCommandOnAPageIsOneThatThereIs takes names from there, too
	found := make([]map[string]bool, len(all))
	for i := range found {
		found[i] = map[string]bool{}
	}
	for _, file := range upToDate(t) {
		_, blocks := parts(t, file)
		commands += blocks
		inCode, lines := spans(t, file), lines(t, file)
		for i, c := range all {
			where := inCode
			if c.anywhere {
				where = lines
			}
			for name, line := range c.in(where) {
				found[i][name] = true
				if c.known(name) || c.own && strings.Contains(blocks, name) {
					continue
				}
				if _, is := foreign[name]; !is {
					t.Errorf("%s:%d: there is no %s %s: mend it, or list it in %s if it is another program's", file, line, c.what, name, foreignFile)
				}
				foreign[name] = true
			}
		}
	}
	for i, c := range all {
		if len(found[i]) < c.least {
			t.Errorf("only %d of: %s", len(found[i]), c.what)
		}
	}
	for name, used := range foreign {
		if !used && !strings.Contains(commands, name) {
			t.Errorf("%s: no page has %s, or it is ours", foreignFile, name)
		}
	}
}

// in returns the names of this kind, with a line of each.
func (c class) in(spans []span) map[string]int {
	names := map[string]int{}
	for _, s := range spans {
		for _, m := range c.pattern.FindAllStringSubmatch(s.text, -1) {
			names[m[1]] = s.line
		}
	}
	return names
}

const foreignFile = "e2e/docs/testdata/foreign.txt"

// readForeign returns the names of other programs that are in no file of ours.
func readForeign(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for line := range strings.Lines(read(t, foreignFile)) {
		if name := strings.TrimSpace(line); name != "" && !strings.HasPrefix(name, "#") {
			names[name] = false
		}
	}
	return names
}

// span is a piece of code within the text.
type span struct {
	line int
	text string
}

var spanned = regexp.MustCompile("`([^`]+)`")

func lines(t *testing.T, file string) []span {
	t.Helper()
	var all []span
	for line := range strings.Lines(read(t, file)) {
		all = append(all, span{len(all) + 1, line})
	}
	return all
}

// spans of a page; one may go on in the next line.
func spans(t *testing.T, file string) []span {
	t.Helper()
	text := strings.ReplaceAll(strings.Join(prose(t, file), "\n"), "`` ` ``", "")
	var found []span
	line := 1
	for paragraph := range strings.SplitSeq(text, "\n\n") {
		for _, m := range spanned.FindAllStringSubmatchIndex(paragraph, -1) {
			found = append(found, span{
				line: line + strings.Count(paragraph[:m[0]], "\n"),
				text: strings.Join(strings.Fields(paragraph[m[2]:m[3]]), " "),
			})
		}
		line += strings.Count(paragraph, "\n") + 2
	}
	return found
}

func read(t *testing.T, file string) string {
	t.Helper()
	return string(controlplanetest.ReadFile(t, filepath.Join(root, file)))
}

// exists says whether there is such a file; a word in capitals or in <> stands for any.
func exists(path string) bool {
	path = regexp.MustCompile(`<[^>]+>|\b[A-Z]{2,}\b`).ReplaceAllString(path, "*")
	files, err := filepath.Glob(filepath.Join(root, path))
	return err == nil && len(files) > 0
}
