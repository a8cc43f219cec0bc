package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/fleet"
	"github.com/fairlead-io/fairlead/internal/cli/planned"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/plan"
)

type planOptions struct {
	cluster.Options
	from, to          string
	files, clusters   []string // -f, --cluster
	recursive         bool
	values            string
	operatorNamespace string
	expect            []string
	upgrade           bool
	output            string
	at                moment

	args []string
}

var planOutputs = []string{tableOutput, wideOutput, "json", "yaml", jsonPath, "markdown", "html"}

func planCommand() *cobra.Command {
	var opts planOptions
	cmd := &cobra.Command{
		Use:   "plan OLD NEW | plan --from REVISION [--to REVISION] PATH... | plan -f FILE... | plan --upgrade [FILE...]",
		Short: "Show what a change does to every cluster, before it is applied",
		Long: `Show what a change does to every cluster, before it is applied: entries that come
and go, which clients then decide differently, problems, and the cost in charts
and machines.

It compares two folders or files (OLD NEW), two revisions of the git repository
around you (--from; --to is the working tree), or the management cluster with
itself after these manifests are applied (-f). It reads no Secret of the cluster.
A folder may hold manifests, and installations of a config repository: a folder
with secret-values.yaml.patch, and below it the manifests of its clusters.
With --upgrade it shows what the newest form and provider facts would write;
clusters keep what they have until told.

Passwords are neither compared nor printed. The exit status is 0 for no change, 1
for a change, 2 for an error, and 3 if an expectation of --expect is not met.`,
		Example: `  # in a pull request
  fairlead plan --from origin/main installations -o markdown
  fairlead plan --from origin/main installations --expect must-hold.json

  # two folders, with the clusters in a file of their own
  kubectl get clusters,proxyreports,proxyoverrides -A -o yaml > fleet.yaml
  fairlead plan old new --cluster fleet.yaml

  # what would this do to the management cluster?
  fairlead plan -f corporate-proxy.yaml
  fairlead plan -f corporate-proxy.yaml -o html > plan.html

  # what ends until then?
  fairlead plan old old --at 2026-12-31T00:00:00Z

  # what has a new version of Fairlead to offer?
  fairlead plan --upgrade`,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			opts.args = args
			return usage(opts.check(cmd))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runPlan(cmd, opts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&opts.from, "from", "", "git revision to compare with; the arguments are files or folders of its repository")
	flags.StringVar(&opts.to, "to", "", "git revision that --from is compared with (default: the working tree)")
	filenameFlag(cmd, &opts.files, "manifests that would be applied, a folder of them, or - for stdin; may be repeated")
	recursiveFlag(flags, &opts.recursive)
	flags.StringArrayVar(&opts.clusters, "cluster", nil, "Clusters, ProxyOverrides and ProxyReports that both states have, file or folder; may be repeated")
	flags.StringVar(&opts.values, "values", "secret-values.yaml.patch", "name of the config repository's values, proxy: {http, https, noProxy}")
	flags.StringArrayVar(&opts.expect, "expect", nil, "expectations of the new lists, as for explain --check; may be repeated")
	flags.BoolVar(&opts.upgrade, "upgrade", false, "compare what clusters have with the newest form and provider facts")
	flags.StringVar(&opts.operatorNamespace, "operator-namespace", "fairlead-system", "namespace of the operator, whose ConfigMaps are read")
	atFlag(flags, &opts.at)
	connectionFlags(cmd, &opts.Options)
	outputFlag(cmd, &opts.output, tableOutput, planOutputs)
	return cmd
}

// online returns the flags that say how a cluster is asked.
func (o *planOptions) online() bool {
	return len(o.files) > 0 || o.upgrade && len(o.args) == 0
}

func (o *planOptions) check(cmd *cobra.Command) error {
	asks := slices.ContainsFunc(append([]string{"operator-namespace"}, offline...), cmd.Flags().Changed)
	switch {
	case o.from == "" && o.to != "":
		return errors.New("--to stands beside --from")
	case o.upgrade && (o.from != "" || len(o.files) > 0):
		return errors.New("--upgrade takes files of the fleet as arguments, or asks the cluster: it takes no --from and no -f")
	case len(o.files) > 0 && (o.from != "" || len(o.args) > 0):
		return errors.New("-f is compared with the cluster: it takes no --from and no other files")
	case asks && !o.online():
		return errors.New("files are compared: --operator-namespace, --kubeconfig, --context and --request-timeout are for -f and --upgrade")
	case o.online() && len(o.clusters) > 0:
		return errors.New("--cluster is for files: the Clusters are those of the cluster, and of -f")
	case o.from != "" && len(o.args) == 0:
		return errors.New("--from takes files or folders of the repository as arguments")
	case o.from == "" && !o.upgrade && len(o.files) == 0 && len(o.args) != 2:
		return errors.New("give two folders or files, --from with files or folders, -f, or --upgrade")
	case o.values == "":
		return errors.New("--values is empty")
	}
	return cmp.Or(checkOutput(o.output, planOutputs), oneStdin(slices.Concat(o.files, o.clusters, o.expect)), o.Check())
}

func runPlan(cmd *cobra.Command, opts planOptions) error {
	p, err := opts.plan(cmd)
	if err != nil {
		return exitError{err} // status 1 is an answer
	}
	if err := opts.print(cmd.OutOrStdout(), p); err != nil {
		return exitError{err}
	}
	switch {
	case p.Expectations != nil && p.Expectations.Failed > 0:
		return errUnmet
	case p.Changed:
		return errQuiet
	}
	return nil
}

func (o *planOptions) plan(cmd *cobra.Command) (plan.Plan, error) {
	checks, err := o.checks(cmd.InOrStdin())
	if err != nil {
		return plan.Plan{}, err
	}
	states := fleet.States{Upgrade: o.upgrade, Now: time.Now(), At: o.at.time(), Warnings: cmd.ErrOrStderr()}
	if err := o.read(cmd, &states); err != nil {
		if errors.Is(err, document.ErrNoObject) {
			err = fmt.Errorf("%w; to compare values: fairlead plan OLD NEW --values NAME, with a file of that name in two folders", err)
		}
		return plan.Plan{}, err
	}
	reading := terminal.NewProgress(cmd.ErrOrStderr(), "Clusters in both states")
	states.Progress = reading.Step
	before, after, err := states.Read()
	reading.End()
	if err != nil {
		return plan.Plan{}, err
	}
	if len(before.Clusters)+len(after.Clusters) == 0 {
		return plan.Plan{}, errors.New("there is no Cluster of cluster.x-k8s.io: --cluster adds those that stand elsewhere")
	}
	if o.upgrade {
		after.Notes = append(after.Notes, planned.UpgradeNote)
	}
	comparing := terminal.NewProgress(cmd.ErrOrStderr(), "Clusters compared")
	defer comparing.End()
	return plan.Compare(before, after, plan.Options{Checks: checks, Progress: comparing.Step})
}

func (o *planOptions) checks(stdin io.Reader) ([]plan.Check, error) {
	var all []plan.Check
	for _, file := range o.expect {
		data, err := readFile(file, stdin)
		if err != nil {
			return nil, err
		}
		all = append(all, plan.Check{File: file, Data: data})
	}
	return all, nil
}

func (o *planOptions) print(out io.Writer, p plan.Plan) error {
	switch o.output {
	case "markdown":
		_, err := out.Write(planned.Markdown(p))
		return err
	case "html":
		return planned.HTML(out, p)
	}
	return printFound(out, o.output, p, func(s terminal.Style) []byte { return planned.Text(s, p, o.output == wideOutput) })
}

var errUnmet = fmt.Errorf("%w: expectations are not met", errQuiet)
