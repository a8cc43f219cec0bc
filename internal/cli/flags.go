package cli

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/agents/pods"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

// offline are the flags that say how a cluster is asked, which nobody does where files are read.
var offline = []string{"kubeconfig", "context", "request-timeout"}

// clusterFlags adds kubectl's flags for the cluster that is asked, and the namespace.
func clusterFlags(cmd *cobra.Command, into *cluster.Options) {
	cmd.Flags().StringVarP(&into.Namespace, "namespace", "n", "", "namespace (default: the context's). With -f: only this one, and objects without one")
	connectionFlags(cmd, into)
}

// connectionFlags are the flags without the namespace.
func connectionFlags(cmd *cobra.Command, into *cluster.Options) {
	flags := cmd.Flags()
	flags.StringVar(&into.Kubeconfig, "kubeconfig", "", "kubeconfig file (default: as kubectl)")
	flags.StringVar(&into.Context, "context", "", "context of the kubeconfig")
	flags.StringVar(&into.Timeout, "request-timeout", "0", "limit of one request: 1s, 2m, 3h; 0 for none")
}

// listOptions are the options of the verbs that list objects of a cluster or of files.
type listOptions struct {
	cluster.Options
	files          []string
	recursive      bool
	output, failOn string
}

func (o *listOptions) flags(cmd *cobra.Command, files string, outputs []string) {
	clusterFlags(cmd, &o.Options)
	cmd.Flags().BoolVarP(&o.AllNamespaces, "all-namespaces", "A", false, "all namespaces")
	filenameFlag(cmd, &o.files, files)
	recursiveFlag(cmd.Flags(), &o.recursive)
	outputFlag(cmd, &o.output, tableOutput, outputs)
}

// oneOptions are the options of the verbs that are about one Cluster of a management cluster.
type oneOptions struct {
	cluster.Options
	operatorNamespace string
	output            string
}

// command has the verb run with the name of a Cluster, once check and the flags of all such verbs are right.
func (o *oneOptions) command(cmd *cobra.Command, check func() error, run func(*cobra.Command, string) error) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = oneName("Cluster"), completeClusters
	cmd.PreRunE = func(_ *cobra.Command, args []string) error {
		_, err := clusterName(args[0])
		return usage(cmp.Or(check(), checkOperatorNamespace(o.operatorNamespace), err, o.Check(), checkOutput(o.output, dataOutputs)))
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, _ := clusterName(args[0])
		return run(cmd, name)
	}
	cmd.Flags().StringVarP(&o.Namespace, "namespace", "n", "", "namespace of the Cluster (default: the context's)")
	connectionFlags(cmd, &o.Options)
	operatorNamespaceFlag(cmd, &o.operatorNamespace)
	outputFlag(cmd, &o.output, tableOutput, dataOutputs)
	return cmd
}

// oneName takes the name of one object. Its error does not repeat the arguments: one may be a proxy's URL.
func oneName(kind string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != 1 || args[0] == "" {
			return usage(fmt.Errorf("%s takes the name of one %s", cmd.CommandPath(), kind))
		}
		return nil
	}
}

// operatorNamespace is where the chart installs the operator.
const operatorNamespace = "fairlead-system"

func operatorNamespaceFlag(cmd *cobra.Command, into *string) {
	cmd.Flags().StringVar(into, "operator-namespace", operatorNamespace, "namespace of the operator")
}

func checkOperatorNamespace(given string) error {
	if given == "" {
		return errors.New("--operator-namespace is not empty")
	}
	return nil
}

func checkCluster(cmd *cobra.Command, opts cluster.Options, files bool) error {
	if files && slices.ContainsFunc(offline, cmd.Flags().Changed) {
		return errors.New("-f reads files: it takes no --kubeconfig, --context or --request-timeout")
	}
	return opts.Check()
}

func filenameFlag(cmd *cobra.Command, into *[]string, usage string) {
	cmd.Flags().StringSliceVarP(into, "filename", "f", nil, usage)
}

func recursiveFlag(flags *pflag.FlagSet, into *bool) {
	flags.BoolVarP(into, "recursive", "R", false, "include subfolders")
}

func oneOf(flag, given string, all []string) error {
	if slices.Contains(all, given) {
		return nil
	}
	return fmt.Errorf("%s is one of %s, not %q", flag, strings.Join(all, ", "), given)
}

// oneStdin refuses a second file that is standard input.
func oneStdin(files []string) error {
	if at := slices.Index(files, "-"); at >= 0 && slices.Contains(files[at+1:], "-") {
		return errors.New("only one file can be standard input (-)")
	}
	return nil
}

// never is the value of --fail-on with which findings do not change the exit status. Every verb takes it.
const never = "never"

// What --fail-on takes, spelled as the output has it.
var (
	severities       = []string{string(lint.Error), string(lint.Warning), string(lint.Info), never}
	failExplain      = []string{"disagreement", never}
	failNodes        = []string{"outdated", never}
	failPods         = slices.Concat(texts([]pods.Class{pods.Password, pods.Outdated, pods.Uninjected}), texts(pods.Reasons), []string{never})
	severityFailedOn = "exit with 1 for this severity or worse: " + strings.Join(severities, ", ")
)

func failOnFlag(cmd *cobra.Command, into *string, standard, usage string, all []string) {
	cmd.Flags().StringVar(into, "fail-on", standard, usage)
	complete(cmd, "fail-on", fixed(all...))
}

// checkFailOn refuses a value outside the list, and spells the others as the list does: scripts may write error for
// Error.
func checkFailOn(given *string, all []string) error { return anyCase("--fail-on", given, all) }

func anyCase(flag string, given *string, all []string) error {
	at := find(all, *given)
	if at < 0 {
		return oneOf(flag, *given, all)
	}
	*given = all[at]
	return nil
}

func find(all []string, given string) int {
	return slices.IndexFunc(all, func(one string) bool { return strings.EqualFold(one, given) })
}

// severe says whether the worst of the findings is one that --fail-on names.
func severe(worst lint.Severity, failOn string) bool {
	return worst != "" && failOn != never && slices.Index(severities, string(worst)) <= slices.Index(severities, failOn)
}

// checkFailOnPods takes several, with commas.
func checkFailOnPods(given string) ([]string, error) {
	var chosen []string
	for one := range strings.SplitSeq(given, ",") {
		at := find(failPods, one)
		if at < 0 {
			return nil, fmt.Errorf("--fail-on has one of %s, not %q", strings.Join(failPods, ", "), one)
		}
		chosen = append(chosen, failPods[at])
	}
	if len(chosen) > 1 && slices.Contains(chosen, never) {
		return nil, errors.New("--fail-on: " + never + " stands alone")
	}
	return chosen, nil
}
