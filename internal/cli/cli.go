// Package cli is the command fairlead: one file per verb. The verbs read files
// and call the same pure packages as the operator; only status, nodes, pods, doctor, plan,
// rollout and wire ask a cluster.
package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/version"
	"github.com/fairlead-io/fairlead/noproxy"
)

// Exit statuses.
const (
	exitOK      = 0
	exitFailure = 1 // the input says something that cannot be
	exitUsage   = 2 // the command line does
	exitUnmet   = 3 // plan: an expectation is not met; doctor cluster: nobody can tell
)

// errQuiet ends a verb with exitFailure when its output has said why.
var errQuiet = errors.New("the output says why")

type usageError struct{ error }

// exitError ends a verb with exitUsage, where exitFailure is an answer.
type exitError struct{ error }

// Run runs fairlead with these arguments and returns its exit status.
func Run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := Command()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	nameProgram(root, os.Args[0])
	cmd, err := root.ExecuteC()
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errUnmet), errors.Is(err, errCannotTell):
		return exitUnmet
	case errors.Is(err, errQuiet):
		return exitFailure
	}
	fmt.Fprintln(stderr, "fairlead:", userInfo.ReplaceAllString(err.Error(), "://***@"))
	var exit exitError
	if errors.As(err, &exit) {
		return exitUsage
	}
	var usage usageError
	if errors.As(err, &usage) {
		fmt.Fprintf(stderr, "See '%s --help'.\n", cmd.CommandPath())
		return exitUsage
	}
	return exitFailure
}

// userInfo matches the user information of a URL. Errors, also of libraries, repeat what somebody typed in a wrong place.
var userInfo = regexp.MustCompile(`://\S*@`)

// Command is fairlead with all its verbs.
func Command() *cobra.Command {
	root := &cobra.Command{
		Use:   "fairlead",
		Short: "Show and check the proxy settings of a Cluster API fleet",
		Long: `Show and check the proxy settings of a Cluster API fleet.

Results are on standard output, errors and warnings on standard error. Only
rollout, wire, doctor cluster, plan -f, plan --upgrade, and status, nodes, pods and
doctor tunnel without files, ask a cluster. Only rollout pause, resume and undo, and wire
--yes, write to one.

Exit status:
  0  success
  1  findings that --fail-on names (default: errors of lint and doctor), a failed
     expectation of explain --check or probe, what plan, wire or import --compare
     shows, or an error
  2  the command line is wrong; lint, explain, doctor, probe: or a file is; doctor
     cluster, plan, wire, import --compare: any error
  3  plan: an expectation of --expect is not met; doctor cluster: nobody can tell`,
		Example: `  fairlead render --values secret-values.yaml --cluster cluster.yaml
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o noproxy
  fairlead explain kubernetes.default.svc --values secret-values.yaml --cluster cluster.yaml`,
		Args:              verbs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceUsage:      true,
		SilenceErrors:     true,
		Version:           version.Version, // --version
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(suggestFlag(cmd, err)) })
	root.AddCommand(
		renderCommand(), lintCommand(), explainCommand(), planCommand(), rolloutCommand(), clientsCommand(), nodesCommand(), podsCommand(),
		statusCommand(), mutateCommand(), doctorCommand(), probeCommand(), wireCommand(), importCommand(),
		completionCommand(), versionCommand(),
	)
	root.InitDefaultHelpCmd()
	if help, _, err := root.Find([]string{"help"}); err == nil {
		help.Example = "  fairlead help render"
	}
	completeFlags(root)
	return root
}

// Plugin is how a program is named that kubectl runs as one of its own verbs.
const plugin = "kubectl-"

var ownName = regexp.MustCompile(`(?m)(^  |[|(] ?|')fairlead( |')`)

// nameProgram makes every help text show the command as it was typed: "kubectl fairlead" where kubectl found the
// program.
func nameProgram(root *cobra.Command, path string) {
	name := strings.TrimSuffix(filepath.Base(path), ".exe")
	if !strings.HasPrefix(name, plugin) {
		return
	}
	typed := "kubectl " + strings.ReplaceAll(strings.TrimPrefix(name, plugin), "-", " ")
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: typed}
	walk(root, func(cmd *cobra.Command) {
		cmd.Example = ownName.ReplaceAllString(cmd.Example, "${1}"+typed+"${2}")
	})
}

func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, below := range cmd.Commands() {
		walk(below, visit)
	}
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

// verbs is for commands whose arguments can only be verbs that they do not have. What was typed may be a proxy's URL.
func verbs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usage(fmt.Errorf("unknown command %q for %q%s", terminal.Shortened(noproxy.Redacted(args[0])), cmd.CommandPath(), meant(cmd, args[0], "")))
}

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
