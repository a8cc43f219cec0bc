package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/wiring"
)

type wireOptions struct {
	oneOptions
	yes, data, machines bool
}

func wireCommand() *cobra.Command {
	var opts wireOptions
	cmd := &cobra.Command{
		Use:   "wire [-n NAMESPACE] CLUSTER [--yes]",
		Short: "Label a Cluster and its machine templates, so that they get their settings",
		Long: `Label a Cluster and its machine templates, so that they get their settings: the Cluster
with fairlead.io/cluster, for which Cluster API brings the Secret fairlead-source into it;
its KubeadmControlPlane, and the KubeadmConfigTemplates of its MachineDeployments, with
fairlead.io/node-files, for which the policy inject-node-files adds files.

Without --yes it writes nothing: it has the API server try (a dry run), and shows what
would change, how many machines would be replaced, what is left alone and why, and what
remains to be done. With --yes it shows the same, and writes the labels, with your rights,
by server-side apply. It takes nothing away, and overrules nobody.

It reads Clusters, control planes, templates, MachineDeployments and MachinePools of the
namespace, the ProxyReport and its CorporateProxy. It asks for no Secret, and looks into no
workload cluster. The diff shows labels, and what the policy adds; of other fields it shows
no value.

The exit status is 0 if there is nothing to do, 1 if something would change, 2 for an
error. With --yes it is 0, also if labels were written, or 2.`,
		Example: `  fairlead wire -n org-acme mycluster
  fairlead wire -n org-acme mycluster --yes

  # no machine is replaced
  fairlead wire -n org-acme mycluster --machines=false --yes`,
	}
	cmd.Flags().BoolVar(&opts.yes, "yes", false, "write the labels")
	cmd.Flags().BoolVar(&opts.data, "data", true, "label the Cluster")
	cmd.Flags().BoolVar(&opts.machines, "machines", true, "label machine templates")
	return opts.command(cmd, opts.check, func(cmd *cobra.Command, name string) error { return runWire(cmd, opts, name) })
}

func (o *wireOptions) check() error {
	if !o.data && !o.machines {
		return errors.New("--data=false and --machines=false leave nothing to do")
	}
	return nil
}

func runWire(cmd *cobra.Command, opts wireOptions, name string) error {
	from, err := cluster.Connect(opts.Options)
	if err != nil {
		return exitError{err} // status 1 is an answer
	}
	w := &wirer{Cluster: from, name: name, warnings: cmd.ErrOrStderr()}
	w.in.Data, w.in.Nodes = opts.data, opts.machines
	result, err := w.look(cmd.Context(), opts.operatorNamespace)
	if err != nil {
		return exitError{err}
	}
	out := cmd.OutOrStdout()
	if opts.yes {
		err = w.write(cmd.Context(), out, opts.output, &result)
	} else {
		err = printWiring(out, opts.output, result)
	}
	switch {
	case err != nil:
		return exitError{err}
	case !opts.yes && result.Changes():
		return errQuiet
	}
	return nil
}

func printWiring(out io.Writer, output string, r wiring.Result) error {
	return printFound(out, output, r, func(s terminal.Style) []byte { return wiringText(s, r) })
}

// write writes the labels. A table is printed before the write, other output after it.
func (w *wirer) write(ctx context.Context, out io.Writer, output string, r *wiring.Result) error {
	if output == tableOutput {
		if err := printWiring(out, output, *r); err != nil {
			return err
		}
	}
	err := w.label(ctx, r)
	if output != tableOutput {
		return cmp.Or(err, printWiring(out, output, *r))
	}
	for _, o := range r.Objects {
		if o.Written {
			fmt.Fprintf(out, "%s %s labeled\n", o.Kind, terminal.ASCII(o.Name))
		}
	}
	return err
}

// label stops at the first that cannot be written, and says so of those that were.
func (w *wirer) label(ctx context.Context, r *wiring.Result) error {
	for i, o := range r.Objects {
		if o.State != wiring.Change {
			continue
		}
		_, refused, err := w.Label(ctx, w.objects[o.Ref], o.Labels, false)
		if refused != "" {
			err = fmt.Errorf("%s %s: %s", o.Kind, o.Name, refused)
		}
		if err != nil {
			return fmt.Errorf("%w; run this again for what is not yet labeled", err)
		}
		r.Objects[i].Written = true
	}
	return nil
}
