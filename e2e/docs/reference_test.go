package docs_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// reference is docs/reference/cli.md, which is made of the code: the section of each command.
type reference map[string]string

var section = regexp.MustCompile(`(?m)^#{2,4} (fairlead\S*(?: \S+)*)$`)

func readReference(t *testing.T) reference {
	t.Helper()
	text := read(t, "docs/reference/cli.md")
	found := section.FindAllStringSubmatchIndex(text, -1)
	r := reference{}
	for i, m := range found {
		end := len(text)
		if i+1 < len(found) {
			end = found[i+1][0]
		}
		r[text[m[2]:m[3]]] = text[m[1]:end]
	}
	if len(r) < 30 {
		t.Fatalf("%d commands", len(r))
	}
	return r
}

func (r reference) check(words []string) error {
	command, rest := words[0], words[1:]
	if len(rest) > 0 && rest[0] == "help" {
		rest = rest[1:]
	}
	for len(rest) > 0 && r[command+" "+rest[0]] != "" {
		command, rest = command+" "+rest[0], rest[1:]
	}
	if len(rest) > 0 && regexp.MustCompile(`^[a-z]`).MatchString(rest[0]) && !r.takesArguments(command) {
		return fmt.Errorf("%s has no %s", command, rest[0])
	}
	if err := r.checkValues(command, rest); err != nil {
		return err
	}
	return checkFlags(rest, func(flag string) bool {
		name := strings.TrimLeft(flag, "-")
		return strings.Contains(r[command], "`"+flag+"`") || strings.HasPrefix(command, "fairlead-") &&
			regexp.MustCompile(`(?m)^ +(?:-\w, )?--?`+name+`\b`).MatchString(r[command])
	})
}

var oneOf = regexp.MustCompile(`one of ([\w=-]+(?:, [\w=-]+)*)`)

// checkValues looks at the values of flags that take one of some.
func (r reference) checkValues(command string, words []string) error {
	for i, w := range words {
		flag, value, joined := strings.Cut(w, "=")
		if !joined && i+1 < len(words) {
			value = words[i+1]
		}
		row := regexp.MustCompile("(?m)^\\|.*`" + regexp.QuoteMeta(flag) + "`.*$").FindString(r[command])
		m := oneOf.FindStringSubmatch(row)
		if !strings.HasPrefix(flag, "-") || m == nil || !regexp.MustCompile(`^[a-z]`).MatchString(value) {
			continue
		}
		if !slices.ContainsFunc(strings.Split(m[1], ", "), func(is string) bool {
			return value == is || strings.HasSuffix(is, "=") && strings.HasPrefix(value, is)
		}) {
			return fmt.Errorf("%s takes %s, not %s", flag, m[0], value)
		}
	}
	return nil
}

// takesArguments says whether the command's line of usage has more than its name and flags.
func (r reference) takesArguments(command string) bool {
	usage := regexp.MustCompile("(?m)^" + command + `(?: \[flags\])?$`)
	return !strings.HasPrefix(command, "fairlead-") && !usage.MatchString(r[command])
}
