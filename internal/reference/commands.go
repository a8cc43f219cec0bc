package main

import (
	"fmt"
	"os/exec"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// commandLines is the page of the programs. The verbs of fairlead are asked for their flags; the two others, whose
// command lines are their main packages', for what they print.
func commandLines(root string) (string, error) {
	page := &strings.Builder{}
	page.WriteString("# Command lines\n\n" + header + "## fairlead\n\n")
	command := cli.Command()
	describe(page, command)
	for _, verb := range command.Commands() {
		section(page, verb, "###")
	}
	for _, program := range []struct {
		name string
		args []string
		note string
	}{
		{"fairlead-operator", []string{"--help"}, "The chart `fairlead` runs it, with `extraArgs` of its values added."},
		{"fairlead-operator replicate", []string{"replicate", "--help"}, "The chart `fairlead-policies` runs it in workload clusters."},
		{"fairlead-relay", []string{"--help"}, "A sidecar: [the relay](../relay.md)."},
	} {
		name, _, _ := strings.Cut(program.name, " ")
		run := exec.Command("go", append([]string{"run", "./operator/cmd/" + name}, program.args...)...)
		run.Dir = root
		help, err := run.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s --help: %w\n%s", program.name, err, help)
		}
		fmt.Fprintf(page, "## %s\n\n%s\n\n```text\n%s\n```\n\n", program.name, program.note, strings.TrimSpace(string(help)))
	}
	return strings.TrimRight(page.String(), "\n") + "\n", nil
}

func section(page *strings.Builder, command *cobra.Command, level string) {
	if command.Hidden || command.Name() == "help" {
		return
	}
	fmt.Fprintf(page, "%s %s\n\n", level, command.CommandPath())
	describe(page, command)
	for _, verb := range command.Commands() {
		section(page, verb, level+"#")
	}
}

func describe(page *strings.Builder, command *cobra.Command) {
	text := command.Long
	if text == "" {
		text = command.Short + "."
	}
	fmt.Fprintf(page, "```text\n%s\n\n%s\n", command.UseLine(), strings.TrimSpace(text))
	if command.Example != "" {
		fmt.Fprintf(page, "\nExamples:\n%s\n", strings.TrimRight(command.Example, "\n"))
	}
	page.WriteString("```\n\n")
	if !command.HasAvailableLocalFlags() {
		return
	}
	page.WriteString("| flag | default | |\n| --- | --- | --- |\n")
	command.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name := "`--" + f.Name + "`"
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		value := ""
		if f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		fmt.Fprintf(page, "| %s | %s | %s |\n", name, value, cell(f.Usage))
	})
	page.WriteString("\n")
}

// cell is a text within a table.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}
