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
	"github.com/fairlead-io/fairlead/internal/agents/mutator"
	"github.com/fairlead-io/fairlead/internal/core/selection"
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
	carries       = []string{mutation.CarrySecretRef, mutation.CarryLiteral, mutation.CarryRelay}
)

func mutateCommand() *cobra.Command {
	var opts mutateOptions
	cmd := &cobra.Command{
		Use:   "mutate [-f FILE…] [--values FILE | --proxy FILE] [--cluster FILE] [--policy-values FILE…]",
		Short: "Change manifests as the policies for tunnels change pods",
		Long: `Change manifests as the policies for tunnels change pods: for agents that no
webhook sees, because it is reached through them, and for clusters without policies.

It changes Pods, and the pod templates of Deployments, DaemonSets, StatefulSets,
ReplicaSets, Jobs and CronJobs, also in a List or a ManifestWork. Everything else
stays the same, to the byte. It evaluates the policies with the values of the
chart fairlead-policies (--policy-values). A cluster's settings (--values or
--proxy, with --cluster) have lower precedence; they are needed for a proxy that
speaks TLS, and for --carry Literal and Relay.

If the API server reaches the policies' webhook through the tunnel, it refuses the
agent while the webhook is down. --exclude-from-admission labels the agent's pods
so that no policy is asked.

Standard error says for each agent what was changed, what was not, and why. The
exit status is 0, also without changes; 1 for an error; 2 if the command line is
wrong. With 1 and 2 nothing is printed. No password is printed, except with
--carry Literal.`,
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
		Args:    noArguments,
		PreRunE: func(*cobra.Command, []string) error { return usage(opts.checkMutate()) },
		RunE:    func(cmd *cobra.Command, _ []string) error { return runMutate(cmd, opts) },
	}
	flags := cmd.Flags()
	opts.inputFlags(flags)
	filenameFlag(cmd, &opts.files, "manifests, a folder of them, or - for stdin, the default; may be repeated")
	flags.StringVarP(&opts.namespace, "namespace", "n", "", "namespace of objects without one, as kubectl apply -n")
	flags.StringArrayVar(&opts.policyValues, "policy-values", nil, "values of the chart fairlead-policies; may be repeated")
	flags.StringVar(&opts.carry, "carry", "", "instead of the values' carry: "+strings.Join(carries, ", "))
	flags.StringArrayVar(&opts.policies, "policy", nil, "only inject-proxy-env, or tunnel-<family>; may be repeated; default: all families")
	flags.BoolVar(&opts.exclude, "exclude-from-admission", false, "label the pods of agents "+selection.Key+"=exclude, so that no policy applies")
	flags.BoolVar(&opts.require, "require", false, "exit with 1 if there is no agent")
	outputFlag(cmd, &opts.output, "manifests", mutateOutputs)
	return cmd
}

func (o *mutateOptions) checkMutate() error {
	if len(o.files) == 0 && o.output != "policies" {
		o.files = []string{"-"}
	}
	if err := checkOutput(o.output, mutateOutputs); err != nil {
		return err
	}
	if o.carry != "" {
		if err := anyCase("--carry", &o.carry, carries); err != nil {
			return err
		}
	}
	if o.output == "policies" && (len(o.files) > 0 || o.require || o.exclude) {
		return errors.New("-o policies prints what would be applied: it takes no -f, no --require and no --exclude-from-admission")
	}
	if err := o.checkSettings(); err != nil {
		return err
	}
	if err := oneStdin(slices.Concat(o.files, o.policyValues, o.inputFiles())); err != nil {
		return fmt.Errorf("%w; -f is, if it is not given", err)
	}
	return nil
}

func runMutate(cmd *cobra.Command, opts mutateOptions) error {
	values, err := mutateValues(cmd, opts)
	if err != nil {
		return err
	}
	chart, err := values.Render()
	if err != nil {
		return err
	}
	policies, err := chart.Choose(opts.policies)
	if unknown := new(mutation.UnknownPolicyError); errors.As(err, unknown) {
		return usage(fmt.Errorf("--policy %w", unknown))
	} else if err != nil {
		return err
	}
	if opts.output == "policies" {
		return printPolicies(cmd.OutOrStdout(), policies)
	}
	if err := chart.CheckCarried(); err != nil {
		return err
	}
	m, err := mutator.New(policies, chart, mutator.Options{Namespace: opts.namespace, Exclude: opts.exclude, Report: cmd.ErrOrStderr()})
	if err != nil {
		return err
	}
	var out bytes.Buffer
	names, err := inFolders(opts.files, opts.recursive)
	if err != nil {
		return err
	}
	for _, file := range names {
		stream, err := readFile(file, cmd.InOrStdin())
		if err != nil {
			return err
		}
		m.Add(file, stream)
	}
	m.Run(cmd.Context(), &out)
	if err := m.Finish(opts.require); err != nil {
		return err // all or nothing: what reads the output does not see the status
	}
	_, err = out.WriteTo(cmd.OutOrStdout())
	return err
}

// mutateValues returns the values of the chart: its own, below the settings of the cluster, below the files.
func mutateValues(cmd *cobra.Command, opts mutateOptions) (mutation.Values, error) {
	var layers [][]byte
	if opts.hasSettings() {
		effective, err := oneCluster(cmd, opts.renderOptions, "manifests are for")
		if err != nil {
			return mutation.Values{}, err
		}
		settings, err := renderOptions{output: helmValues}.artifact(effective)
		if err != nil {
			return mutation.Values{}, err
		}
		layers = append(layers, settings)
	}
	for _, file := range opts.policyValues {
		content, err := readValues(file, cmd.InOrStdin(), cmd.ErrOrStderr())
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

func printPolicies(out io.Writer, all []*mutation.Policy) error {
	for _, policy := range all {
		if _, err := fmt.Fprintf(out, "---\n%s", policy.Text); err != nil {
			return err
		}
	}
	return nil
}
