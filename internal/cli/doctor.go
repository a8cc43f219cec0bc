package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/fairlead-io/fairlead/internal/agents/doctor"
	"github.com/fairlead-io/fairlead/internal/agents/tunnel"
	"github.com/fairlead-io/fairlead/internal/cli/cluster"
	"github.com/fairlead-io/fairlead/internal/cli/fleet"
	"github.com/fairlead-io/fairlead/internal/cli/terminal"
	"github.com/fairlead-io/fairlead/internal/core/document"
	"github.com/fairlead-io/fairlead/internal/core/lint"
	"github.com/fairlead-io/fairlead/internal/core/render"
)

type doctorOptions struct {
	renderOptions
	kube         cluster.Options
	files        []string
	policyValues []string
	name         string
	idleTimeout  time.Duration
	failOn       string
	probe        bool
}

// squidIdleTimeout is read_timeout as squid has it by itself.
const squidIdleTimeout = 15 * time.Minute

func doctorCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Find out why a cluster or a program does not get through the proxy",
		Example: "  fairlead doctor cluster -n org-acme mycluster\n  fairlead doctor tunnel -f pod.yaml",
		Args:    verbs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(doctorClusterCommand(), doctorEgressCommand(), doctorTunnelCommand())
	return cmd
}

func doctorTunnelCommand() *cobra.Command {
	var opts doctorOptions
	cmd := &cobra.Command{
		Use:   "tunnel (-f FILE | [-n NAMESPACE] NAME) [--values FILE | --proxy FILE] [--cluster FILE] [--policy-values FILE…]",
		Short: "Check whether the agent of a reverse tunnel leaves through the proxy",
		Long: `Check whether the agent of a reverse tunnel leaves through the proxy: which
containers are agents, which of their settings decides, and what is wrong.

From files it reads Pods, Deployments, DaemonSets and StatefulSets; Secrets,
ConfigMaps, Services and NetworkPolicies of their namespace; ManagedProxyConfigurations and
AddOnDeploymentConfigs of Open Cluster Management. In these and all other objects,
it finds NO_PROXY lists, and says what fairlead lint says of them: errors and
warnings. From a cluster it reads the pod, or the workload's pods, and lists
ConfigMaps, NetworkPolicies and those configurations; with --values or --proxy,
Services. It never reads Secrets there: use --values or --proxy, with --cluster,
for the content of fairlead-proxy.

With --probe it asks the proxy of --values or --proxy, from this machine, to
connect to each hub, and reports whether the proxy wants NTLM or Kerberos, or
inspects TLS. Otherwise it opens no connection to a proxy.

The exit status is 1 for a finding of the severity --fail-on or worse, and 2 if
the command line or a file is wrong, or nothing has that name.
No password is printed.`,
		Example: `  fairlead doctor tunnel -f pod.yaml
  helm template … | fairlead doctor tunnel -f -

  # with the content of the Secret fairlead-proxy
  fairlead doctor tunnel -f pod.yaml --values secret-values.yaml --cluster cluster.yaml

  # from a cluster
  fairlead doctor tunnel -n open-cluster-management-cluster-proxy deployment/cluster-proxy-proxy-agent`,
		Args:              func(cmd *cobra.Command, args []string) error { return usage(cobra.MaximumNArgs(1)(cmd, args)) },
		ValidArgsFunction: completeWorkloads,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			opts.name = strings.Join(args, "")
			return usage(opts.checkDoctor(cmd))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runDoctorTunnel(cmd, opts) },
	}
	flags := cmd.Flags()
	filenameFlag(cmd, &opts.files, "manifests, a folder of them, or - for stdin; may be repeated")
	clusterFlags(cmd, &opts.kube)
	opts.inputFlags(flags)
	flags.StringArrayVar(&opts.policyValues, "policy-values", nil, "values of the chart fairlead-policies, with tunnels.families; may be repeated")
	flags.DurationVar(&opts.idleTimeout, "idle-timeout", squidIdleTimeout, "time after which the proxy closes an idle connection; squid: read_timeout")
	flags.BoolVar(&opts.probe, "probe", false, "ask the proxy of --values or --proxy to connect to each hub, from this machine, and check for TLS inspection")
	failOnFlag(cmd, &opts.failOn, string(lint.Error), severityFailedOn, severities)
	outputFlag(cmd, &opts.output, tableOutput, dataOutputs)
	return cmd
}

func (o *doctorOptions) checkDoctor(cmd *cobra.Command) error {
	switch {
	case (len(o.files) == 0) == (o.name == ""):
		return errors.New("give one of -f FILE and NAME")
	case o.idleTimeout < time.Second:
		return errors.New("--idle-timeout is at least 1s")
	}
	if err := cmp.Or(checkCluster(cmd, o.kube, len(o.files) > 0), checkOutput(o.output, dataOutputs), checkFailOn(&o.failOn, severities)); err != nil {
		return err
	}
	if o.probe && !o.hasSettings() {
		return fmt.Errorf("--probe needs --values or --proxy, and --cluster: what the Secret %s has says which proxy to ask", render.PodSecretName)
	}
	return cmp.Or(o.checkSettings(), oneStdin(slices.Concat(o.files, o.policyValues, o.inputFiles())))
}

