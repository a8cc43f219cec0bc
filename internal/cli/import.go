package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/cli/fleet"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/importing"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/lint"
)

type importOptions struct {
	files, clusters []string
	recursive       bool
	from, name      string
	namespace       string
	compare         bool
	output          string
}

var (
	importOutputs = []string{"yaml", "json"}
	compareOnly   = []string{tableOutput, wideOutput, jsonPath}
)

const importHelp = `Make Fairlead's objects of another system's proxy settings: a CorporateProxy, and a
ProxyOverride for each cluster with entries of its own.

If a URL has user information, the output has a Secret with the password: redirect it
into a file that only you can read, or into kubectl or kubeseal. Nothing else shows it.

The report on standard error says of each setting whether it was understood, is not
supported, or was not recognised. Entries that Fairlead derives are left out; with
--cluster these include the networks and the endpoint of your Clusters.

The content of a file says what it is; --from tells it where that is not clear:

  openshift         Proxy/cluster, best as oc get prints it
  eks-anywhere      Cluster, with its datacenter configuration
  caren             Cluster with the variable clusterConfig
  tkg               configuration file, Cluster with the variable proxy,
                    TanzuKubernetesCluster, TkgServiceConfiguration
  rke2              environment of RKE2 or K3s
  aks               httpProxyConfig, best as az aks show prints it
  arc               command line of az connectedk8s
  drop-in           part of a systemd unit
  environment-file  EnvironmentFile of systemd, /etc/environment
  cluster-apps-operator, kyverno-policies-connectivity
                    their Helm values

--compare prints no objects. It asks every client about every URL that the two lists
may decide about, with what the other system sets, including what it adds by itself,
and with what Fairlead would write for the Cluster. As with kubectl diff, the exit
status is 0 if all decide alike, 1 if not, and 2 for an error. Without --compare it is
0, or 1 for an error.`

const importExample = `  fairlead import -f proxy.yaml > fairlead.yaml

  # what would change for a cluster
  fairlead import -f http-proxy.conf --cluster cluster.yaml --compare

  kubectl get proxies.config.openshift.io cluster -o yaml | fairlead import -f - --cluster cluster.yaml --compare -o wide`

func importCommand() *cobra.Command {
	var opts importOptions
	cmd := &cobra.Command{
		Use:     "import -f FILE… [--from FORMAT] [--cluster FILE] [--compare]",
		Short:   "Make Fairlead's objects of another system's proxy settings",
		Long:    importHelp,
		Example: importExample,
		Args:    noArguments,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			if opts.compare && !cmd.Flags().Changed("output") {
				opts.output = tableOutput
			}
			return usage(opts.check())
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !opts.compare {
				return runImport(cmd, opts)
			}
			err := runCompare(cmd, opts)
			if err == nil || errors.Is(err, errQuiet) {
				return err
			}
			return exitError{err} // status 1 is an answer
		},
	}
	opts.flags(cmd)
	return cmd
}

func (o *importOptions) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	filenameFlag(cmd, &o.files, "settings of the other system, a folder of them, or - for stdin; may be repeated")
	complete(cmd, "filename", anyFile)
	flags.StringArrayVar(&o.clusters, "cluster", nil, "Clusters, file or folder; may be repeated")
	recursiveFlag(flags, &o.recursive)
	flags.StringVar(&o.from, "from", "", "format of the files (default: what their content says): one of "+strings.Join(importing.Names(), ", "))
	complete(cmd, "from", fixed(importing.Names()...))
	flags.StringVar(&o.name, "name", "default", "name of the CorporateProxy")
	operatorNamespaceFlag(cmd, &o.namespace)
	flags.BoolVar(&o.compare, "compare", false, "print what clients would decide otherwise, instead of objects")
	outputFlag(cmd, &o.output, importOutputs[0], slices.Concat(importOutputs, compareOnly))
	flags.Lookup("output").Usage += ": table (its default), wide and jsonpath= with --compare"
}

func (o importOptions) check() error {
	all := importOutputs
	if o.compare {
		all = slices.Concat(compareOnly, importOutputs)
	}
	switch {
	case len(o.files) == 0:
		return errors.New("-f is missing: settings of another system, or - for stdin")
	case o.from != "" && !slices.Contains(importing.Names(), o.from):
		return oneOf("--from", o.from, importing.Names())
	}
	return cmp.Or(oneStdin(append(slices.Clone(o.files), o.clusters...)), checkOutput(o.output, all), label("--name", o.name), label("--operator-namespace", o.namespace))
}

// imported is the result of reading and joining the files.
type imported struct {
	settings  []importing.Settings
	documents []document.Document // of --cluster
	clusters  []*clusterv1.Cluster
	joined    importing.Import
}

func (o importOptions) read(stdin io.Reader, warnings io.Writer) (imported, error) {
	var in imported
	names, err := inFolders(o.files, o.recursive)
	if err != nil {
		return in, err
	}
	for _, name := range names {
		data, err := readFile(name, stdin)
		if err != nil {
			return in, err
		}
		settings, err := importing.Read(name, data, o.from)
		if err != nil {
			return in, err
		}
		in.settings = append(in.settings, settings...)
	}
	if in.documents, err = readDocuments(o.clusters, o.recursive, stdin, warnings); err != nil {
		return in, err
	}
	if in.clusters, err = document.Clusters(in.documents, warnings); err != nil {
		return in, err
	}
	for _, c := range in.clusters {
		c.APIVersion, c.Kind = clusterv1.GroupVersion.String(), "Cluster" // which a converted one lacks
	}
	if len(o.clusters) > 0 && len(in.clusters) == 0 {
		return in, fmt.Errorf("%s: no Cluster of cluster.x-k8s.io in it", strings.Join(o.clusters, ", "))
	}
	in.joined, err = importing.Join(in.settings, in.clusters)
	return in, err
}

