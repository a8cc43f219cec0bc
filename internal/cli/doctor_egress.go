package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/cutoff"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

type doctorEgressOptions struct {
	renderOptions
	files, logs []string
}

func doctorEgressCommand() *cobra.Command {
	var opts doctorEgressOptions
	cmd := &cobra.Command{
		Use:   "egress (--values FILE | --proxy FILE) --cluster FILE (-f FILE… | --access-log FILE…)",
		Short: "List who would be cut off by the NetworkPolicy of fairlead render",
		Long: `List who would be cut off by the NetworkPolicy that fairlead render -o networkpolicy
prints with the same flags: who goes around the proxy today. Nothing is changed, and
no cluster is asked.

-f reads PolicyReports of the audit: pods that have no proxy settings, or do not read
them. --access-log reads the log of fairlead-relay: destinations that NO_PROXY covers
by their names, so that clients go there directly, and a NetworkPolicy has addresses
alone. Who goes around the proxy and is in neither is not seen.

The exit status is 1 if somebody would be cut off, 2 if the command line or a file is
wrong, or if the files have nothing to judge.`,
		Example: `  kubectl get policyreports -A -o yaml | fairlead doctor egress --values secret-values.yaml --cluster cluster.yaml -f -

  # with a relay that has accessLog
  kubectl logs -n fairlead-system daemonset/fairlead-relay | fairlead doctor egress --values secret-values.yaml --cluster cluster.yaml --carry Relay --access-log -`,
		Args: noArguments,
		PreRunE: func(*cobra.Command, []string) error {
			if len(opts.files)+len(opts.logs) == 0 {
				return usage(errors.New("give -f, --access-log, or both"))
			}
			_, err := opts.policy.read()
			return usage(cmp.Or(err, checkOutput(opts.output, dataOutputs), oneOf("--audience", opts.audience, audiences), opts.checkInputs(),
				oneStdin(slices.Concat(opts.files, opts.logs, opts.inputFiles()))))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctorEgress(cmd, opts) },
	}
	flags := cmd.Flags()
	filenameFlag(cmd, &opts.files, "PolicyReports, a folder of them, or - for stdin; may be repeated")
	flags.StringSliceVar(&opts.logs, "access-log", nil, "log of fairlead-relay, or - for stdin; may be repeated")
	opts.inputFlags(flags)
	flags.StringVar(&opts.audience, "audience", "any", "the list of these programs: any, go")
	opts.policy.wayFlags(flags)
	outputFlag(cmd, &opts.output, tableOutput, dataOutputs)
	return cmd
}

func runDoctorEgress(cmd *cobra.Command, opts doctorEgressOptions) error {
	rows, err := opts.rows(cmd)
	if err != nil {
		return usage(err) // status 1 is an answer
	}
	err = printFound(cmd.OutOrStdout(), opts.output, rows, func(s terminal.Style) []byte { return cutoffText(s, rows) })
	if err == nil && len(rows) > 0 {
		return errQuiet
	}
	return err
}

func (o doctorEgressOptions) rows(cmd *cobra.Command) ([]cutoff.Row, error) {
	effective, err := oneCluster(cmd, o.renderOptions, "doctor is about")
	if err != nil {
		return nil, err
	}
	policy := o.networkPolicy()
	if _, err := render.NetworkPolicy(effective, policy.Egress, "", nil); err != nil {
		return nil, err
	}
	requests, err := o.requests(cmd)
	if err != nil {
		return nil, err
	}
	documents, err := readDocuments(o.files, o.recursive, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	results, reports := auditResults(documents)
	if len(o.files) > 0 && reports == 0 && len(documents) > 0 {
		return nil, errors.New("-f: no PolicyReport in it")
	}
	if len(o.files) > 0 && len(results) == 0 {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: -f: no result of a policy in it: Kyverno's reports controller writes them, where policies/audit-proxy-env is installed")
	}
	if len(results)+len(requests) == 0 {
		return nil, errors.New("nothing was judged: there is neither a result of the audit nor a line of an access log")
	}
	return slices.Concat([]cutoff.Row{}, cutoff.Pods(policy.Egress, results), cutoff.Requests(effective, policy.Egress, requests)), nil
}

// requests returns the requests of the access logs. One without any is most likely not a log of the relay.
func (o doctorEgressOptions) requests(cmd *cobra.Command) (all []cutoff.Request, err error) {
	for _, name := range o.logs {
		text, err := readFile(name, cmd.InOrStdin())
		if err != nil {
			return nil, err
		}
		before := len(all)
		for line := range bytes.Lines(text) {
			if r, ok := cutoff.ParseRequest(string(line)); ok {
				all = append(all, r)
			}
		}
		if len(all) == before {
			fmt.Fprintf(cmd.ErrOrStderr(), "warning: --access-log %s: no line of an access log in it: the relay writes them with relay.accessLog of the chart\n", name)
		}
	}
	return all, nil
}

// auditResults returns the results of PolicyReports about pods, and how many reports there are.
func auditResults(documents []document.Document) (results []cutoff.Result, reports int) {
	for _, d := range documents {
		if d.Object.GetKind() != "PolicyReport" {
			continue
		}
		reports++
		pod, _, _ := unstructured.NestedString(d.Object.Object, "scope", "name")
		all, _, _ := unstructured.NestedSlice(d.Object.Object, "results")
		for _, one := range all {
			fields, _ := one.(map[string]any)
			text := func(field string) string { value, _, _ := unstructured.NestedString(fields, field); return value }
			results = append(results, cutoff.Result{Namespace: d.Object.GetNamespace(), Pod: pod, Policy: text("policy"), Result: text("result"), Message: text("message")})
		}
	}
	return results, reports
}

func cutoffText(s terminal.Style, rows []cutoff.Row) []byte {
	if len(rows) == 0 {
		return []byte("Nobody of those that were seen would be cut off.\n")
	}
	table := terminal.Columns(s, "NAMESPACE", "CLIENT", "DESTINATION", "TIMES", "WHY")
	for _, r := range rows {
		times := "-"
		if r.Times > 0 {
			times = strconv.Itoa(r.Times)
		}
		table.Add(terminal.Cells(terminal.ASCII(r.Namespace), terminal.ASCII(r.Client), terminal.ASCII(r.Destination), times, terminal.ASCII(r.Why))...)
	}
	return table.Bytes()
}
