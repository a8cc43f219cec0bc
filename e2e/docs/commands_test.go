package docs_test

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fairlead-io/fairlead/e2e/howto"
)

// TestEveryCommandOnAPageIsOneThatThereIs looks at the verbs and flags of all commands, run or not, in blocks and in the
// text: those of fairlead, kubectl, helm and make, and the packages and tests that go is told.
func TestEveryCommandOnAPageIsOneThatThereIs(t *testing.T) {
	known, objects := manuals(t), readMentioned(t)
	seen := map[string]int{}
	for _, file := range upToDate(t) {
		_, blocks := parts(t, file)
		for _, s := range append(spans(t, file), shells(t, file)...) {
			for _, words := range commandsIn(s.text) {
				check := known[words[0]]
				if check == nil {
					continue
				}
				seen[words[0]]++
				if err := errors.Join(check(words), objects.check(words, blocks)); err != nil {
					t.Errorf("%s:%d: %s: %v: mend it, or list a name of another program in %s", file, s.line, strings.Join(words, " "), err, foreignFile)
				}
			}
		}
	}
	for program, least := range map[string]int{"fairlead": 140, "fairlead-operator": 10, "fairlead-relay": 2, "kubectl": 140, "helm": 60, "make": 38, "go": 20} {
		if seen[program] < least {
			t.Errorf("only %d commands of %s", seen[program], program)
		}
	}
}

// manuals returns a check for each program: it says why a command is wrong.
func manuals(t *testing.T) map[string]func(words []string) error {
	t.Helper()
	ours, makefile, dir := readOurs(t), read(t, "Makefile"), programs(t)
	tests := readSource(t).tests
	kubectl := &program{path: filepath.Join(dir, "kubectl"), common: "options", help: map[string]string{}}
	helm := &program{path: filepath.Join(dir, "helm"), common: "--help", help: map[string]string{}}
	return map[string]func(words []string) error{
		"fairlead": ours["fairlead"].check, "fairlead-operator": ours["fairlead-operator"].check, "fairlead-relay": ours["fairlead-relay"].check,
		"kubectl": func(words []string) error {
			if len(words) > 1 && words[1] == "fairlead" {
				return ours["fairlead"].check(words[1:])
			}
			return kubectl.check(words)
		},
		"helm": helm.check,
		"make": func(words []string) error { return checkMake(makefile, tests, words) },
		"go":   func(words []string) error { return checkGo(tests, words) },
	}
}

