package cli

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fairlead-io/fairlead/internal/core/bundle"
)

type bundleOptions struct {
	files                     []string
	recursive                 bool
	name, namespace, selector string
}

func renderBundleCommand() *cobra.Command {
	var opts bundleOptions
	cmd := &cobra.Command{
		Use:   "bundle -f FILE… --selector LABELS",
		Short: "Print a rendered chart as ClusterResourceSets, by which Cluster API installs it",
		Long: `Print a rendered chart as ClusterResourceSets, by which Cluster API installs it in
the workload cluster of each Cluster that --selector selects.

The objects are in ConfigMaps, and Secrets in Secrets, each below 1 MiB. Namespaces,
and ConfigMaps without data, which a program fills, are in a set of their own, and are
applied once; all else is applied again when the bundle changes. Cluster API deletes nothing that is gone from a bundle. Hooks of
Helm are left out, with a warning.

A bundle is the same for all its clusters. So it refuses an object with the URL of
a proxy, or another URL with a user, and policies that set no proxy: render fairlead-policies with
source.existing=true, and the settings come by fairlead-operator deliver.

The same input is printed as the same bytes.`,
		Example: `  # each Cluster that deliver brings its settings to gets the policies, too
  helm template fairlead-policies charts/fairlead-policies --namespace fairlead-system --set engine=Native --set source.existing=true | \
    fairlead render bundle -f - --selector fairlead.io/cluster --namespace org-acme | kubectl apply --server-side -f -

  # for one kind of cluster
  fairlead render bundle -f rendered.yaml --selector proxied=yes,tier=prod --name fairlead-prod`,
		Args: noArguments,
		PreRunE: func(*cobra.Command, []string) error {
			_, err := opts.read()
			return usage(err)
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runBundle(cmd, opts) },
	}
	flags := cmd.Flags()
	filenameFlag(cmd, &opts.files, "manifests, as helm template prints them, a folder of them, or - for stdin; may be repeated")
	recursiveFlag(flags, &opts.recursive)
	flags.StringVarP(&opts.selector, "selector", "l", "", "labels of the Clusters, as kubectl's --selector")
	flags.StringVarP(&opts.namespace, "namespace", "n", "", "namespace of the Clusters (default: the one where it is applied)")
	flags.StringVar(&opts.name, "name", "fairlead-software", "what the names of what is printed begin with")
	return cmd
}

// longestSuffix is the length of the longest text that is added to the name.
const longestSuffix = len("-namespace-99")

func (o bundleOptions) read() (bundle.Options, error) {
	options := bundle.Options{Name: o.name, Namespace: o.namespace}
	selector, err := metav1.ParseToLabelSelector(o.selector)
	switch {
	case len(o.files) == 0:
		return options, errors.New("-f is missing: manifests, or - for stdin")
	case strings.TrimSpace(o.selector) == "":
		return options, errors.New("--selector is missing: labels of the Clusters that get it; without one, no Cluster would")
	case err != nil:
		return options, fmt.Errorf("--selector: %w", err)
	}
	options.Selector = *selector
	return options, cmp.Or(label("--name", o.name+strings.Repeat("x", longestSuffix)), label("--namespace", cmp.Or(o.namespace, "x")), oneStdin(o.files))
}

// label returns an error unless the name is a DNS label.
func label(flag, name string) error {
	if problems := validation.IsDNS1123Label(name); len(problems) > 0 {
		return fmt.Errorf("%s: %s", flag, problems[0])
	}
	return nil
}

func runBundle(cmd *cobra.Command, opts bundleOptions) error {
	options, err := opts.read()
	if err != nil {
		return err
	}
	documents, err := readDocuments(opts.files, opts.recursive, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	printed, err := bundle.Make(documents, options)
	if err != nil {
		return err
	}
	for _, hook := range printed.Dropped {
		fmt.Fprintf(cmd.ErrOrStderr(), "warning: %s is left out: it is a hook of Helm\n", hook)
	}
	_, err = cmd.OutOrStdout().Write(printed.Text)
	return err
}
