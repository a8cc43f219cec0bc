package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/files"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/nodes"
)

type nodesOptions struct {
	cluster.Options
	files     []string
	recursive bool
	outdated  bool
	output    string
	failOn    string
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
the last change; reordering the list is not a change.

The exit status is 0 for an answer; 1 with --fail-on outdated if something is
outdated, or for an error; 2 if the command line is wrong.`,
		Example: `  fairlead nodes -A
  fairlead nodes -n org-acme --outdated

  # for a pipeline: does every machine have the new password?
  fairlead nodes -A --fail-on outdated

  # without access of its own
  kubectl get proxyreports -A -o yaml | fairlead nodes -f -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.check(cmd); err != nil {
				return usage(err)
			}
			return runNodes(cmd, opts)
		},
	}
	flags := cmd.Flags()
	clusterFlags(cmd, &opts.Options)
	allNamespacesFlag(cmd, &opts.Options)
	filenameFlag(cmd, &opts.files, "ProxyReports, a folder of them, or - for stdin; may be repeated")
	recursiveFlag(flags, &opts.recursive)
	flags.BoolVar(&opts.outdated, "outdated", false, "only owners with outdated machines")
	failOnFlag(cmd, &opts.failOn, never, "exit with 1 for such machines or MachinePools: "+strings.Join(failNodes, ", "), failNodes)
	outputFlag(cmd, &opts.output, tableOutput, listOutputs)
	return cmd
}

func (o *nodesOptions) check(cmd *cobra.Command) error {
	return cmp.Or(checkCluster(cmd, o.Options, len(o.files) > 0), checkFailOn(&o.failOn, failNodes), checkOutput(o.output, listOutputs))
}

func runNodes(cmd *cobra.Command, opts nodesOptions) error {
	reports, where, err := readReports(cmd, opts)
	if err != nil {
		return err
	}
	rows := nodes.Clusters(reports, opts.outdated)
	switch out := cmd.OutOrStdout(); opts.output {
	case tableOutput, wideOutput:
		err = printNodes(out, rows, opts, where)
	case nameOutput:
		err = printNames(out, nodesNames(rows, opts.outdated))
	default:
		err = printData(out, opts.output, rows)
	}
	if err != nil || opts.failOn == never {
		return err
	}
	if err := unknownNodes(reports, where); err != nil {
		return err
	}
	if slices.ContainsFunc(rows, nodes.Cluster.IsOutdated) {
		return quietError{exitFailure}
	}
	return nil
}

// unknownNodes is an error where nobody knows whether machines are outdated: a pipeline must not take that for no.
func unknownNodes(reports []v1alpha1.ProxyReport, where string) error {
	if len(reports) == 0 {
		return fmt.Errorf("--fail-on: no ProxyReport was seen%s, so nobody knows whether machines are outdated", where)
	}
	if name, is := nodes.Uncounted(reports); is {
		return fmt.Errorf("--fail-on: ProxyReport %s counts no machines yet", name)
	}
	return nil
}

// readReports also says where it looked, if that is not all there is.
func readReports(cmd *cobra.Command, opts nodesOptions) (reports []v1alpha1.ProxyReport, where string, err error) {
	var documents []document.Document
	if len(opts.files) > 0 {
		documents, err = files.Documents(opts.files, opts.recursive, cmd.InOrStdin())
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
