package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// ours is a program of ours, whose help has the values of flags, too.
type ours struct{ program }

func readOurs(t *testing.T) map[string]ours {
	t.Helper()
	all := map[string]ours{}
	for _, name := range []string{"fairlead", "fairlead-operator", "fairlead-relay"} {
		path, err := tools.Program(t.Context(), name)
		controlplanetest.Require(t, err)
		all[name] = ours{program{path: path, help: map[string]string{}}}
	}
	return all
}

var (
	verb = regexp.MustCompile(`^[a-z][a-z-]*$`)
	// alone is the usage of what has no arguments: other words than those of the command are none.
	alone     = regexp.MustCompile(`Usage:\n  (fairlead[a-z -]*?)(?: \[(?:flags|command)\])?\n`)
	available = regexp.MustCompile(`(?s)\nAvailable Commands:\n(.*?)\n\n`)
)

func (o ours) check(words []string) error {
	verbs := words[1:]
	if len(verbs) > 0 && verbs[0] == "help" {
		verbs = verbs[1:]
	}
	if end := slices.IndexFunc(verbs, func(w string) bool { return !verb.MatchString(w) }); end >= 0 {
		verbs = verbs[:end]
	}
	help, err := o.ask(append(slices.Clone(verbs), "--help")...)
	if err != nil {
		return err
	}
	if m := alone.FindStringSubmatch(help); m != nil && len(verbs) >= len(strings.Fields(m[1])) {
		return fmt.Errorf("%s has no %s", m[1], verbs[len(strings.Fields(m[1]))-1])
	}
	if err := checkValues(help, words); err != nil {
		return err
	}
	return checkFlags(words, func(flag string) bool { return row(help, flag) != "" })
}

// row of a flag in the help; fairlead-relay's have one dash, and it takes two.
func row(help, flag string) string {
	dashes := flag
	if strings.HasPrefix(help, "Usage of ") {
		dashes = "--?" + strings.TrimLeft(flag, "-")
	}
	return regexp.MustCompile(`(?m)^ +(?:-\w, )?` + dashes + `(?:[ ,].*)?$`).FindString(help)
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

// all is what the program says of itself and of each verb below these.
func (o ours) all(t *testing.T, verbs ...string) string {
	t.Helper()
	help, err := o.ask(append(slices.Clone(verbs), "--help")...)
	controlplanetest.Require(t, err)
	m := available.FindStringSubmatch(help)
	if m == nil {
		return help
	}
	for line := range strings.Lines(m[1]) {
		if name := strings.Fields(line)[0]; name != "help" {
			help += o.all(t, append(slices.Clone(verbs), name)...)
		}
	}
	return help
}

var helps struct {
	sync.Mutex
	text string
}

// readHelps is what all programs of ours say.
func readHelps(t *testing.T) string {
	t.Helper()
	helps.Lock()
	defer helps.Unlock()
	if helps.text == "" {
		for _, program := range readOurs(t) {
			helps.text += "\n" + program.all(t)
		}
		if found := strings.Count(helps.text, "Usage"); found < 30 {
			t.Fatalf("%d commands", found)
		}
	}
	return helps.text
}
