package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/agents/shortname"
	"github.com/fairlead-io/fairlead/internal/cli/fleet"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/noproxy"
	"github.com/fairlead-io/fairlead/noproxy/explain"
)

type lintOptions struct {
	renderOptions
	noProxy             string
	systemd, environ    string
	given               func(flag string) bool // whether it is on the command line
	httpProxy, httpsURL string
	files               []string
	failOn              string
}

var lintOutputs = append(slices.Clone(dataOutputs), "sarif")

func lintCommand() *cobra.Command {
	var opts lintOptions
	cmd := &cobra.Command{
		Use:   "lint (--values FILE | --proxy FILE) --cluster FILE | --values FILE | (--no-proxy LIST | -f FILE | --systemd DIR | --environ FILE) [--cluster FILE]",
		Short: "Find what is wrong or not portable in a NO_PROXY list and its proxy",
		Long: `Find what is wrong or not portable in a NO_PROXY list and its proxy: entries that
open too much or that clients read differently, what the cluster needs and the
list lacks, and how clients read the proxy's URL.

With --values or --proxy it checks the list that the operator writes for each
cluster; with --values alone, the list of pods without an operator; with
--no-proxy, a given list. With -f it also finds Services that pods name without a
dot, and that the list does not cover; give the Services, too.

--systemd says what the services of a machine get: which of the manager's
defaults, Environment= and EnvironmentFile= wins. DIR is the root of its files, or
is as /etc/systemd/system is; files that units name are then looked for below it.
--environ checks what a process has.

The exit status is 1 for a finding of the severity --fail-on or worse, and 2 if
the command line or a file is wrong.
No password is printed.`,
		Example: `  fairlead lint --values secret-values.yaml --cluster cluster.yaml

  # on a cluster that Cluster API does not manage
  fairlead lint --values secret-values.yaml

  # is a list that is in use right for this cluster?
  fairlead lint --no-proxy "$NO_PROXY" --cluster cluster.yaml

  # the list of a machine's drop-in, which Go programs read
  fairlead lint --no-proxy "$NO_PROXY" --audience go --cluster cluster.yaml

  # does the list cover the Services that a chart's pods name?
  helm template argocd … | fairlead lint --values secret-values.yaml --cluster cluster.yaml -f -

  # the lists in manifests themselves
  fairlead lint -f manifests/ --cluster cluster.yaml

  # which of several drop-ins wins on this machine, and what containerd has got
  sudo fairlead lint --systemd /
  sudo fairlead lint --audience go --environ "/proc/$(pidof containerd)/environ"

  # for a pipeline
  fairlead lint --values secret-values.yaml --cluster cluster.yaml --fail-on Warning -o json

  # for a code host
  fairlead lint --values secret-values.yaml --cluster cluster.yaml -o sarif > fairlead.sarif`,
		Args: noArguments,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			opts.given = cmd.Flags().Changed
			return usage(opts.checkLint())
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runLint(cmd, opts) },
	}
	flags := cmd.Flags()
	opts.inputFlags(flags)
	opts.trustedCAFlag(flags)
	atFlag(flags, &opts.at)
	flags.StringVar(&opts.noProxy, "no-proxy", "", "a NO_PROXY list, which may be empty, instead of --values and --proxy")
	flags.StringVar(&opts.httpProxy, "http-proxy", "", "proxy for http URLs, with --no-proxy")
	flags.StringVar(&opts.httpsURL, "https-proxy", "", "proxy for https URLs, with --no-proxy")
	flags.StringVar(&opts.audience, "audience", string(noproxy.AudienceAny), "with --no-proxy, --systemd or --environ, the programs that read the list: "+strings.Join(audiences, ", ")+" (services of a node: go)")
	flags.StringVar(&opts.systemd, "systemd", "", "units and drop-ins of a machine: its root, or a folder as /etc/systemd/system is")
	flags.StringVar(&opts.environ, "environ", "", "variables of a process, as /proc/PID/environ has them, or - for stdin")
	failOnFlag(cmd, &opts.failOn, string(lint.Error), severityFailedOn, severities)
	filenameFlag(cmd, &opts.files, "manifests with lists, or whose pods read the list, a folder of them, or - for stdin; may be repeated")
	outputFlag(cmd, &opts.output, tableOutput, lintOutputs)
	return cmd
}

