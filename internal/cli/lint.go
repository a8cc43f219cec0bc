package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/proxyurl"
	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/operator/noproxy"
	"github.com/fairlead-io/fairlead/operator/noproxy/explain"
)

type lintOptions struct {
	renderOptions
	noProxy             string
	httpProxy, httpsURL string
	failOn              string
}

var lintOutputs = append(slices.Clone(dataOutputs), "sarif")

func lintCommand() *cobra.Command {
	var opts lintOptions
	cmd := &cobra.Command{
		Use:   "lint (--values FILE | --proxy FILE) --cluster FILE | --values FILE | --no-proxy LIST [--cluster FILE]",
		Short: "Find what is wrong or not portable in a NO_PROXY list and its proxy",
		Long: `Find what is wrong or not portable in a NO_PROXY list and its proxy: entries that
open too much or that clients read differently, what the cluster needs and the
list lacks, and how clients read the proxy's URL.

With --values or --proxy it checks the list that the operator writes for each
cluster; with --values alone, the list of pods without an operator; with
--no-proxy, a given list. The exit status is 1 for a finding of the severity
--fail-on or worse, and 2 if the command line or a file is wrong.
No password is printed.`,
		Example: `  fairlead lint --values secret-values.yaml --cluster cluster.yaml

  # on a cluster that Cluster API does not manage
  fairlead lint --values secret-values.yaml

  # is a list that is in use right for this cluster?
  fairlead lint --no-proxy "$NO_PROXY" --cluster cluster.yaml

  # for a pipeline
  fairlead lint --values secret-values.yaml --cluster cluster.yaml --fail-on Warning -o json

  # for a code host
  fairlead lint --values secret-values.yaml --cluster cluster.yaml -o sarif > fairlead.sarif`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.checkLint(cmd.Flags().Changed("no-proxy")); err != nil {
				return usage(err)
			}
			return runLint(cmd, opts)
		},
	}
	flags := cmd.Flags()
	opts.inputFlags(flags)
	opts.trustedCAFlag(flags)
	flags.StringVar(&opts.noProxy, "no-proxy", "", "a NO_PROXY list, instead of --values and --proxy")
	flags.StringVar(&opts.httpProxy, "http-proxy", "", "proxy for http URLs, with --no-proxy")
	flags.StringVar(&opts.httpsURL, "https-proxy", "", "proxy for https URLs, with --no-proxy")
	failOnFlag(cmd, &opts.failOn, string(lint.Error), severityFailedOn, severities)
	outputFlag(cmd, &opts.output, tableOutput, lintOutputs)
	return cmd
}

func (o *lintOptions) checkLint(list bool) error {
	switch {
	case list && (o.values != "" || o.proxy != "" || o.trustedCA != "" || len(o.override) > 0 || o.form != ""):
		return errors.New("--no-proxy is a list as it stands: it takes no --values, --proxy, --trusted-ca, --override or --form")
	case list && strings.TrimSpace(o.noProxy) == "":
		return errors.New("--no-proxy is empty: there is nothing to look at")
	case !list && (o.httpProxy != "" || o.httpsURL != ""):
		return errors.New("--http-proxy and --https-proxy stand beside --no-proxy")
	}
	if err := cmp.Or(checkOutput(o.output, lintOutputs), checkFailOn(&o.failOn, severities)); err != nil || list || o.alone() && len(o.override) == 0 && o.form == "" {
		return err
	}
	return o.checkInputs()
}

// alone tells whether the patch is all that is given.
func (o *lintOptions) alone() bool {
	return o.values != "" && o.proxy == "" && len(o.clusters) == 0
}

// linted is what was found in one list.
type linted struct {
	Cluster  string         `json:"cluster,omitempty"`
	Findings []lint.Finding `json:"findings"`
}

func runLint(cmd *cobra.Command, opts lintOptions) error {
	results, err := lintAll(cmd, opts)
	if err != nil {
		return usage(err) // status 1 is an answer: there are findings
	}
	if err := printLint(cmd.OutOrStdout(), opts, results); err != nil {
		return err
	}
	for _, result := range results {
		if severe(lint.Worst(result.Findings), opts.failOn) {
			return quietError{exitFailure}
		}
	}
	return nil
}