func runDoctorTunnel(cmd *cobra.Command, opts doctorOptions) error {
	report, err := diagnose(cmd, opts)
	if err != nil {
		return usage(err) // status 1 is an answer: there are findings
	}
	err = printFound(cmd.OutOrStdout(), opts.output, report, func(s terminal.Style) []byte { return doctorText(s, report) })
	if err == nil && severe(report.Worst(), opts.failOn) {
		return errQuiet
	}
	return err
}

func diagnose(cmd *cobra.Command, opts doctorOptions) (doctor.Report, error) {
	known, err := opts.known(cmd)
	if err != nil {
		return doctor.Report{}, err
	}
	examination, err := opts.examine(cmd, known)
	if err != nil {
		return doctor.Report{}, err
	}
	report, err := examination.Judge(nil)
	if err != nil || !opts.probe {
		return report, err
	}
	probes, notes, err := probeHubs(cmd.Context(), known.Settings, report.Hubs())
	if err != nil {
		return doctor.Report{}, err
	}
	for _, note := range notes {
		examination.Note(note)
	}
	return examination.Judge(probes)
}

// known reads the families, and makes the content of the Secret fairlead-proxy from --values or --proxy.
func (o *doctorOptions) known(cmd *cobra.Command) (doctor.Options, error) {
	var clusters []document.Document
	known := doctor.Options{
		IdleTimeout: int(o.idleTimeout.Seconds()),
		Lint:        func(in lint.Input) ([]lint.Result, error) { return fleet.LintList(in, clusters, io.Discard) },
	}
	values, err := mutateValues(cmd, mutateOptions{policyValues: o.policyValues})
	if err != nil {
		return known, err
	}
	known.Families = values.Families
	if !o.hasSettings() {
		return known, nil
	}
	effective, err := oneCluster(cmd, o.renderOptions, "doctor is about")
	if err != nil {
		return known, err
	}
	known.Settings = podSettings(effective)
	if !slices.Contains(o.clusters, "-") { // which has been read
		clusters, err = readDocuments(o.clusters, o.recursive, cmd.InOrStdin(), io.Discard)
	}
	return known, err
}

func (o *doctorOptions) examine(cmd *cobra.Command, known doctor.Options) (*doctor.Examination, error) {
	if o.name != "" {
		cluster, err := cluster.Connect(o.kube)
		if err != nil {
			return nil, err
		}
		return doctor.Cluster(cmd.Context(), cluster, cluster.Namespace, o.name, known)
	}
	documents, err := readDocuments(o.files, o.recursive, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return nil, err
	}
	examination, err := doctor.Manifests(document.InNamespace(documents, o.kube.Namespace), known)
	if errors.Is(err, doctor.ErrNothing) {
		err = fmt.Errorf("%s: %w", strings.Join(o.files, ", "), err)
	}
	return examination, err
}

// doctorText returns a line for each container, and below it the findings.
func doctorText(s terminal.Style, report doctor.Report) []byte {
	out := terminal.Findings{Style: s}
	if len(report.Pods) > 0 {
		table := terminal.Columns(s, "OBJECT", "CONTAINER", "AGENT", "HUB", "THROUGH", "SETTING")
		for _, p := range report.Pods {
			for _, c := range p.Containers {
				table.Add(terminal.SafeCells(p.Object, c.Container, strings.TrimSpace(c.Agent+" "+c.Version), c.Hub, string(c.Through), c.Setting)...)
			}
		}
		fmt.Fprintf(&out, "%s\n", table.Bytes())
	}
	all := func(findings []tunnel.Finding, of string) {
		for _, f := range findings {
			out.Add(string(f.Severity), string(f.Code)+"  "+terminal.ASCII(of), terminal.ASCII(f.Why), terminal.Labelled("mend", terminal.ASCII(f.Mend)))
		}
	}
	for _, p := range report.Pods {
		all(p.Findings, p.Object)
		for _, c := range p.Containers {
			all(c.Findings, p.Object+" "+c.Container)
		}
	}
	for _, c := range report.Configurations {
		all(c.Findings, c.Object)
		if len(c.AdditionalArgs) > 0 {
			fmt.Fprintf(&out, "%s should have\n  proxyAgent:\n    additionalArgs: [%s]\n\n", terminal.ASCII(c.Object), terminal.ASCII(strings.Join(c.AdditionalArgs, ", ")))
		}
	}
	for _, l := range report.Lists {
		addLinted(&out, l, l.Title())
	}
	for _, note := range report.Notes {
		fmt.Fprint(&out, s.Notes(terminal.ASCII(note)))
	}
	out.Total()
	return out.Bytes()
}