func (o *lintOptions) checkLint() error {
	list := o.given("no-proxy")
	if o.given("systemd") || o.given("environ") {
		return o.checkMachine()
	}
	switch {
	case list && (o.values != "" || o.proxy != "" || o.trustedCA != "" || len(o.override) > 0 || o.form != ""):
		return errors.New("--no-proxy is a list as it stands: it takes no --values, --proxy, --trusted-ca, --override or --form")
	case o.manifestsAlone() && (len(o.override) > 0 || o.form != "" || o.trustedCA != ""):
		return errors.New("--override, --form and --trusted-ca stand beside --values or --proxy")
	case !list && o.audience != string(noproxy.AudienceAny):
		return errors.New("--audience stands beside --no-proxy, --systemd or --environ: the list of --values and --proxy is checked as the one for any client")
	case !list && (o.given("http-proxy") || o.given("https-proxy")):
		return errors.New("--http-proxy and --https-proxy stand beside --no-proxy")
	}
	if err := cmp.Or(oneOf("--audience", o.audience, audiences), oneStdin(slices.Concat(o.files, o.inputFiles())), checkOutput(o.output, lintOutputs), checkFailOn(&o.failOn, severities)); err != nil || list || o.manifestsAlone() || o.alone() && len(o.override) == 0 && o.form == "" {
		return err
	}
	return o.checkInputs()
}

// alone tells whether the patch is all that is given.
func (o *lintOptions) alone() bool {
	return o.values != "" && o.proxy == "" && len(o.clusters) == 0
}

// manifestsAlone tells whether only lists in manifests are looked at.
func (o *lintOptions) manifestsAlone() bool {
	return len(o.files) > 0 && o.values == "" && o.proxy == "" && !o.given("no-proxy") && !o.given("systemd") && !o.given("environ")
}

func runLint(cmd *cobra.Command, opts lintOptions) error {
	results, err := lintAll(cmd, opts)
	if err != nil {
		return usage(err) // status 1 is an answer: there are findings
	}
	if err := printLint(cmd.OutOrStdout(), opts, results); err != nil {
		return err
	}
	if slices.ContainsFunc(results, func(r lint.Result) bool { return severe(lint.Worst(r.Findings), opts.failOn) }) {
		return errQuiet
	}
	return nil
}

