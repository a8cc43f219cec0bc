package main

import (
	"cmp"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/cli"
)

// commandLines is the page of the programs. The verbs of fairlead are asked for their flags; the two others, whose
// command lines are their main packages', for what they print.
func commandLines(root string) (string, error) {
	page := &strings.Builder{}
	page.WriteString("# Command lines\n\n" + header)
	command := cli.Command()
	common := commonFlags(command)
	section(page, command, "##", common)
	page.WriteString("### Common flags\n\n" + flagHeading + strings.Join(slices.Sorted(maps.Values(common)), "") + "\n")
	for _, program := range []struct{ name, note string }{
		{"fairlead-operator", "The chart `fairlead` runs it, with `extraArgs` of its values added."},
		{"fairlead-operator replicate", "The chart `fairlead-policies` runs it in workload clusters."},
		{"fairlead-operator follow", "The chart `fairlead-policies` runs it beside each relay, with `carry: Relay`."},
		{"fairlead-operator probe", "The chart `fairlead-policies` runs it in workload clusters: [probes](../probes.md)."},
		{"fairlead-operator observe", "The chart `fairlead` runs it with `observe.enabled`: [observe workload clusters](../observe.md)."},
		{"fairlead-operator deliver", "The chart `fairlead` runs it with `deliver.enabled`: [deliver settings](../how-to/deliver.md)."},
		{"fairlead-operator preflight", "The chart `fairlead` runs it with `preflight.enabled`: [before the first cluster](../rollout.md#before-the-first-cluster)."},
		{"fairlead-relay", "A sidecar: [the relay](../relay.md)."},
	} {
		run := exec.Command("go", strings.Fields("run ./operator/cmd/"+program.name+" --help")...)
		run.Dir = root
		help, err := run.CombinedOutput()
		if err != nil {
			return "", fmt.Errorf("%s --help: %w\n%s", program.name, err, help)
		}
		fmt.Fprintf(page, "## %s\n\n%s\n\n```text\n%s\n```\n\n", program.name, program.note, strings.TrimSpace(string(help)))
	}
	return strings.TrimRight(page.String(), "\n") + "\n", nil
}

func section(page *strings.Builder, command *cobra.Command, level string, common map[string]string) {
	if command.Hidden || command.Name() == "help" {
		return
	}
	fmt.Fprintf(page, "%s %s\n\n", level, command.CommandPath())
	text := cmp.Or(command.Long, command.Short+".")
	fmt.Fprintf(page, "```text\n%s\n\n%s\n", command.UseLine(), strings.TrimSpace(text))
	if command.Example != "" {
		fmt.Fprintf(page, "\nExamples:\n%s\n", strings.TrimRight(command.Example, "\n"))
	}
	page.WriteString("```\n\n")
	var own, also []string
	for _, flag := range flagRows(command) {
		if common[flag.name] == flag.row {
			also = append(also, flag.name)
		} else {
			own = append(own, flag.row)
		}
	}
	if len(own) > 0 {
		page.WriteString(flagHeading + strings.Join(own, "") + "\n")
	}
	if len(also) > 0 {
		page.WriteString("[Common flags](#common-flags): " + strings.Join(also, "; ") + ".\n\n")
	}
	for _, verb := range command.Commands() {
		section(page, verb, level+"#", common)
	}
}

const flagHeading = "| flag | default | |\n| --- | --- | --- |\n"

// flagRow is a flag of a command: the name with its shorthand, and the row of a table.
type flagRow struct{ name, row string }

func flagRows(command *cobra.Command) (all []flagRow) {
	command.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden || f.Name == "help" {
			return
		}
		name, value := "`--"+f.Name+"`", ""
		if f.Shorthand != "" {
			name = "`-" + f.Shorthand + "`, " + name
		}
		if f.DefValue != "" && f.DefValue != "[]" {
			value = "`" + f.DefValue + "`"
		}
		all = append(all, flagRow{name, fmt.Sprintf("| %s | %s | %s |\n", name, value, cell(f.Usage))})
	})
	return all
}

// commonFlags are the rows that several commands have, by the name of the flag.
func commonFlags(root *cobra.Command) map[string]string {
	count, common := map[string]int{}, map[string]string{}
	var visit func(*cobra.Command)
	visit = func(command *cobra.Command) {
		for _, flag := range flagRows(command) {
			if count[flag.row]++; count[flag.row] == 3 {
				common[flag.name] = flag.row
			}
		}
		for _, verb := range command.Commands() {
			visit(verb)
		}
	}
	visit(root)
	return common
}

// cell is a text within a table.
func cell(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	return strings.NewReplacer("|", `\|`, "<", "&lt;").Replace(text)
}
