package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/document"
)

type nodesOptions struct {
	listOptions
	outdated bool
}

func nodesCommand() *cobra.Command {
	var opts nodesOptions
	cmd := &cobra.Command{
		Use:   "nodes [-n NAMESPACE | -A] [-f FILE]",
		Short: "List machines that were built before their proxy settings changed",
		Long: `List outdated machines: those created before their proxy settings changed, by
cluster and owner. Cluster API gives a machine its settings once, when it is
built; an outdated machine keeps the old ones until it is replaced.

It reads only ProxyReports, from the cluster or from files. SINCE is the time of
the last change; reordering the list is not a change. With node.delivery: Relay, a
new password is none either: fairlead-node brings it, and is not checked here.

The exit status is 0 for an answer; 1 with --fail-on outdated if something is
outdated, or for an error; 2 if the command line is wrong.`,
		Example: `  fairlead nodes -A
  fairlead nodes -n org-acme --outdated

  # for a pipeline: does every machine have the new password?
  fairlead nodes -A --fail-on outdated

  # without access of its own
  kubectl get proxyreports -A -o yaml | fairlead nodes -f -`,
		Args: noArguments,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return usage(cmp.Or(
				checkCluster(cmd, opts.Options, len(opts.files) > 0), checkFailOn(&opts.failOn, failNodes), checkOutput(opts.output, listOutputs)))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runNodes(cmd, opts) },
	}
	opts.flags(cmd, "ProxyReports, a folder of them, or - for stdin; may be repeated", listOutputs)
	cmd.Flags().BoolVar(&opts.outdated, "outdated", false, "only owners with outdated machines")
	failOnFlag(cmd, &opts.failOn, never, "exit with 1 for such machines or MachinePools: "+strings.Join(failNodes, ", "), failNodes)
	return cmd
}

func runNodes(cmd *cobra.Command, opts nodesOptions) error {
	reports, where, err := readReports(cmd, opts)
	if err != nil {
		return err
	}
	rows := nodesOf(reports, opts.outdated)
	if opts.output == nameOutput {
		err = printNames(cmd.OutOrStdout(), nodesNames(rows, opts.outdated))
	} else {
		err = printFound(cmd.OutOrStdout(), opts.output, rows, func(s terminal.Style) []byte { return nodesText(s, rows, opts, where) })
	}
	if err != nil || opts.failOn == never {
		return err
	}
	if err := unknownNodes(reports, where); err != nil {
		return err
	}
	if slices.ContainsFunc(rows, clusterNodes.isOutdated) {
		return errQuiet
	}
	return nil
}

// unknownNodes returns an error where nobody knows whether machines are outdated: a pipeline must not take that for no.
func unknownNodes(reports []v1alpha1.ProxyReport, where string) error {
	if len(reports) == 0 {
		return fmt.Errorf("--fail-on: no ProxyReport was seen%s, so nobody knows whether machines are outdated", where)
	}
	if name, ok := uncounted(reports); ok {
		return fmt.Errorf("--fail-on: ProxyReport %s counts no machines yet", name)
	}
	return nil
}

// readReports also says where it looked, if that is not all there is.
func readReports(cmd *cobra.Command, opts nodesOptions) (reports []v1alpha1.ProxyReport, where string, err error) {
	var documents []document.Document
	if len(opts.files) > 0 {
		documents, err = readDocuments(opts.files, opts.recursive, cmd.InOrStdin(), cmd.ErrOrStderr())
	} else {
		documents, where, err = listReports(cmd, opts)
	}
	if err != nil {
		return nil, "", err
	}
	found := 0
	for _, d := range documents {
		if !d.Is("ProxyReport", v1alpha1.GroupVersion.String()) {
			continue
		}
		found++
		var report v1alpha1.ProxyReport
		// The operator's version need not be this command's.
		if err := d.DecodeForeign(&report, cmd.ErrOrStderr()); err != nil {
			return nil, "", err
		}
		if len(opts.files) == 0 || opts.AllNamespaces || opts.Namespace == "" || report.Namespace == opts.Namespace || report.Namespace == "" {
			reports = append(reports, report)
		}
	}
	if found == 0 && len(documents) > 0 {
		return nil, "", fmt.Errorf("%s: no ProxyReport in it", strings.Join(opts.files, ", "))
	}
	return reports, where, nil
}

func listReports(cmd *cobra.Command, opts nodesOptions) (documents []document.Document, where string, err error) {
	cluster, err := cluster.Connect(opts.Options)
	if err != nil {
		return nil, "", err
	}
	objects, err := cluster.ProxyReports(cmd.Context())
	for _, object := range objects {
		documents = append(documents, document.Document{File: "the cluster", Object: object})
	}
	return documents, inside(cluster.Namespace), err
}

// inside says which namespace was looked at, as nobody need have named it.
func inside(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " in the namespace " + namespace
}

// nodesText returns a line for each owner, and below them the messages about rollouts.
func nodesText(s terminal.Style, rows []clusterNodes, opts nodesOptions, where string) []byte {
	if len(rows) == 0 {
		nothing := "Nothing is counted yet"
		if opts.outdated {
			nothing = "No machine is outdated"
		}
		return []byte(nothing + where + ".\n")
	}
	heading := []string{"CLUSTER", "OWNER", "MACHINES", "OUTDATED", "SINCE"}
	if opts.output == wideOutput {
		heading = append(heading, "MACHINEPOOLS", "OUTDATED-POOLS", "ROLLING-SINCE")
	}
	table := terminal.Columns(s, heading...)
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
		text = append(text, "\n"+s.Notes(notes...)...)
	}
	return text
}

// shownOwners returns the owners that have a line: who has no machine has one, too.
func shownOwners(n clusterNodes, outdated bool) []nodesOwner {
	owners := n.Owners
	if len(owners) == 0 {
		owners = []nodesOwner{{Owner: "-"}}
	}
	return slices.DeleteFunc(slices.Clone(owners), func(o nodesOwner) bool { return outdated && o.Outdated == 0 })
}

func nodesCells(n clusterNodes, o nodesOwner) []terminal.Cell {
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

func nodesNotes(n clusterNodes) []string {
	var notes []string
	if pools := n.OutdatedMachinePools; pools > 0 {
		notes = append(notes, fmt.Sprintf("%s: %s from before the change; instances that are older keep the old settings", n.Cluster, terminal.Plural(int(pools), "MachinePool")))
	}
	if n.Rollout != nil && n.Rollout.Message != "" {
		notes = append(notes, n.Cluster+": "+n.Rollout.Message)
	}
	return notes
}

// nodesNames returns the owners, for clusterctl alpha rollout restart.
func nodesNames(rows []clusterNodes, outdated bool) []ownerName {
	var names []ownerName
	for _, row := range rows {
		namespace, _, _ := strings.Cut(row.Cluster, "/")
		for _, o := range shownOwners(row, outdated) {
			names = append(names, ownerName{namespace, o.Owner})
		}
	}
	return names
}