// shells are the blocks of commands, a command a line.
func shells(t *testing.T, file string) []span {
	t.Helper()
	var found []span
	language, begin := "", 0
	for i, line := range strings.Split(read(t, file), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			if language == "" {
				language = strings.TrimLeft(trimmed, "`") + " "
			} else {
				language = ""
			}
		case language == howto.ConsoleBlock+" " && strings.HasPrefix(trimmed, "$ "), language == howto.ShellBlock+" ":
			trimmed = strings.TrimPrefix(trimmed, "$ ")
			if begin > 0 {
				last := &found[len(found)-1]
				last.text = strings.TrimSuffix(last.text, `\`) + " " + trimmed
			} else {
				found = append(found, span{i + 1, trimmed})
			}
			begin = 0
			if strings.HasSuffix(trimmed, `\`) {
				begin = i + 1
			}
		case language == howto.ConsoleBlock+" " && begin > 0 && strings.HasPrefix(trimmed, "> "):
			last := &found[len(found)-1]
			last.text = strings.TrimSuffix(last.text, `\`) + " " + strings.TrimPrefix(trimmed, "> ")
			if !strings.HasSuffix(trimmed, `\`) {
				begin = 0
			}
		}
	}
	return found
}

var (
	quoted    = regexp.MustCompile(`'[^']*'|"[^"$]*"`)
	separated = regexp.MustCompile("[|;&]+|\\$\\(|<\\(|\\)|\"|`")
	before    = regexp.MustCompile(`^(?:(?:sudo(?: -u \S+| -\w+)*|exec|time|env|nohup|if|while|then|do|!|\(|\w+=\S*) +)+`)
)

// commandsIn are the words of each command of a line, with Q for what is quoted.
func commandsIn(line string) [][]string {
	var found [][]string
	for _, part := range separated.Split(quoted.ReplaceAllString(line, "Q"), -1) {
		words := strings.Fields(before.ReplaceAllString(strings.TrimSpace(part)+" ", ""))
		if end := slices.IndexFunc(words, func(w string) bool { return strings.ContainsAny(w[:1], "#<>…") || strings.HasPrefix(w, "2>") }); end >= 0 {
			words = words[:end]
		}
		if len(words) > 0 {
			found = append(found, words)
		}
	}
	return found
}

// program is one whose help says what it takes.
type program struct {
	path, common string
	help         map[string]string
}

// alone is the usage of what has further verbs, whose help an unknown verb gets, or no arguments: another word is none.
var alone = regexp.MustCompile(`(?m)^Usage:\n +([\w-]+(?: [a-z-]+)*)(?: \[(?:flags|command)\]| SUBCOMMAND.*)?$`)

func (p *program) check(words []string) error {
	common, err := p.ask(p.common)
	if err != nil {
		return err
	}
	arguments := words[1:]
	if len(arguments) > 0 && arguments[0] == "help" {
		arguments = arguments[1:]
	}
	verbs := verbsOf(arguments, common)
	help, err := p.ask(append(verbs, "--help")...)
	if err != nil {
		return err
	}
	if m := alone.FindStringSubmatch(help); m != nil && len(verbs) >= len(strings.Fields(m[1])) {
		return fmt.Errorf("%s has no %s", m[1], verbs[len(strings.Fields(m[1]))-1])
	}
	if err := checkValues(help, words); err != nil {
		return err
	}
	return checkFlags(words, func(flag string) bool { return row(help+common, flag) != "" })
}

// verbsOf are the first words that are no flags, nor the values of those that every verb takes.
func verbsOf(words []string, common string) []string {
	var verbs []string
	for i := 0; i < len(words) && len(verbs) < 3; i++ {
		takesValue := regexp.MustCompile(`(?m)^ +(?:-\w, )?` + regexp.QuoteMeta(words[i]) + `(?:, --[\w-]+)?(?:=[^tf]| \w)`)
		switch {
		case strings.HasPrefix(words[i], "-") && takesValue.MatchString(common):
			i++
		case strings.HasPrefix(words[i], "-") && words[i] != "--" && len(verbs) == 0:
		case regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(words[i]):
			verbs = append(verbs, words[i])
		default:
			return verbs
		}
	}
	return verbs
}

func (p *program) ask(arguments ...string) (string, error) {
	key := strings.Join(arguments, " ")
	if p.help[key] == "" {
		output, err := exec.Command(p.path, arguments...).CombinedOutput()
		if err != nil {
			first, _, _ := strings.Cut(string(output), "\n")
			return "", fmt.Errorf("%w: %s", err, first)
		}
		p.help[key] = string(output) + "\n"
	}
	return p.help[key], nil
}

// checkFlags asks about each flag: --name of --name=value, -n, and the first of -nNAME or -it.
func checkFlags(words []string, known func(flag string) bool) error {
	for i, w := range words {
		if w == "--" {
			return nil
		}
		if i > 0 && words[i-1] == "--post-renderer-args" { // a flag of another program
			continue
		}
		if flag := regexp.MustCompile(`^--?[a-zA-Z][\w-]*`).FindString(w); flag != "" && flag != "--help" && flag != "-h" && !known(flag) &&
			(flag[1] == '-' || known("-"+flag) || !known(flag[:2])) {
			return fmt.Errorf("there is no %s", flag)
		}
	}
	return nil
}

func checkMake(makefile string, tests names, words []string) error {
	for _, w := range words[1:] {
		name, value, variable := strings.Cut(w, "=")
		switch {
		case variable && !regexp.MustCompile(`\b`+name+`\b`).MatchString(makefile):
			return fmt.Errorf("the Makefile does not read %s", name)
		case variable && name == "RUN" && !strings.Contains("\n"+tests.text, "\n"+value):
			return fmt.Errorf("there is no test %s", value)
		case !variable && regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(w) && !strings.Contains(makefile, "\n"+w+":"):
			return fmt.Errorf("there is no target %s", w)
		}
	}
	return nil
}

func checkGo(tests names, words []string) error {
	for i, w := range words {
		if folder := strings.TrimSuffix(w, "..."); strings.HasPrefix(w, "./") && !exists(folder) && !exists("e2e/"+folder) && !exists("images/"+folder) {
			return fmt.Errorf("there is no package %s", w)
		}
		if name, _, _ := strings.Cut(strings.Trim(w, "'"), "/"); i > 0 && words[i-1] == "-run" && name != "Q" && !strings.Contains("\n"+tests.text, "\n"+name) {
			return fmt.Errorf("there is no test %s", w)
		}
	}
	return nil
}
