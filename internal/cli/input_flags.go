package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/fairlead-io/fairlead/internal/cli/cluster"
)

// offline are the flags that say how a cluster is asked, which nobody does where files are read.
var offline = []string{"kubeconfig", "context", "request-timeout"}

// clusterFlags adds kubectl's flags for the cluster that is asked, and the namespace.
func clusterFlags(cmd *cobra.Command, into *cluster.Options) {
	flags := cmd.Flags()
	flags.StringVarP(&into.Namespace, "namespace", "n", "", "namespace (default: the context's). With -f: only this one, and objects without one")
	flags.StringVar(&into.Kubeconfig, "kubeconfig", "", "kubeconfig file (default: as kubectl)")
	flags.StringVar(&into.Context, "context", "", "context of the kubeconfig")
	flags.StringVar(&into.Timeout, "request-timeout", "0", "limit of one request: 1s, 2m, 3h; 0 for none")
}

// allNamespacesFlag is for the verbs that list.
func allNamespacesFlag(cmd *cobra.Command, into *cluster.Options) {
	cmd.Flags().BoolVarP(&into.AllNamespaces, "all-namespaces", "A", false, "all namespaces")
}

// checkCluster checks what clusterFlags set.
func checkCluster(cmd *cobra.Command, opts cluster.Options, files bool) error {
	if files && slices.ContainsFunc(offline, cmd.Flags().Changed) {
		return errors.New("-f reads files: it takes no --kubeconfig, --context or --request-timeout")
	}
	return opts.Check()
}

// filenameFlag adds -f.
func filenameFlag(cmd *cobra.Command, into *[]string, usage string) {
	cmd.Flags().StringSliceVarP(into, "filename", "f", nil, usage)
}

// recursiveFlag adds -R.
func recursiveFlag(flags *pflag.FlagSet, into *bool) {
	flags.BoolVarP(into, "recursive", "R", false, "include subfolders")
}
