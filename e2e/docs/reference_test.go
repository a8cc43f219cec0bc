package docs_test

import (
	"fmt"
	"regexp"
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
	for len(rest) > 0 && r[command+" "+rest[0]] != "" {
		command, rest = command+" "+rest[0], rest[1:]
	}
	if len(rest) > 0 && regexp.MustCompile(`^[a-z]`).MatchString(rest[0]) && !r.takesArguments(command) {
		return fmt.Errorf("%s has no %s", command, rest[0])
	}
	return checkFlags(rest, func(flag string) bool {
		name := strings.TrimLeft(flag, "-")
		return strings.Contains(r[command], "`"+flag+"`") || strings.HasPrefix(command, "fairlead-") &&
			regexp.MustCompile(`(?m)^ +(?:-\w, )?--?`+name+`\b`).MatchString(r[command])
	})
}

// takesArguments says whether the command's line of usage has more than its name and flags.
func (r reference) takesArguments(command string) bool {
	usage := regexp.MustCompile("(?m)^" + command + `(?: \[flags\])?$`)
	return !strings.HasPrefix(command, "fairlead-") && !usage.MatchString(r[command])
}
