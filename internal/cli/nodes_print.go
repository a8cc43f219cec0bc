package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/nodes"
)

// printNodes writes a line for each owner, and below what is said of rollouts.
func printNodes(out io.Writer, rows []nodes.Cluster, opts nodesOptions, where string) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(out, map[bool]string{true: "No machine is outdated", false: "Nothing is counted yet"}[opts.outdated]+where+".")
		return err
	}
	heading := []string{"CLUSTER", "OWNER", "MACHINES", "OUTDATED", "SINCE"}
	if opts.output == wideOutput {
		heading = append(heading, "MACHINEPOOLS", "OUTDATED-POOLS", "ROLLING-SINCE")
	}
	table := terminal.Columns(terminal.For(out), heading...)
	var notes []string
	for _, row := range rows {
		for _, o := range shownOwners(row, opts.outdated) {
			cells := nodesCells(row, o)
			table.Add(cells[:len(heading)]...)
		}
		notes = append(notes, nodesNotes(row)...)
	}
	text := table.Bytes()
	if len(notes) > 0 {
		text = append(text, "\n"+table.Style.Notes(notes)...)
	}
	_, err := out.Write(text)
	return err
}

// shownOwners are the owners that have a line: who has no machine has one, too.
func shownOwners(n nodes.Cluster, outdated bool) []nodes.Owner {
	owners := n.Owners
	if len(owners) == 0 {
		owners = []nodes.Owner{{Owner: "-"}}
	}
	var shown []nodes.Owner
	for _, o := range owners {
		if !outdated || o.Outdated > 0 {
			shown = append(shown, o)
		}
	}
	return shown
}

func nodesCells(n nodes.Cluster, o nodes.Owner) []terminal.Cell {
	since, rolling := "-", "-"
	if n.Since != nil {
		since = n.Since.UTC().Format(time.RFC3339)
	}
	if n.Rollout != nil && n.Rollout.Started != nil {
		rolling = n.Rollout.Started.UTC().Format(time.RFC3339)
	}
	number := func(n int32) string { return strconv.Itoa(int(n)) }
	cells := terminal.Cells(n.Cluster, o.Owner, number(o.Machines), number(o.Outdated), since, number(n.MachinePools), number(n.OutdatedMachinePools), rolling)
	for i, of := range map[int]int32{3: o.Outdated, 6: n.OutdatedMachinePools} {
		if of > 0 {
			cells[i].Colour = terminal.Yellow
		}
	}
	return cells
}

func nodesNotes(n nodes.Cluster) []string {
	var notes []string
	if pools := n.OutdatedMachinePools; pools > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s from before the change; instances that are older keep the old settings", n.Cluster, terminal.Plural(int(pools), "MachinePool")))
	}
	if n.Rollout != nil && n.Rollout.Message != "" {
		notes = append(notes, n.Cluster+": "+n.Rollout.Message)
	}
	return notes
}

// nodesNames are the owners, for clusterctl alpha rollout restart.
func nodesNames(rows []nodes.Cluster, outdated bool) []ownerName {
	var names []ownerName
	for _, row := range rows {
		namespace, _, _ := strings.Cut(row.Cluster, "/")
		for _, o := range shownOwners(row, outdated) {
			names = append(names, ownerName{namespace, o.Owner})
		}
	}
	return names
}
