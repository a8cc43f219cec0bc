// Package cli is the command fairlead: one file per verb. The verbs read files
// and call the same pure packages as the operator; only nodes, pods and doctor can
// ask a cluster.
package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/operator/internal/version"
)

// Exit statuses.
const (
	exitOK      = 0
	exitFailure = 1 // the input says something that cannot be
	exitUsage   = 2 // the command line does
)

// quietError ends a verb with a status when its output has said why.
type quietError struct{ status int }

func (e quietError) Error() string { return fmt.Sprint("status ", e.status) }

// usageError marks an error of the command line.
type usageError struct{ error }

// Run runs fairlead with these arguments and returns its exit status.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := Command()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.Execute()
	if err == nil {
		return exitOK
	}
	var quiet quietError
	if errors.As(err, &quiet) {
		return quiet.status
	}
	fmt.Fprintln(stderr, "fairlead:", err)
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintln(stderr, "See 'fairlead --help'.")
		return exitUsage
	}
	return exitFailure
}

// Command is fairlead with all its verbs.
func Command() *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Proxy settings of a Cluster API fleet: what the operator writes, without a cluster",
		Example: `  fairlead render --values secret-values.yaml --cluster cluster.yaml
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o noproxy
  fairlead explain kubernetes.default.svc --values secret-values.yaml --cluster cluster.yaml`,
		Args:          func(cmd *cobra.Command, args []string) error { return usage(cobra.NoArgs(cmd, args)) },
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usage(err) })
	root.AddCommand(
		renderCommand(), lintCommand(), explainCommand(), nodesCommand(), podsCommand(), mutateCommand(), doctorCommand(), versionCommand(),
	)
	return root
}

func usage(err error) error {
	if err == nil {
		return nil
	}
	return usageError{err}
}

// noArguments does not repeat the arguments: one may be a proxy's URL.
func noArguments(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage(fmt.Errorf("%s takes no arguments, only flags", cmd.CommandPath()))
	}
	return nil
}

func versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  fairlead version",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			_, err := fmt.Fprintln(cmd.OutOrStdout(), version.Version)
			return err
		},
	}
}
