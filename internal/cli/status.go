package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/pictured"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/picture"
)

const htmlOutput = "html"

var pictureOutputs = []string{tableOutput, "json", "yaml", jsonPath, htmlOutput}

type pictureOptions struct {
	listOptions
	operatorNamespace string
	watch             bool
}

func statusCommand() *cobra.Command {
	var opts pictureOptions
	cmd := &cobra.Command{
		Use:   "status [-n NAMESPACE | -A] [-f FILE]",
		Short: "Show how the fleet stands: what is wrong and for how long, what is behind, what expires",
		Long: `Show how the fleet stands: clusters by state, what is wrong and for how long, how far
changes have come, what is behind, and what expires; each with the command that says
more.

A cluster is in the worst state of what is said of it: Error, it does not get its
settings, or they do not work; Warning, they work, and somebody must do something;
Unknown, nobody can tell; Waiting, it goes on by itself; Fine. fairlead doctor cluster
says the same of one cluster.

It lists ProxyReports, CorporateProxies, the metadata of Clusters, and the operator's
Lease, in pages of 500. It asks for no Secret. What you have no right to list is named,
and the rest is shown; without ProxyReports there is nothing to show. With -f it reads
the same kinds from files, and of the other objects in them nothing.

-o html writes one page that needs nothing but itself: a tile for each cluster, by
namespace, CorporateProxy or infrastructure, with its report, its list and where each
entry comes from. -o json and -o yaml print time, states, problems, proxies, behind,
expires, clusters and notLookedAt.

With --watch it goes on until it is interrupted. It asks every five seconds, or less
often where an answer takes long.

The exit status is 0 for an answer, whatever it says; 1 for an error; 2 if the command
line is wrong.`,
		Example: `  fairlead status -A
  fairlead status -A --watch
  fairlead status -A -o html > fleet.html

  # which clusters are in error?
  fairlead status -A -o jsonpath='{range .clusters[?(@.state=="Error")]}{.namespace}/{.name}{"\n"}{end}'

  # without access of its own
  kubectl get proxyreports,corporateproxies -A -o yaml | fairlead status -f -`,
		Args:    noArguments,
		PreRunE: func(cmd *cobra.Command, _ []string) error { return usage(opts.check(cmd)) },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runPicture(cmd, opts) },
	}
	opts.flags(cmd, "ProxyReports, CorporateProxies and Clusters, a folder of them, or - for stdin; may be repeated", pictureOutputs)
	operatorNamespaceFlag(cmd, &opts.operatorNamespace)
	cmd.Flags().BoolVarP(&opts.watch, "watch", "w", false, "go on until it is interrupted")
	return cmd
}

func (o pictureOptions) check(cmd *cobra.Command) error {
	var err error
	if o.watch && (len(o.files) > 0 || o.output != tableOutput) {
		err = errors.New("--watch is for a cluster, and for -o table")
	}
	return cmp.Or(checkCluster(cmd, o.Options, len(o.files) > 0), err, checkOperatorNamespace(o.operatorNamespace), checkOutput(o.output, pictureOutputs))
}

func runPicture(cmd *cobra.Command, opts pictureOptions) error {
	if len(opts.files) > 0 {
		in, err := picturedFiles(opts, cmd.InOrStdin(), cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		return printPicture(cmd.OutOrStdout(), opts.output, picture.Of(in), "")
	}
	from, err := cluster.Connect(opts.Options)
	if err != nil {
		return err
	}
	look := func(ctx context.Context) (picture.Picture, error) {
		in, err := picturedCluster(ctx, from, opts.operatorNamespace)
		return picture.Of(in), err
	}
	if opts.watch {
		return watchPicture(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr(), look, from.Namespace)
	}
	p, err := look(cmd.Context())
	if err != nil {
		return err
	}
	return printPicture(cmd.OutOrStdout(), opts.output, p, from.Namespace)
}

func printPicture(out io.Writer, output string, p picture.Picture, namespace string) error {
	if output == htmlOutput {
		return pictured.HTML(out, p, namespace)
	}
	return printFound(out, output, p, func(s terminal.Style) []byte { return pictured.Text(s, p, namespace) })
}

// pictureInterval is how long nobody asks, at least: the answer of a large fleet is long.
const pictureInterval = 5 * time.Second

// watchPicture replaces the picture on a terminal, and else writes a line whenever the states have changed.
func watchPicture(ctx context.Context, out, warnings io.Writer, look func(context.Context) (picture.Picture, error), namespace string) error {
	screen, replaced := terminal.NewScreen(out)
	last := ""
	show := func(p picture.Picture) (bool, error) {
		line := pictured.States(terminal.Style{}, p)
		switch {
		case replaced:
			screen.Show(pictured.Text(screen.Style(), p, namespace))
		case line != last:
			last = line
			fmt.Fprintln(out, line)
		}
		return false, nil
	}
	return watch(ctx, warnings, look, show, func(took time.Duration) time.Duration { return max(pictureInterval, 10*took) })
}
