package cli

import (
	"errors"
	"slices"

	"github.com/spf13/cobra"

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

// inNamespace leaves out what is of another namespace. What names none may be of any.
func inNamespace(documents []document, namespace string) []document {
	return slices.DeleteFunc(documents, func(d document) bool {
		return namespace != "" && d.object.GetNamespace() != "" && d.object.GetNamespace() != namespace
	})
}