func lintAll(cmd *cobra.Command, opts lintOptions) ([]linted, error) {
	if opts.noProxy != "" {
		return lintList(cmd, opts)
	}
	if opts.alone() {
		return lintAlone(cmd, opts)
	}
	fleet, err := readFleet(opts.renderOptions, cmd.InOrStdin(), cmd.ErrOrStderr())
	if found, is := problemFindings(err); is {
		return []linted{{Findings: found}}, nil
	}
	if err != nil {
		return nil, err
	}
	var results []linted
	for _, cluster := range fleet.clusters {
		findings, err := lintCluster(fleet, cluster, cmd.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		results = append(results, linted{cluster.Namespace + "/" + cluster.Name, findings})
	}
	return results, nil
}

// lintCluster looks at what the operator writes for a cluster, and whether it does.
func lintCluster(fleet *fleet, cluster *clusterv1.Cluster, warnings io.Writer) ([]lint.Finding, error) {
	effective, err := fleet.resolve(cluster, warnings)
	resolved := err == nil
	if resolved {
		_, err = render.Secrets(effective)
	}
	findings, is := problemFindings(err)
	if err != nil && !is {
		return nil, err
	}
	if resolved && effective.Mode == resolve.ModeProxied {
		in := lint.Effective(effective, inputs.Cluster(cluster))
		in.API = providerAddress(fleet.documents, cluster)
		in.Now = time.Now().Unix()
		findings = append(findings, lint.Run(in)...)
	}
	return findings, nil
}

// lintAlone looks at the patch where nobody adds what the cluster needs.
func lintAlone(cmd *cobra.Command, opts lintOptions) ([]linted, error) {
	choose, err := readProxy(opts.renderOptions, cmd.InOrStdin())
	if found, is := problemFindings(err); is {
		return []linted{{Findings: found}}, nil
	}
	if err != nil {
		return nil, err
	}
	installation, err := choose(nil)
	if err != nil {
		return nil, err
	}
	in := lint.Alone(installation)
	in.Now = time.Now().Unix()
	return []linted{{Findings: lint.Run(in)}}, nil
}

// lintList looks at a list as it stands, once for each cluster if there are any.
func lintList(cmd *cobra.Command, opts lintOptions) ([]linted, error) {
	in := lint.Read(opts.noProxy, noproxy.Source{Field: "--no-proxy"})
	for _, proxy := range []struct {
		flag, text string
		into       *proxyurl.URL
	}{{"--http-proxy", opts.httpProxy, &in.HTTP}, {"--https-proxy", opts.httpsURL, &in.HTTPS}} {
		u, err := proxyurl.Parse(proxy.text)
		if err != nil {
			in.Refusals = append(in.Refusals, lint.Finding{Code: lint.ProxyURL, Severity: lint.Error, Why: proxy.flag + ": " + err.Error()})
			continue
		}
		*proxy.into = u
	}
	if len(opts.clusters) == 0 {
		return []linted{{Findings: lint.Run(in)}}, nil
	}
	documents, err := readDocuments(opts.clusters, opts.recursive, cmd.InOrStdin())
	if err != nil {
		return nil, err
	}
	found, err := clusters(documents, cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	var results []linted
	for _, cluster := range found {
		plain := inputs.Cluster(cluster)
		in.Cluster, in.API = &plain, providerAddress(documents, cluster)
		results = append(results, linted{cluster.Namespace + "/" + cluster.Name, lint.Run(in)})
	}
	return results, nil
}

// problemFindings turns a problem, which keeps a list from being written at all,
// into findings: one for each refused entry, or one for all of it.
func problemFindings(err error) ([]lint.Finding, bool) {
	var p *resolve.Problem
	if !errors.As(err, &p) {
		return nil, false
	}
	code := lint.Code(p.Reason)
	switch {
	case errors.Is(err, inputs.ErrTrustedCA):
		code = lint.Certificate
	case p.Reason == resolve.ReasonInvalidProxy:
		code = lint.ProxyURL
	}
	if len(p.Refusals) == 0 {
		return []lint.Finding{{Code: code, Severity: lint.Error, Why: p.Error()}}, true
	}
	var findings []lint.Finding
	for _, refusal := range p.Refusals {
		findings = append(findings, lint.Finding{Code: lint.Unreadable, Severity: lint.Error, Why: p.Object + ": " + refusal, Mend: "correct or remove it"})
	}
	return findings, true
}

func printLint(out io.Writer, opts lintOptions, results []linted) error {
	for i := range results {
		if results[i].Findings == nil {
			results[i].Findings = []lint.Finding{} // a list, also when it is empty
		}
	}
	switch opts.output {
	case tableOutput:
		_, err := out.Write(lintText(terminal.For(out), results))
		return err
	case "sarif":
		return printSARIF(out, opts.source(), results)
	}
	return printData(out, opts.output, results)
}

// source is the file that the list stands in.
func (o *lintOptions) source() sarifSource {
	s := sarifSource{file: cmp.Or(o.values, o.proxy)}
	if s.file != "" && s.file != "-" {
		s.text, _ = os.ReadFile(s.file) // without it no lines are named; a folder has none
	}
	return s
}

func lintText(s terminal.Style, results []linted) []byte {
	out := terminal.Findings{Style: s}
	for _, result := range results {
		if len(results) > 1 {
			fmt.Fprintf(&out, "%s\n\n", result.Cluster)
		}
		for _, f := range result.Findings {
			heading := string(f.Code)
			if len(f.Entries) > 0 {
				heading += "  " + listed(f.Entries)
			}
			out.Add(string(f.Severity), heading, f.Why, terminal.Labelled("mend", f.Mend), terminal.Labelled("clients", strings.Join(f.Clients, ", ")))
		}
	}
	out.Total()
	return out.Bytes()
}

// listed shows the first entries, and where the first was written.
func listed(entries []lint.Entry) string {
	const shown = 4
	values := make([]string, 0, shown)
	for _, e := range entries[:min(len(entries), shown)] {
		values = append(values, explain.Shown(e.Value))
	}
	text := strings.Join(values, ", ")
	if more := len(entries) - shown; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	if e := entries[0]; len(entries) == 1 && e.Field != "" {
		text += "  (" + strings.TrimSpace(e.Object+" "+e.Field) + ")"
	}
	return text
}
