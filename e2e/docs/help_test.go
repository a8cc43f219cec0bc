package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
)

func readOurs(t *testing.T) map[string]*program {
	t.Helper()
	all := map[string]*program{}
	for _, name := range []string{"fairlead", "fairlead-operator", "fairlead-relay"} {
		path := controlplanetest.Program(t, name)
		all[name] = &program{path: path, common: "--help", help: map[string]string{}}
	}
	return all
}

var available = regexp.MustCompile(`(?s)\nAvailable Commands:\n(.*?)\n\n`)

// row of a flag in the help; fairlead-relay's have one dash, and it takes two.
func row(help, flag string) string {
	dashes := flag
	if strings.HasPrefix(help, "Usage of ") {
		dashes = "--?" + strings.TrimLeft(flag, "-")
	}
	return regexp.MustCompile(`(?m)^ +(?:-\w, )?` + dashes + `(?:[ =,].*)?$`).FindString(help)
}

var oneOf = regexp.MustCompile(`one of ([\w=-]+(?:, [\w=-]+)*)`)

// checkValues looks at the values of flags that take one of some.
func checkValues(help string, words []string) error {
	for i, w := range words {
		flag, value, joined := strings.Cut(w, "=")
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		if !regexp.MustCompile(`^--?[a-zA-Z][\w-]*$`).MatchString(flag) || !regexp.MustCompile(`^[a-z]`).MatchString(value) {
			continue
		}
		m := oneOf.FindStringSubmatch(row(help, flag))
		if m != nil && !slices.ContainsFunc(strings.Split(m[1], ", "), func(is string) bool {
			return value == is || strings.HasSuffix(is, "=") && strings.HasPrefix(value, is)
		}) {
			return fmt.Errorf("%s takes %s, not %s", flag, m[0], value)
		}
	}
	return nil
}

// all returns the help of the program and of each verb below these.
func (p *program) all(t *testing.T, verbs ...string) string {
	t.Helper()
	help, err := p.ask(append(slices.Clone(verbs), "--help")...)
	controlplanetest.Require(t, err)
	m := available.FindStringSubmatch(help)
	if m == nil {
		return help
	}
	for line := range strings.Lines(m[1]) {
		if name := strings.Fields(line)[0]; name != "help" {
			help += p.all(t, append(slices.Clone(verbs), name)...)
		}
	}
	return help
}

var helps string // once they have been asked for

// readHelps returns the help of all of Fairlead's programs.
func readHelps(t *testing.T) string {
	t.Helper()
	if helps == "" {
		for _, program := range readOurs(t) {
			helps += "\n" + program.all(t)
		}
		if found := strings.Count(helps, "Usage"); found < 30 {
			t.Fatalf("%d commands", found)
		}
	}
	return helps
}
