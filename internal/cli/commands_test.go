package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// commands returns every command, by the words that are typed.
func commands() map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var add func(*cobra.Command)
	add = func(cmd *cobra.Command) {
		all[cmd.CommandPath()] = cmd
		for _, below := range cmd.Commands() {
			add(below)
		}
	}
	add(cli.Command())
	return all
}

var invoked = regexp.MustCompile(`(?:^|[|(] ?)fairlead((?: [a-z]+)*)`)

// examplesOf returns the lines of a help text that run something, joined where they go on.
func examplesOf(cmd *cobra.Command) []string {
	var lines []string
	for line := range strings.Lines(strings.ReplaceAll(cmd.Example, "\\\n", "")) {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			lines = append(lines, line)
		}
	}
	return lines
}

func TestEveryVerbHasAnExampleOfItself(t *testing.T) {
	all := commands()
	if len(all) < 12 {
		t.Fatalf("only %d commands", len(all))
	}
	for path, cmd := range all {
		shown := false
		for _, line := range examplesOf(cmd) {
			for _, match := range invoked.FindAllStringSubmatch(line, -1) {
				shown = shown || strings.HasPrefix("fairlead"+match[1]+" ", path+" ")
			}
		}
		if !shown || cmd.Short == "" {
			t.Errorf("%s: its help shows no example of it, or says nothing", path)
		}
	}
}

// The shell itself takes the line apart, and runs a fairlead that reads its flags, and is then asked for help.
func TestEveryExampleIsACommandLine(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, text string, mode os.FileMode) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), mode); err != nil {
			t.Fatal(err)
		}
	}
	write("fairlead", "#!/bin/sh\necho run >> \"$RUNS\"\nexec \"$FAIRLEAD\" \"$@\" --help > /dev/null\n", 0o700)
	for _, other := range []string{"kubectl", "helm", "jq"} {
		write(other, "#!/bin/sh\n", 0o700)
	}
	write("sudo", "#!/bin/sh\nexec \"$@\"\n", 0o700)
	write("export", "", 0o600)
	for path, cmd := range commands() {
		for _, line := range examplesOf(cmd) {
			t.Run(path, func(t *testing.T) {
				runs := filepath.Join(t.TempDir(), "runs")
				// What would write into the home directory or /etc is written here.
				safe := regexp.MustCompile(`> (\S*/|")\S*`).ReplaceAllString(line, "> written")
				shell := exec.CommandContext(t.Context(), bash, "-c", "set -e -o pipefail\n"+safe)
				shell.Dir = t.TempDir()
				shell.Env = []string{"PATH=" + dir + ":/usr/bin:/bin", "RUNS=" + runs, "FAIRLEAD=" + program(t), "NO_PROXY=localhost"}
				out, err := shell.CombinedOutput()
				ran, _ := os.ReadFile(runs)
				if err != nil || len(out) > 0 || len(ran) != len("run\n")*strings.Count(line, "fairlead ") {
					t.Errorf("%s\n%v, %d bytes of runs\n%s", line, err, len(ran), out)
				}
			})
		}
	}
}

// Of each flag that has a value there is something to say, be it that nothing can be suggested.
func TestEveryFlagIsCompleted(t *testing.T) {
	seen := 0
	for path, cmd := range commands() {
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			if flag.Value.Type() == "bool" {
				return
			}
			seen++
			with, ok := cmd.GetFlagCompletionFunc(flag.Name)
			if !ok {
				t.Errorf("%s --%s has no completion", path, flag.Name)
				return
			}
			if !strings.Contains(flag.Usage, "one of ") {
				return
			}
			values, directive := with(cmd, nil, "")
			if directive != cobra.ShellCompDirectiveNoFileComp || !strings.Contains(flag.Usage, "one of "+strings.Join(values, ", ")) {
				t.Errorf("%s --%s: %q, completed with %q", path, flag.Name, flag.Usage, values)
			}
		})
	}
	if seen < 60 {
		t.Errorf("only %d flags", seen)
	}
}

// The name and the letter of a flag mean the same with every verb, and what scripts read is json and yaml.
func TestFlagsOfOneNameAreAlike(t *testing.T) {
	first := map[string]*pflag.Flag{}
	for path, cmd := range commands() {
		cmd.LocalFlags().VisitAll(func(flag *pflag.Flag) {
			other, ok := first[flag.Name]
			if ok && (other.Shorthand != flag.Shorthand || other.Value.Type() != flag.Value.Type()) {
				t.Errorf("%s --%s is -%s %s, elsewhere -%s %s", path, flag.Name, flag.Shorthand, flag.Value.Type(), other.Shorthand, other.Value.Type())
			}
			first[flag.Name] = flag
			if flag.Name == "output" && flag.DefValue == "table" && !strings.Contains(flag.Usage, "json, yaml") {
				t.Errorf("%s -o: %s", path, flag.Usage)
			}
		})
	}
}

// The page of the command line has a row for each verb, or for its group, which names it.
func TestThePageOfTheCommandLineHasEveryVerb(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	all, rows := commands(), map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z ]+)` \\|.*$").FindAllStringSubmatch(string(page), -1) {
		if rows[m[1]] = m[0]; all["fairlead "+m[1]] == nil {
			t.Errorf("there is no verb %s", m[1])
		}
	}
	for path, cmd := range all {
		verb := strings.TrimPrefix(path, "fairlead ")
		group, name, _ := strings.Cut(verb, " ")
		if verb != "help" && !cmd.HasSubCommands() && rows[verb] == "" && !strings.Contains(rows[group], "`"+name+"`") {
			t.Errorf("there is no row of %s", verb)
		}
	}
}
