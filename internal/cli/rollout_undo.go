package cli

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/revision"
	"github.com/fairlead-io/fairlead/internal/core/rollout"
)

type undoOptions struct {
	pauseOptions
	revision int64
	force    bool
}

func rolloutUndoCommand() *cobra.Command {
	var opts undoOptions
	cmd := &cobra.Command{
		Use:   "undo NAME",
		Short: "Reject the newest revision: clusters that have it go back",
		Long: `Reject the newest revision. Clusters that have it go back to what they had, also while
the rollout is paused or halted; the others never get it. A corrected change is a new
revision, and goes through the waves.

It appends the digest of the revision to rejected in the ConfigMap
fairlead-rollout-NAME. To take that back, remove the digest there. If the newest
revision is rejected already, nothing is done: --reject names an earlier one. Unlike kubectl's
--to-revision, that is the revision to leave, not the one to go back to.

It writes nothing and exits with 1 if there is no revision to go back to, or if the
proxy has refused the credentials of one that clusters would go back to (--force does
it all the same). The exit status is 0 if it is rejected, 2 if the command line is
wrong.`,
		Example: `  # what would it do?
  fairlead rollout undo corp --dry-run=client

  fairlead rollout undo corp
  fairlead rollout undo corp --reject 7`,
	}
	opts.command(cmd, func(cmd *cobra.Command, name string) error { return runUndo(cmd, opts, name) })
	check := cmd.PreRunE
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("reject") && opts.revision < 1 {
			return usage(errors.New("--reject is the number of a revision, from 1"))
		}
		return check(cmd, args)
	}
	cmd.Flags().Int64Var(&opts.revision, "reject", 0, "reject this one (default: the newest)")
	cmd.Flags().BoolVar(&opts.force, "force", false, "go back also to credentials that the proxy has refused")
	return cmd
}

func runUndo(cmd *cobra.Command, opts undoOptions, name string) error {
	f, proxy, stored, err := opts.kept(cmd, name)
	if err != nil {
		return err
	}
	rows, err := f.rows(cmd.Context())
	if err != nil {
		return err
	}
	var undo rollout.Undo
	said := ""
	err = f.Command(cmd.Context(), opts.namespace, name, opts.dryRun == serverDryRun, func(configMap *corev1.ConfigMap) (map[string]any, error) {
		control := f.control(configMap)
		var err error
		if undo, err = rollout.UndoOf(name, rollout.Known(stored, proxy.Status.Revisions, control), rows, opts.revision); err != nil {
			return nil, fmt.Errorf("CorporateProxy %s: %w", name, err)
		}
		if refused := undo.Refused(accounts(stored), proxy.Status.Credentials); len(refused) > 0 && !undo.Already && !opts.force {
			return nil, refusedError(name, undo, refused)
		}
		if text := string(undoText(undo)); text != said {
			said = text
			fmt.Fprint(cmd.OutOrStdout(), text)
		}
		if undo.Already || opts.dryRun == clientDryRun {
			return nil, nil
		}
		return map[string]any{revision.RejectedKey: strings.Join(append(control.Rejected, undo.Reject.Digest), " ")}, nil
	})
	if err == nil && !undo.Already {
		fmt.Fprintf(cmd.OutOrStdout(), "corporateproxy.fairlead.io/%s: revision %d rejected%s\n", name, undo.Reject.Number, suffix(opts.dryRun))
	}
	return err
}

func accounts(stored []revision.Public) []rollout.Account {
	all := make([]rollout.Account, len(stored))
	for i, p := range stored {
		all[i] = rollout.Account{Revision: p.Number, Current: p.Credentials, Previous: p.Previous}
	}
	return all
}

func refusedError(name string, undo rollout.Undo, refused []int64) error {
	return fmt.Errorf("CorporateProxy %s: the proxy has refused the credentials of revision %s, which clusters would go back to from revision %d; nothing is done without --force",
		name, numbers(refused), undo.Reject.Number)
}

func numbers(all []int64) string {
	texts := make([]string, len(all))
	for i, n := range all {
		texts[i] = fmt.Sprint(n)
	}
	return strings.Join(texts, ", ")
}

// undoText says what happens.
func undoText(undo rollout.Undo) []byte {
	var text bytes.Buffer
	r := undo.Reject.Number
	if undo.Already {
		fmt.Fprintf(&text, "Revision %d is rejected already.\n", r)
	}
	back := 0
	for _, to := range undo.Back {
		back += len(to.Clusters)
		fmt.Fprintf(&text, "%s will go back from revision %d to revision %d: %s\n", terminal.Plural(len(to.Clusters), "cluster"), r, to.To, short(to.Clusters))
	}
	switch {
	case back == 0:
		fmt.Fprintf(&text, "No cluster has revision %d.\n", r)
	case slices.ContainsFunc(undo.Back, func(b rollout.Return) bool { return b.To != undo.Target.Number }):
		fmt.Fprintf(&text, "After that, revision %d will go through the waves.\n", undo.Target.Number)
	}
	return text.Bytes()
}
