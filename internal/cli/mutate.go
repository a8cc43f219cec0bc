package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/agents/mutation"
)

type mutateOptions struct {
	renderOptions
	files        []string
	policyValues []string
	policies     []string
	carry        string
	namespace    string
	exclude      bool
	require      bool
}

var (
	mutateOutputs = []string{"manifests", "policies"}
	carries       = []string{mutation.CarrySecretRef, mutation.CarryLiteral}
)

func mutateCommand() *cobra.Command {
	var opts mutateOptions
	cmd := &cobra.Command{
		Use:   "mutate [-f FILE…] [--values FILE | --proxy FILE] [--cluster FILE] [--policy-values FILE…]",
		Short: "Do to manifests what the policies of tunnels do to pods",
		Long: `Do to manifests what the policies of tunnels do to pods: for agents that no webhook
sees, because the webhook is reached through them, and for clusters without policies.

Pods, and the pod templates of Deployments, DaemonSets, StatefulSets, ReplicaSets,
Jobs and CronJobs are changed, also within a List or a ManifestWork; everything else
comes out as it went in, to the byte. What is evaluated are the policies themselves,
with the values of the chart fairlead-policies (--policy-values, as helm's --values).
The settings of a cluster (--values or --proxy, and --cluster, as with render) stand
below those. They are needed where the proxy speaks TLS itself, and with --carry Literal.

Where the API server reaches the policies' webhook through the tunnel, its agent is still
refused while nobody answers there: --exclude-from-admission labels its pods, so that
nobody is asked about them.

Standard error has a statement for each workload that a policy is for: what was
changed, what was not, and why. The exit status is 0, also if there was nothing to do;
1 if something cannot be read or evaluated; 2 if the command line is wrong. Then
nothing is printed: kubectl apply behind a pipe must not get agents without a proxy.
No password is printed, except with --carry Literal, into the manifests.`,
		Example: `  # konnectivity-agent, before it is applied
  fairlead mutate -f konnectivity-agent.yaml --values secret-values.yaml --cluster cluster.yaml | kubectl apply -f -

  # the same, where the API server reaches the policies through konnectivity
  fairlead mutate -f konnectivity-agent.yaml --exclude-from-admission | kubectl apply -f -

  # a chart's manifests
  helm template rancher-agent … | fairlead mutate --policy-values fairlead-policies.yaml

  # where no replicator keeps the Secret fairlead-proxy: with the values themselves, password included
  fairlead mutate -f agent.yaml --values secret-values.yaml --cluster cluster.yaml --carry Literal

  # one family of agents alone, and fail if there is none
  fairlead mutate -f agent.yaml --policy tunnel-frpc --require

  # what would be applied
  fairlead mutate -o policies --policy-values fairlead-policies.yaml`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.checkMutate(); err != nil {
				return usage(err)
			}
			return runMutate(cmd, opts)
		},
	}
	flags := cmd.Flags()
	opts.inputFlags(flags)
	filenameFlag(cmd, &opts.files, "manifests, or a folder with them, may be repeated; standard input if there is none, or for -")
	flags.StringVarP(&opts.namespace, "namespace", "n", "", "namespace of what names none, as kubectl apply -n")
	flags.StringArrayVar(&opts.policyValues, "policy-values", nil, "values of the chart fairlead-policies, may be repeated")
	flags.StringVar(&opts.carry, "carry", "", "instead of the values' carry: "+strings.Join(carries, ", "))
	flags.StringArrayVar(&opts.policies, "policy", nil, "only this policy, may be repeated; all of tunnels if there is none")
	flags.BoolVar(&opts.exclude, "exclude-from-admission", false, "label the pods of agents "+excludeKey+"=exclude: no policy is asked about them")
	flags.BoolVar(&opts.require, "require", false, "exit with 1 if no workload is one of an agent")
	outputFlag(cmd, &opts.output, "manifests", mutateOutputs)
	return cmd
}

