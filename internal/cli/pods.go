package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/agents/pods"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
)

type podsOptions struct {
	listOptions
	all    bool
	chosen []string // of failOn
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
  Outdated     containers started before the values changed, or without them,
               where the replicator had not written (NotServed)
  Password     containers with a password in the pod itself

It lists pods, their owners, namespaces and the policy inject-proxy-env, and
metadata of the Secrets fairlead-proxy, never their content. What it may not list
is named below the table. Pods that have finished or are being deleted, and
finished debug containers, are listed for passwords only. With -f it reads the same from files;
Outdated then needs managedFields, or the replicator's copies.

With carry Relay, or with pods that go through fairlead-relay, it counts these, and
those that still refer to the Secret fairlead-proxy.

-o json and -o yaml print "owners", each with namespace, owner, finding, reason
(of Uninjected, and NotServed), message, containers and pods; "ways" with relay and secret, each
with pods (a number) and namespaces; and "notes". Messages may change;
reasons are Static, KubeSystem, Excluded, OwnValue, OwnEnvFrom, NoPolicy,
OlderThanPolicy, PolicyNotReady, ExclusionEnded, NotServed and Unknown.

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
		PreRunE: func(cmd *cobra.Command, _ []string) (err error) {
			opts.chosen, err = checkFailOnPods(opts.failOn)
			return usage(cmp.Or(err, checkCluster(cmd, opts.Options, len(opts.files) > 0), checkOutput(opts.output, listOutputs)))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runPods(cmd, opts) },
	}
	opts.flags(cmd, "output of kubectl get, a folder of it, or - for stdin; may be repeated", listOutputs)
	cmd.Flags().BoolVar(&opts.all, "all", false, "all pods, also those without a finding")
	failOnFlag(cmd, &opts.failOn, never, "exit with 1 for these (comma-separated): "+strings.Join(failPods, ", "), failPods)
	return cmd
}

type podsReport struct {
	Owners []podsOwner `json:"owners"`
	Ways   pods.Ways   `json:"ways"`
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

func runPods(cmd *cobra.Command, opts podsOptions) error {
	from, namespace, err := opts.lister(cmd)
	if err != nil {
		return err
	}
	read, err := pods.Read(cmd.Context(), from, namespace)
	if err != nil {
		return err
	}
	report := podsReport{Owners: []podsOwner{}, Ways: read.Ways(), Notes: read.Notes}
	for _, row := range read.Rows() {
		if row.Class == pods.Fine && !opts.all {
			continue
		}
		report.Owners = append(report.Owners, podsOwner{
			Namespace: row.Namespace, Owner: row.Kind + "/" + row.Name,
			Finding: row.Class, Reason: row.Reason, Message: row.Message, Containers: row.Containers, Pods: row.Pods,
		})
	}
	if opts.output == nameOutput {
		err = printNames(cmd.OutOrStdout(), report.owners())
	} else {
		total := terminal.Plural(len(read.Pods), "pod") + inside(namespace)
		err = printFound(cmd.OutOrStdout(), opts.output, report, func(s terminal.Style) []byte {
			return podsText(s, report, opts.output == wideOutput, total, read.Policy.Relays())
		})
	}
	if err == nil && (report.has(opts.chosen) || read.Blind && slices.ContainsFunc(opts.chosen, depends)) {
		return errQuiet
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
	documents, err := readDocuments(o.files, o.recursive, cmd.InOrStdin(), cmd.ErrOrStderr())
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

// podsText has a line for each owner and finding, below how many leave by which way, where there is a relay, and what
// could not be read.
func podsText(s terminal.Style, report podsReport, wide bool, total string, relayed bool) []byte {
	text := []byte("Nothing is found in " + total + ".\n")
	if len(report.Owners) > 0 {
		text = podsTable(s, report, wide)
	}
	if relayed || report.Ways.Relay.Pods > 0 {
		text = fmt.Appendf(text, "\nThrough fairlead-relay: %s\nBy the Secret fairlead-proxy: %s\n", waysText(report.Ways.Relay), waysText(report.Ways.Secret))
	}
	if len(report.Notes) > 0 {
		text = append(text, "\n"+s.Notes(report.Notes...)...)
	}
	return text
}

func waysText(c pods.Count) string {
	text := terminal.Plural(c.Pods, "pod")
	if c.Pods > 0 {
		text += " (" + short(c.Namespaces) + ")"
	}
	return text
}

func podsTable(s terminal.Style, report podsReport, wide bool) []byte {
	heading := []string{"NAMESPACE", "OWNER", "PODS", "FINDING", "CONTAINERS", "WHY"}
	if wide {
		heading = []string{"NAMESPACE", "OWNER", "PODS", "FINDING", "REASON", "CONTAINERS", "NAMES", "WHY"}
	}
	t := terminal.Columns(s, heading...)
	for _, o := range report.Owners {
		cells := terminal.Cells(o.Namespace, terminal.ASCII(o.Owner), strconv.Itoa(len(o.Pods)), string(o.Finding))
		cells[3].Colour = terminal.Severity(string(o.Finding))
		if wide {
			cells = append(cells, terminal.Cells(terminal.Dash(string(o.Reason)), strings.Join(o.Containers, ","), strings.Join(o.Pods, ","))...)
		} else {
			cells = append(cells, terminal.Cells(short(o.Containers))...)
		}
		t.Add(append(cells, terminal.Cells(terminal.Dash(o.Message))...)...)
	}
	return t.Bytes()
}

// owners returns the owners that can be restarted: kubectl rollout restart.
func (r podsReport) owners() []ownerName {
	var names []ownerName
	for _, o := range r.Owners {
		names = append(names, ownerName{o.Namespace, o.Owner})
	}
	return names
}

// short names no more than three.
func short(names []string) string {
	const most = 3
	if len(names) > most {
		return strings.Join(names[:most], ",") + fmt.Sprintf(",+%d", len(names)-most)
	}
	return strings.Join(names, ",")
}