func runImport(cmd *cobra.Command, opts importOptions) error {
	in, err := opts.read(cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	text, err := manifestsText(in.joined.Manifests(opts.name, opts.namespace), opts.output)
	if err != nil {
		return err
	}
	report(cmd.ErrOrStderr(), in.joined.Lines)
	if err := in.lint(opts, cmd.ErrOrStderr()); err != nil {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: fairlead lint stops at an error:", terminal.ASCII(err.Error()))
	}
	if !cmd.Flags().Changed("name") {
		fmt.Fprintln(cmd.ErrOrStderr(), "warning: --name is default, which is also the chart's: kubectl apply would replace that one")
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "CorporateProxy %s selects every Cluster: set spec.clusterSelector, if it is for some only\n", opts.name)
	_, err = cmd.OutOrStdout().Write(text)
	return err
}

// manifestsText is documents of YAML, or a List as kubectl prints it.
func manifestsText(manifests []importing.Manifest, output string) ([]byte, error) {
	if output == "json" {
		text, err := json.MarshalIndent(map[string]any{"apiVersion": "v1", "kind": "List", "items": manifests}, "", "  ")
		return append(text, '\n'), err
	}
	var text bytes.Buffer
	for i, m := range manifests {
		content, err := yaml.Marshal(m)
		if err != nil {
			return nil, err
		}
		if i > 0 {
			text.WriteString("---\n")
		}
		text.Write(content)
	}
	return text.Bytes(), nil
}

func report(out io.Writer, lines []importing.Line) {
	counts := map[importing.Verdict]int{}
	for _, l := range lines {
		counts[l.Verdict]++
		fmt.Fprintln(out, terminal.ASCII(l.String()))
	}
	fmt.Fprintf(out, "%d %s, %d %s, %d %s\n", counts[importing.Understood], importing.Understood,
		counts[importing.NotSupported], importing.NotSupported, counts[importing.NotRecognised], importing.NotRecognised)
}

func runCompare(cmd *cobra.Command, opts importOptions) error {
	in, err := opts.read(cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	all, err := in.compare(opts, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	report(cmd.ErrOrStderr(), in.joined.Lines)
	if err := printFound(cmd.OutOrStdout(), opts.output, all, func(s terminal.Style) []byte { return comparedText(s, all, opts.output == wideOutput) }); err != nil {
		return err
	}
	if slices.ContainsFunc(all, func(c importing.Comparison) bool { return !c.Same }) {
		return errQuiet
	}
	return nil
}

// readable is the import as the other verbs read it.
type readable struct {
	documents []document.Document
	choice    fleet.Choice
}

func (in imported) readable(opts importOptions) (r readable, err error) {
	text, err := manifestsText(importing.Readable(in.joined.Manifests(opts.name, opts.namespace)), "yaml")
	if err != nil {
		return r, err
	}
	if r.documents, err = document.Parse("the import", text); err != nil {
		return r, err
	}
	r.choice, err = fleet.Proxies("the import", r.documents, time.Now())
	return r, err
}

// lint names what fairlead lint finds for the Clusters of --cluster.
func (in imported) lint(opts importOptions, out io.Writer) error {
	objects, err := in.readable(opts)
	if err != nil {
		return err
	}
	for _, c := range in.clusters {
		f, err := in.fleet(c, objects, io.Discard)
		if err != nil {
			return err
		}
		linted, err := f.Lint(time.Now().Unix(), io.Discard)
		if err != nil {
			return err
		}
		var found []string
		for _, finding := range linted[0].Findings {
			if says := fmt.Sprintf("%s %s", finding.Severity, finding.Code); finding.Severity != lint.Info && !slices.Contains(found, says) {
				found = append(found, says)
			}
		}
		if len(found) > 0 {
			fmt.Fprintf(out, "fairlead lint finds for Cluster %s: %s\n", linted[0].Cluster, strings.Join(found, ", "))
		}
	}
	return nil
}

// compare resolves the objects as render does.
func (in imported) compare(opts importOptions, warnings io.Writer) ([]importing.Comparison, error) {
	objects, err := in.readable(opts)
	if err != nil {
		return nil, err
	}
	var all []importing.Comparison
	for i, s := range in.settings {
		clusters := importing.Clusters(in.settings[i:i+1], in.clusters)
		if len(clusters) == 0 {
			return nil, fmt.Errorf("%s: does not say for which cluster it is: --compare needs --cluster with your Cluster", s.Place.File)
		}
		for _, c := range clusters {
			f, err := in.fleet(c, objects, warnings)
			if err != nil {
				return nil, err
			}
			effective, err := f.Resolve(f.Clusters[0], warnings)
			if err != nil {
				return nil, err
			}
			all = append(all, importing.Compare(s, inputs.Cluster(c), effective))
		}
	}
	return all, nil
}

// fleet has one cluster.
func (in imported) fleet(c *clusterv1.Cluster, objects readable, warnings io.Writer) (*fleet.Fleet, error) {
	text, err := yaml.Marshal(c)
	if err != nil {
		return nil, err
	}
	documents, err := document.Parse("the settings", text)
	if err != nil {
		return nil, err
	}
	own := slices.DeleteFunc(slices.Clone(objects.documents), func(d document.Document) bool {
		return d.Object.GetKind() != "ProxyOverride" || d.Object.GetName() != c.Name || d.Object.GetNamespace() != c.Namespace
	})
	beside := slices.DeleteFunc(slices.Clone(in.documents), func(d document.Document) bool { return d.Object.GetKind() == "Cluster" })
	return fleet.New(objects.choice, "the settings", append(documents, beside...), own, "", warnings)
}