func (o *mutateOptions) checkMutate() error {
	if len(o.files) == 0 && o.output != "policies" {
		o.files = []string{"-"}
	}
	switch {
	case !slices.Contains(mutateOutputs, o.output):
		return checkOutput(o.output, mutateOutputs)
	case o.output == "policies" && (len(o.files) > 0 || o.require || o.exclude):
		return errors.New("-o policies prints what would be applied: it takes no -f, no --require and no --exclude-from-admission")
	case o.carry != "" && !slices.Contains(carries, o.carry):
		return fmt.Errorf("--carry is one of %s, not %q", strings.Join(carries, ", "), o.carry)
	}
	if o.hasSettings() {
		if err := o.checkInputs(); err != nil {
			return err
		}
	}
	all := slices.Concat(o.files, o.policyValues, o.clusters, o.override, []string{o.values, o.proxy})
	if len(all)-len(slices.DeleteFunc(all, func(f string) bool { return f == "-" })) > 1 {
		return errors.New("only one file can be standard input (-); -f is, if it is not given")
	}
	return nil
}

func runMutate(cmd *cobra.Command, opts mutateOptions) error {
	stdin, stderr := cmd.InOrStdin(), cmd.ErrOrStderr()
	values, err := mutateValues(opts, stdin, stderr)
	if err != nil {
		return err
	}
	made, err := choosePolicies(values, opts.policies)
	if err != nil {
		return err
	}
	if opts.output == "policies" {
		return printPolicies(cmd.OutOrStdout(), made)
	}
	if err := values.CheckCarried(); err != nil {
		return err
	}
	m, err := newMutator(made, values, stderr)
	if err != nil {
		return err
	}
	m.exclude, m.inNamespace = opts.exclude, opts.namespace
	var out bytes.Buffer
	files, err := inFolders(opts.files, opts.recursive)
	if err != nil {
		return err
	}
	for _, file := range files {
		stream, err := readFile(file, stdin)
		if err != nil {
			return err
		}
		m.add(file, stream)
	}
	m.run(cmd.Context(), &out)
	if err := m.sum(opts.require); err != nil {
		return err // all or nothing: what reads the output does not see the status
	}
	_, err = out.WriteTo(cmd.OutOrStdout())
	return err
}

// mutateValues are the values of the chart: its own, below the settings of the cluster, below the files.
func mutateValues(opts mutateOptions, stdin io.Reader, warnings io.Writer) (mutation.Values, error) {
	var layers [][]byte
	if opts.hasSettings() {
		settings, err := clusterValues(opts.renderOptions, stdin, warnings)
		if err != nil {
			return mutation.Values{}, err
		}
		layers = append(layers, settings)
	}
	for _, file := range opts.policyValues {
		content, err := readFile(file, stdin)
		if err != nil {
			return mutation.Values{}, err
		}
		if _, err := mutation.ReadValues(content); err != nil {
			return mutation.Values{}, fmt.Errorf("%s: %w", file, err)
		}
		layers = append(layers, content)
	}
	if opts.carry != "" {
		layers = append(layers, []byte("carry: "+opts.carry))
	}
	return mutation.ReadValues(layers...)
}

// clusterValues is what the Secret <cluster>-cluster-values has for charts.
func clusterValues(opts renderOptions, stdin io.Reader, warnings io.Writer) ([]byte, error) {
	fleet, err := readFleet(opts, stdin, warnings)
	if err != nil {
		return nil, err
	}
	if len(fleet.clusters) != 1 {
		return nil, fmt.Errorf("manifests are for one cluster, and %s holds %d", strings.Join(opts.clusters, ", "), len(fleet.clusters))
	}
	effective, err := fleet.resolve(fleet.clusters[0], warnings)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	opts.output = "helm-values"
	err = printEffective(&out, effective, opts)
	return out.Bytes(), err
}

// choosePolicies returns those with these names, or all that are for tunnels.
func choosePolicies(values mutation.Values, names []string) ([]mutation.Made, error) {
	all, err := values.Made()
	if err != nil {
		return nil, err
	}
	var chosen []mutation.Made
	var known []string
	for _, made := range all {
		known = append(known, made.Settings.Name)
		if slices.Contains(names, made.Settings.Name) || len(names) == 0 && made.Tunnel != nil {
			chosen = append(chosen, made)
		}
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, usage(fmt.Errorf("--policy is one of %s, not %q", strings.Join(known, ", "), name))
		}
	}
	return chosen, nil
}

func printPolicies(out io.Writer, all []mutation.Made) error {
	for _, made := range all {
		text, err := made.Text()
		if err != nil {
			return err
		}
		if _, err := fmt.Fprintf(out, "---\n%s", text); err != nil {
			return err
		}
	}
	return nil
}
