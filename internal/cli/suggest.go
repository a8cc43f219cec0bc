package cli

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// verbs is for commands whose arguments can only be verbs that they do not have. What was typed may be a proxy's URL.
func verbs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(fmt.Errorf("unknown command %q for %q%s", terminal.Shortened(noproxy.Redacted(args[0])), cmd.CommandPath(), meant(cmd, args[0], "")))
}

// suggestFlag adds the flag that may have been meant.
func suggestFlag(cmd *cobra.Command, err error) error {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) {
		return err
	}
	flags := &cobra.Command{} // whose verbs are the flags: cobra compares the names of verbs only
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		flags.AddCommand(&cobra.Command{Use: flag.Name, Run: func(*cobra.Command, []string) {}})
	})
	return fmt.Errorf("%w%s", err, meant(flags, unknown.GetSpecifiedName(), "--"))
}

func meant(cmd *cobra.Command, typed, prefix string) string {
	if cmd.SuggestionsMinimumDistance == 0 {
		cmd.SuggestionsMinimumDistance = 2 // as cobra does
	}
	near := cmd.SuggestionsFor(typed)
	if len(near) == 0 || len(typed) < 2 {
		return ""
	}
	return "; did you mean " + prefix + strings.Join(near, " or "+prefix) + "?"
}
