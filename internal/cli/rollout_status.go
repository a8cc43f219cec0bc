package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/diagnosis"
)

type statusOptions struct {
	rolloutOptions
	watch   bool
	timeout time.Duration
	output  string
}

func rolloutStatusCommand() *cobra.Command {
	var opts statusOptions
	cmd := &cobra.Command{
		Use:   "status [NAME]",
		Short: "Show how far a change has come",
		Long: `Show how far a change has come: the revision, its waves, what failed, what is waited for
and which clusters have other revisions. Without NAME it shows the only CorporateProxy
with spec.rollout, or a line for each.

With --watch it waits until all clusters have the revision (exit status 0), until
it does not continue, which is when it halted, stalled or is paused (1), or until
--timeout (1). It asks every two seconds. A change that the operator has not yet seen
is waited for, if it is one of the CorporateProxy or by fairlead rollout: of a Secret
nobody knows. An operator that does not run is named, if you may list Leases in its
namespace: the status is of before then.

-o json and -o yaml print name, phase (Waiting, Progressing, Completed, Halted or
Stalled), reason, message, pausedBy, rollout, revisions, problem, and others: clusters
by the revision that they have or get; and operator, if it does not run. Without NAME they print a list.

Without --watch, the exit status is 0 if it is completed or under way, 1 if it halted or
stalled, or for an error; 2 if the command line is wrong.`,
		Example: `  fairlead rollout status
  fairlead rollout status corp

  # for a pipeline
  fairlead rollout status corp --watch --timeout 2h`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usage(fmt.Errorf("%s takes one name, or none", cmd.CommandPath()))
			}
			return nil
		},
		PreRunE: func(_ *cobra.Command, _ []string) error {
			var err error
			if opts.timeout != 0 && !opts.watch || opts.timeout < 0 {
				err = errors.New("--timeout is a time from 0, with --watch")
			}
			return usage(cmp.Or(err, checkRollout(opts.rolloutOptions), checkOutput(opts.output, dataOutputs)))
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			name := ""
			if len(args) == 1 {
				name = plainName(args[0])
			}
			return runStatus(cmd, opts, name)
		},
	}
	opts.flags(cmd)
	cmd.Flags().BoolVarP(&opts.watch, "watch", "w", false, "wait until it is completed, or does not continue")
	cmd.Flags().DurationVar(&opts.timeout, "timeout", 0, "limit of --watch: 30s, 20m, 2h; 0 for none")
	outputFlag(cmd, &opts.output, tableOutput, dataOutputs)
	return cmd
}

func runStatus(cmd *cobra.Command, opts statusOptions, name string) error {
	f, err := opts.connect(cmd)
	if err != nil {
		return err
	}
	proxies, err := f.withRollout(cmd.Context(), name)
	if err != nil {
		return err
	}
	if len(proxies) == 1 && opts.watch {
		return watchStatus(cmd, f, opts, proxies[0].Name, name != "")
	}
	if opts.watch {
		return fmt.Errorf("--watch is for one CorporateProxy, and several have spec.rollout: give a name, such as %s", proxies[0].Name)
	}
	all := make([]rolloutReport, len(proxies))
	for i := range proxies {
		all[i] = f.report(cmd.Context(), &proxies[i])
	}
	f.others(cmd.Context(), all)
	return cmp.Or(printStatus(cmd.OutOrStdout(), opts.output, all, name != ""), stuckError(all))
}

func printStatus(out io.Writer, output string, all []rolloutReport, named bool) error {
	var data any = all
	if named {
		data = all[0]
	}
	return printFound(out, output, data, func(s terminal.Style) []byte {
		if len(all) == 1 {
			return statusText(s, all[0])
		}
		return statusesText(s, all)
	})
}

// withRollout reads the CorporateProxy of a name, or all that have spec.rollout.
func (f fleetOf) withRollout(ctx context.Context, name string) ([]v1alpha1.CorporateProxy, error) {
	if name != "" {
		proxy, err := f.proxy(ctx, name)
		if err != nil {
			return nil, err
		}
		return []v1alpha1.CorporateProxy{*proxy}, nil
	}
	all, err := f.proxies(ctx, "")
	if err != nil {
		return nil, err
	}
	all = slices.DeleteFunc(all, func(p v1alpha1.CorporateProxy) bool { return p.Spec.Rollout == nil })
	if len(all) == 0 {
		return nil, errors.New("no CorporateProxy has spec.rollout: every change reaches all clusters at once")
	}
	return all, nil
}

// report says how a rollout stands. Who may not read what people say still sees the status.
func (f fleetOf) report(ctx context.Context, proxy *v1alpha1.CorporateProxy) rolloutReport {
	configMap, err := f.Control(ctx, f.namespace, proxy.Name)
	var r rolloutReport
	if err != nil {
		fmt.Fprintln(f.warnings, "warning:", err)
		r = reportOf(proxy, nil)
	} else {
		control := f.control(configMap)
		r = reportOf(proxy, &control)
	}
	r.Operator = f.stopped(ctx)
	return r
}

// stopped says that the operator does not run, where that is known: what it last wrote looks as if something went on.
func (f fleetOf) stopped(ctx context.Context) string {
	object, err := f.Lease(ctx, f.namespace, diagnosis.LeaseName)
	lease := leaseOf(object)
	if err != nil || lease == nil || !lease.Stopped(time.Now()) {
		return ""
	}
	return fmt.Sprintf("the operator does not run: it renewed its Lease %s/%s the last time at %s", f.namespace, diagnosis.LeaseName, lease.Renewed.UTC().Format(time.RFC3339))
}

// others adds the clusters with other revisions.
func (f fleetOf) others(ctx context.Context, all []rolloutReport) {
	if !slices.ContainsFunc(all, rolloutReport.hasOthers) {
		return
	}
	rows, err := f.rows(ctx)
	if err != nil {
		fmt.Fprintln(f.warnings, "warning:", err)
		return
	}
	for i := range all {
		all[i].addOthers(rows)
	}
}

// watchInterval is how long nobody asks. A status changes with waves and clusters, and a list of one object costs little.
const watchInterval = 2 * time.Second

// watchStatus shows the status whenever it has changed, until nothing goes on.
func watchStatus(cmd *cobra.Command, f fleetOf, opts statusOptions, name string, named bool) error {
	ctx := cmd.Context()
	if opts.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, opts.timeout)
		defer cancel()
	}
	screen := newScreen(cmd.OutOrStdout(), opts.output)
	look := func(ctx context.Context) (rolloutReport, error) {
		proxy, err := f.proxy(ctx, name)
		if err != nil {
			return rolloutReport{}, err
		}
		return f.report(ctx, proxy), nil
	}
	show := func(report rolloutReport) (bool, error) {
		if !report.ended() {
			screen.show(report)
			return false, nil
		}
		all := []rolloutReport{report}
		f.others(cmd.Context(), all)
		screen.clear()
		return true, cmp.Or(printStatus(cmd.OutOrStdout(), opts.output, all, named), stuckError(all))
	}
	err := watch(ctx, f.warnings, look, show, func(time.Duration) time.Duration { return watchInterval })
	if err != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("CorporateProxy %s: its rollout has not ended within %s", name, opts.timeout)
	}
	return err
}

func stuckError(all []rolloutReport) error {
	if slices.ContainsFunc(all, rolloutReport.stuck) {
		return errQuiet
	}
	return nil
}