func lintAll(cmd *cobra.Command, opts lintOptions) ([]lint.Result, error) {
	var results []lint.Result
	var err error
	again := func() {}
	if len(opts.files) > 0 && slices.Contains(opts.clusters, "-") { // Clusters are read for the list, and for those in manifests
		text, err := io.ReadAll(cmd.InOrStdin())
		if err != nil {
			return nil, err
		}
		again = func() { cmd.SetIn(bytes.NewReader(text)) }
		again()
	}
	if !opts.manifestsAlone() {
		results, err = lintLists(cmd, opts)
	}
	if err != nil || len(opts.files) == 0 {
		return results, err
	}
	manifests, err := readManifests(opts.files, opts.recursive, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	for i, result := range results {
		if result.List != "" {
			results[i].Findings = lint.Sorted(append(result.Findings, shortname.Find(manifests, result.List)...))
		}
	}
	again()
	found, err := lintFound(cmd, opts, manifests)
	return append(results, found...), err
}

func lintLists(cmd *cobra.Command, opts lintOptions) ([]lint.Result, error) {
	switch {
	case opts.given("systemd"):
		return lintUnits(cmd, opts)
	case opts.given("environ"):
		return lintProcess(cmd, opts)
	case opts.given("no-proxy"):
		return lintList(cmd, opts)
	}
	results, err := lintWritten(cmd, opts, opts.at.time().Unix())
	if found, ok := fleet.Refused(err); ok {
		return []lint.Result{{Findings: found}}, nil
	}
	return results, err
}

// lintWritten looks at what the operator writes for clusters, or at the patch where nobody adds what a cluster needs.
func lintWritten(cmd *cobra.Command, opts lintOptions, now int64) ([]lint.Result, error) {
	if !opts.alone() {
		f, err := readFleet(opts.renderOptions, cmd.InOrStdin(), cmd.ErrOrStderr())
		if err != nil {
			return nil, err
		}
		return f.Lint(now, cmd.ErrOrStderr())
	}
	choice, err := readProxy(opts.renderOptions, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	installation, err := choice.Of(nil, nil)
	if err != nil {
		return nil, err
	}
	in := lint.Alone(installation)
	in.Now = now
	return []lint.Result{{Findings: lint.Run(in), List: in.Any}}, nil
}

// lintList looks at a list as it stands.
func lintList(cmd *cobra.Command, opts lintOptions) ([]lint.Result, error) {
	in := lint.Read(opts.noProxy, noproxy.Source{Field: "--no-proxy"})
	in.Audience = noproxy.Audience(opts.audience)
	in.HTTP, in.HTTPS = in.ReadProxy("--http-proxy", opts.httpProxy), in.ReadProxy("--https-proxy", opts.httpsURL)
	in.Off = (opts.given("http-proxy") || opts.given("https-proxy")) && opts.httpProxy == "" && opts.httpsURL == ""
	return lintFor(cmd, opts, in)
}

// lintFor looks at a list once for each cluster, if there are any.
func lintFor(cmd *cobra.Command, opts lintOptions, in lint.Input) ([]lint.Result, error) {
	in.Alone = in.Empty && !in.Off && len(opts.clusters) == 0
	if len(opts.clusters) == 0 {
		return fleet.LintList(in, nil, cmd.ErrOrStderr())
	}
	documents, err := readDocuments(opts.clusters, opts.recursive, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	return fleet.LintList(in, documents, cmd.ErrOrStderr())
}

func printLint(out io.Writer, opts lintOptions, results []lint.Result) error {
	for i := range results {
		if results[i].Findings == nil {
			results[i].Findings = []lint.Finding{} // a list, also when it is empty
		}
	}
	if opts.output == "sarif" {
		return printData(out, "json", sarifOf(opts.source(), results))
	}
	return printFound(out, opts.output, results, func(s terminal.Style) []byte { return lintText(s, results) })
}

func (o *lintOptions) source() sarifSource {
	s := sarifSource{file: cmp.Or(o.values, o.proxy)}
	if s.file != "" && s.file != "-" {
		s.text, _ = os.ReadFile(s.file) // without it no lines are named; a folder has none
	}
	return s
}

// winsFirst puts first where values come from: the others are about them.
func winsFirst(findings []lint.Finding) []lint.Finding {
	return slices.SortedStableFunc(slices.Values(findings), func(a, b lint.Finding) int {
		rank := map[bool]int{true: 0, false: 1}
		return rank[a.Code == lint.Wins] - rank[b.Code == lint.Wins]
	})
}

func lintText(s terminal.Style, results []lint.Result) []byte {
	out := terminal.Findings{Style: s}
	for _, result := range results {
		if title := result.Title(); title != "" && (len(results) > 1 || result.Cluster != title) {
			fmt.Fprintf(&out, "%s\n\n", explain.Shown(title))
		}
		addLinted(&out, result, "")
	}
	out.Total()
	return out.Bytes()
}

// addLinted adds a paragraph for each finding; of says which list it is about, if that stands nowhere above.
func addLinted(out *terminal.Findings, result lint.Result, of string) {
	for _, f := range winsFirst(result.Findings) {
		heading := string(f.Code)
		if of != "" {
			heading += "  " + of
		}
		if entries := slices.Clone(f.Entries); len(entries) > 0 {
			if of != "" {
				entries[0].Field = ""
			}
			heading += "  " + lint.Listed(entries)
		}
		why := f.Why
		if f.Code == lint.Ends { // an owner and a reason are in it
			why = terminal.Said(why, 320)
		}
		out.Add(string(f.Severity), explain.Shown(heading), why, terminal.Labelled("mend", f.Mend), terminal.Labelled("clients", strings.Join(f.Clients, ", ")))
	}
}
