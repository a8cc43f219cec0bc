package cli

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/revision"
)

type pauseOptions struct {
	rolloutOptions
	dryRun string
}

func rolloutPauseCommand() *cobra.Command {
	var opts pauseOptions
	cmd := &cobra.Command{
		Use:   "pause NAME",
		Short: "Have no further cluster get another revision",
		Long: `Have no further cluster get another revision. Clusters that are being changed are
finished, and those with a rejected revision go back all the same. New clusters get
what has passed its first wave.

It writes paused: "true" into the ConfigMap fairlead-rollout-NAME. The exit status is
0, also if the rollout was paused; 1 for an error; 2 if the command line is wrong.`,
		Example: `  fairlead rollout pause corp`,
	}
	opts.command(cmd, func(cmd *cobra.Command, name string) error { return runPause(cmd, opts, name) })
	return cmd
}

func rolloutResumeCommand() *cobra.Command {
	var opts pauseOptions
	cmd := &cobra.Command{
		Use:   "resume NAME",
		Short: "End a pause",
		Long: `End a pause. It removes paused from the ConfigMap fairlead-rollout-NAME.

The exit status is 0, also if the rollout was not paused; 1 if spec.rollout.paused of
the CorporateProxy says that it stays paused, or for an error; 2 if the command line is
wrong.`,
		Example: `  fairlead rollout resume corp`,
	}
	opts.command(cmd, func(cmd *cobra.Command, name string) error { return runResume(cmd, opts, name) })
	return cmd
}

func (o *pauseOptions) command(cmd *cobra.Command, run func(*cobra.Command, string) error) {
	cmd.Args = oneName("CorporateProxy")
	cmd.PreRunE = func(*cobra.Command, []string) error {
		return usage(cmp.Or(checkRollout(o.rolloutOptions), oneOf("--dry-run", o.dryRun, dryRuns)))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd, plainName(args[0])) }
	o.flags(cmd)
	dryRunFlag(cmd, &o.dryRun)
}

func runPause(cmd *cobra.Command, opts pauseOptions, name string) error {
	done, _, err := opts.setPaused(cmd, name, true)
	if err != nil {
		return err
	}
	text := "paused"
	if !done {
		text = "was paused already"
	}
	fmt.Fprintf(cmd.OutOrStdout(), "corporateproxy.fairlead.io/%s %s%s\n", name, text, suffix(opts.dryRun))
	return nil
}

func runResume(cmd *cobra.Command, opts pauseOptions, name string) error {
	done, proxy, err := opts.setPaused(cmd, name, false)
	if err != nil {
		return err
	}
	bySpec := proxy.Spec.Rollout.Paused
	by := fmt.Sprintf("the ConfigMap %s", revision.ControlName(name))
	switch {
	case bySpec && done:
		return fmt.Errorf("%s does not pause the rollout any more%s, but spec.rollout.paused of CorporateProxy %s does: remove it there, or in the repository that the object comes from", by, suffix(opts.dryRun), name)
	case bySpec:
		return fmt.Errorf("spec.rollout.paused of CorporateProxy %s pauses the rollout: remove it there, or in the repository that the object comes from", name)
	}
	text := "resumed"
	if !done {
		text = "was not paused"
	}
	if state := proxy.Status.Rollout; !done && state != nil && state.Halted {
		text += ", but is halted: repair the clusters that failed, or run fairlead rollout undo " + name
	}
	fmt.Fprintf(cmd.OutOrStdout(), "corporateproxy.fairlead.io/%s %s%s\n", name, text, suffix(opts.dryRun))
	return nil
}

// setPaused says whether anything was to be done, and returns the object, which may say itself that the rollout is paused.
func (o pauseOptions) setPaused(cmd *cobra.Command, name string, paused bool) (done bool, proxy *v1alpha1.CorporateProxy, err error) {
	f, proxy, _, err := o.kept(cmd, name) // with revisions, or it is the wrong namespace
	if err != nil {
		return false, nil, err
	}
	err = f.Command(cmd.Context(), o.namespace, name, o.dryRun == serverDryRun, func(configMap *corev1.ConfigMap) (map[string]any, error) {
		done = f.control(configMap).Paused != paused
		if !done || o.dryRun == clientDryRun {
			return nil, nil
		}
		if paused {
			return map[string]any{revision.PausedKey: "true"}, nil
		}
		return map[string]any{revision.PausedKey: nil}, nil // which removes it
	})
	return done, proxy, err
}
