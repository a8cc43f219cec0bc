package cli

import (
	"cmp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/agents/pods"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/files"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
)

type podsOptions struct {
	cluster.Options
	files     []string
	recursive bool
	all       bool
	output    string
	failOn    string
}

func podsCommand() *cobra.Command {
	var opts podsOptions
	cmd := &cobra.Command{
		Use:   "pods [-n NAMESPACE | -A] [-f FILE]",
		Short: "List pods that lack the proxy variables, have old values, or show a password",
		Long: `List pods that lack the proxy variables, have old values, or show a password, by
owner, with the reason.

  Uninjected   containers without Fairlead's variables: excluded, older than the
               policy, out of its reach, or with values of their own
  Outdated     containers started before the values changed
  Password     containers with a password in the pod itself

It lists pods, their owners, namespaces and the policy inject-proxy-env, and
metadata of the Secrets fairlead-proxy, never their content. What it may not list
is named below the table. Pods that have finished or are being deleted, and
finished debug containers, are listed for passwords only. With -f it reads the same from files;
Outdated then needs managedFields, or the replicator's copies.

-o json and -o yaml print "owners", each with namespace, owner, finding, reason
(of Uninjected), message, containers and pods, and "notes". Messages may change;
reasons are Static, KubeSystem, Excluded, OwnValue, OwnEnvFrom, NoPolicy,
OlderThanPolicy, PolicyNotReady and Unknown.

The exit status is 0 for an answer. It is 1 for findings and reasons of --fail-on,
also if rights to check them are missing, or for an error; 2 if the command line
is wrong.`,
		Example: `  fairlead pods -A
  fairlead pods -n shop --all

  # without access of its own
  kubectl get pods,replicasets,jobs,namespaces,mutatingadmissionpolicies,mutatingadmissionpolicybindings -A -o yaml --show-managed-fields | fairlead pods -f -

  # for a pipeline
  fairlead pods -A --fail-on Password,OlderThanPolicy

  # owners to restart after a new password
  fairlead pods -A -o json | jq -r '.owners[] | select(.finding == "Outdated") | "\(.namespace) \(.owner)"'`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			failOn, err := checkFailOnPods(opts.failOn)
			if err != nil {
				return usage(err)
			}
			if err := cmp.Or(checkCluster(cmd, opts.Options, len(opts.files) > 0), checkOutput(opts.output, listOutputs)); err != nil {
				return usage(err)
			}
			return runPods(cmd, opts, failOn)
		},
	}
	flags := cmd.Flags()
	clusterFlags(cmd, &opts.Options)
	allNamespacesFlag(cmd, &opts.Options)
	filenameFlag(cmd, &opts.files, "output of kubectl get, a folder of it, or - for stdin; may be repeated")
	recursiveFlag(flags, &opts.recursive)
	flags.BoolVar(&opts.all, "all", false, "all pods, also those without a finding")
	failOnFlag(cmd, &opts.failOn, never, "exit with 1 for these (comma-separated): "+strings.Join(failPods, ", "), failPods)
	outputFlag(cmd, &opts.output, tableOutput, listOutputs)
	return cmd
}

// podsReport is what is printed.
type podsReport struct {
	Owners []podsOwner `json:"owners"`
	Notes  []string    `json:"notes"` // what could not be read, and what that means
}

type podsOwner struct {
	Namespace  string      `json:"namespace"`
	Owner      string      `json:"owner"`
	Finding    pods.Class  `json:"finding"`
	Reason     pods.Reason `json:"reason,omitempty"`
	Message    string      `json:"message,omitempty"`
	Containers []string    `json:"containers"`
	Pods       []string    `json:"pods"`
}

func runPods(cmd *cobra.Command, opts podsOptions, failOn []string) error {
	from, namespace, err := opts.lister(cmd)
	if err != nil {
		return err
	}
	read, err := pods.Read(cmd.Context(), from, namespace)
	if err != nil {
		return err
	}
	report := podsReport{Owners: []podsOwner{}, Notes: read.Notes}
	for _, row := range read.Rows() {
		if row.Class == pods.Fine && !opts.all {
			continue
		}
		report.Owners = append(report.Owners, podsOwner{
			Namespace: row.Namespace, Owner: row.Kind + "/" + row.Name,
			Finding: row.Class, Reason: row.Reason, Message: row.Message, Containers: row.Containers, Pods: row.Pods,
		})
	}
	switch out := cmd.OutOrStdout(); opts.output {
	case tableOutput, wideOutput:
		err = printPods(out, report, opts.output == wideOutput, terminal.Plural(len(read.Pods), "pod")+inside(namespace))
	case nameOutput:
		err = printNames(out, report.owners())
	default:
		err = printData(out, opts.output, report)
	}
	if err == nil && (report.has(failOn) || read.Blind && slices.ContainsFunc(failOn, depends)) {
		return quietError{exitFailure}
	}
	return err
}

// lister returns what pods are read from, and the namespace; "" is all.
func (o podsOptions) lister(cmd *cobra.Command) (from pods.Lister, namespace string, err error) {
	if len(o.files) == 0 {
		cluster, err := cluster.Connect(o.Options)
		if err != nil {
			return nil, "", err
		}
		return cluster, cluster.Namespace, nil
	}
	documents, err := files.Documents(o.files, o.recursive, cmd.InOrStdin())
	if namespace = o.Namespace; o.AllNamespaces {
		namespace = ""
	}
	return pods.Files(documents), namespace, err
}

// depends says whether a finding depends on more than the pod.
func depends(finding string) bool { return finding != never && finding != string(pods.Password) }

// has tells whether there is one of these findings, or reasons.
func (r podsReport) has(failOn []string) bool {
	return slices.ContainsFunc(r.Owners, func(o podsOwner) bool {
		return slices.Contains(failOn, string(o.Finding)) || slices.Contains(failOn, string(o.Reason))
	})
}
