package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/internal/core/inputs"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/noproxy"
)

type renderOptions struct {
	values, proxy      string
	trustedCA          string
	clusters, override []string
	recursive          bool
	form, output       string
	audience           string
	node               nodeOptions
	variant            string
	withCredentials    bool
	policy             policyOptions
	repository         string
	at                 moment
}

var (
	outputs   = outputNames()
	forms     = []string{string(resolve.FormPortable3), string(resolve.FormPortable2), string(resolve.FormPortable), string(resolve.FormExact)}
	audiences = []string{string(noproxy.AudienceAny), string(noproxy.AudienceGo)}
	variants  = []string{string(ignition.Flatcar), string(ignition.FedoraCoreOS)}
)

func renderCommand() *cobra.Command {
	var opts renderOptions
	cmd := &cobra.Command{
		Use:   "render (--values FILE | --proxy FILE) --cluster FILE",
		Short: "Print the Secrets that the operator writes for a cluster",
		Long: `Print the Secrets that the operator writes for a cluster.

The proxy comes from the config repository's values (--values), or from a
CorporateProxy with the objects that it names (--proxy). Clusters are Cluster API
Clusters, v1beta1 or v1beta2, with their infrastructure objects if you have them.
A file may have several documents; - reads standard input.

-o networkpolicy prints a NetworkPolicy for the egress of pods: DNS, the pods of the
cluster, the addresses of NO_PROXY, and the proxy, or with --carry Relay the relay's
pods. Names of NO_PROXY cannot be in it: each is a warning. See who would be cut off
with fairlead doctor egress before you apply it.

The proxy's password is in every output but noproxy, java, java-tool-options,
prometheus, alertmanager, networkpolicy, addondeploymentconfig; and with
--with-credentials in the last.`,
		Example: `  # the Secrets, as the operator applies them
  fairlead render --values secret-values.yaml --cluster cluster.yaml

  # the NO_PROXY list; in form Exact, nothing is added
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o noproxy --form Exact

  # for a shell and for charts, before there is an operator
  eval "$(fairlead render --values secret-values.yaml --cluster cluster.yaml -o env)"
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o helm-values | helm install … --values -

  # the Secret fairlead-proxy for pods, without the chart fairlead-policies
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o pod-secret | kubectl apply --namespace … -f -

  # for programs that do not read the environment by themselves
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o java
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o java-tool-options
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o prometheus
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o alertmanager

  # for Open Cluster Management's hub, without the password
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o addondeploymentconfig

  # for Flux's sources, and for Argo CD's repositories outside
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o flux-proxy-secret | kubectl apply --namespace flux-system -f -
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o argocd-repo-creds --repository https://github.com/ | kubectl apply --namespace argocd -f -

  # pods of a namespace get out through the proxy alone
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o networkpolicy --namespace shop | kubectl apply -f -

  # one file for machines
  fairlead render --values secret-values.yaml --cluster cluster.yaml --unit crio.service --key crioProxy
  fairlead render --values secret-values.yaml --cluster cluster.yaml --file EtcEnvironment --key etcEnvironment
  fairlead render --values secret-values.yaml --cluster cluster.yaml --file StaticPods --static-pods Extend --key kubeAPIServerPatch
  fairlead render --values secret-values.yaml --cluster cluster.yaml --delivery Relay --key relaySettings
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o apt

  # for machines that take no Secret of Fairlead
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o talos
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o bottlerocket

  # a machine's config
  fairlead render --proxy corporate-proxy.yaml --cluster cluster.yaml -o butane --variant fcos

  # for a running fleet
  kubectl get clusters -A -o yaml | fairlead render --proxy corporate-proxy.yaml --cluster -`,
		Args: noArguments,
		PreRunE: func(cmd *cobra.Command, _ []string) error {
			return usage(cmp.Or(opts.check(), opts.checkOutput(cmd.Flags())))
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return runRender(cmd, opts) },
	}
	flags := cmd.Flags()
	opts.inputFlags(flags)
	opts.node.flags(flags)
	opts.trustedCAFlag(flags)
	atFlag(flags, &opts.at)
	flags.StringVar(&opts.audience, "audience", "any", "the list of -o noproxy, env, java and java-tool-options for these programs: "+strings.Join(audiences, ", "))
	flags.StringVar(&opts.variant, "variant", "flatcar", "operating system of -o butane and -o ignition: "+strings.Join(variants, ", "))
	flags.BoolVar(&opts.withCredentials, "with-credentials", false, "write the proxy's user and password into -o addondeploymentconfig")
	flags.StringVar(&opts.repository, "repository", "", "what the URLs of the repositories of -o argocd-repo-creds begin with")
	opts.policy.flags(flags)
	outputFlag(cmd, &opts.output, "yaml", outputs)
	cmd.AddCommand(renderBundleCommand())
	return cmd
}

// checkOutput refuses flags that contradict the output.
func (o *renderOptions) checkOutput(flags *pflag.FlagSet) error {
	switch key := flags.Changed("key"); {
	case key && o.node.key == "": // a variable that is not set; all of the Secrets is not what was meant
		return errors.New("--key is empty")
	case key && flags.Changed("output"):
		return errors.New("give one of --key and -o")
	case o.output != networkPolicyOutput && slices.ContainsFunc(policyFlags, flags.Changed):
		return fmt.Errorf("--%s are for -o networkpolicy", strings.Join(policyFlags, ", --"))
	case (o.repository == "") == (o.output == argoCDRepoCreds):
		return errors.New("-o argocd-repo-creds needs --repository, what the URLs of repositories begin with; no other output takes it")
	case o.withCredentials && o.output != addOnDeploymentConfig:
		return errors.New("--with-credentials is for -o addondeploymentconfig: the other outputs have them")
	}
	return nil
}

// trustedCAFlag is for the verbs that look at what machines get.
func (o *renderOptions) trustedCAFlag(flags *pflag.FlagSet) {
	flags.StringVar(&o.trustedCA, "trusted-ca", "", "PEM certificates for machines, with --values")
}

// inputFlags are the flags that say what a configuration is made from.
func (o *renderOptions) inputFlags(flags *pflag.FlagSet) {
	flags.StringVar(&o.values, "values", "", "the config repository's values, proxy: {http, https, noProxy}")
	flags.StringVar(&o.proxy, "proxy", "", "CorporateProxy, with the Secret and ConfigMap that it names; file or folder")
	flags.StringArrayVar(&o.clusters, "cluster", nil, "Clusters, file or folder; may be repeated")
	flags.StringArrayVar(&o.override, "override", nil, "ProxyOverrides, file or folder, instead of those in --cluster; may be repeated")
	recursiveFlag(flags, &o.recursive)
	flags.StringVar(&o.form, "form", "", "form of the list, instead of the CorporateProxy's: "+strings.Join(forms, ", "))
}

// hasSettings tells whether the proxy of a cluster is given, for verbs that can do without.
func (o renderOptions) hasSettings() bool {
	return o.values != "" || o.proxy != "" || len(o.clusters) > 0 || len(o.override) > 0 || o.form != ""
}

func (o renderOptions) check() error {
	_, err := o.node.read()
	_, policyErr := o.policy.read()
	return cmp.Or(checkOutput(o.output, outputs), policyErr, oneOf("--audience", o.audience, audiences), oneOf("--variant", o.variant, variants), err, o.checkInputs())
}

// checkSettings is checkInputs for the verbs that can do without.
func (o renderOptions) checkSettings() error {
	if !o.hasSettings() {
		return nil
	}
	return o.checkInputs()
}

func (o renderOptions) inputFiles() []string {
	return append([]string{o.values, o.proxy, o.trustedCA}, slices.Concat(o.clusters, o.override)...)
}

func (o renderOptions) checkInputs() error {
	switch {
	case (o.values == "") == (o.proxy == ""):
		return errors.New("give exactly one of --values and --proxy")
	case o.trustedCA != "" && o.proxy != "":
		return errors.New("--trusted-ca goes with --values: a CorporateProxy names its own in spec.trustedCARef")
	case len(o.clusters) == 0:
		return errors.New("--cluster is missing")
	case o.form != "" && !slices.Contains(forms, o.form):
		return oneOf("--form", o.form, forms)
	}
	return oneStdin(o.inputFiles())
}

func runRender(cmd *cobra.Command, opts renderOptions) error {
	fleet, err := readFleet(opts, cmd.InOrStdin(), cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	one := "-o " + opts.output
	if opts.node.key != "" {
		one = "--key"
	}
	if one != "-o yaml" && one != "-o json" && len(fleet.Clusters) != 1 {
		return fmt.Errorf("%s prints one cluster, and %s holds %d", one, strings.Join(opts.clusters, ", "), len(fleet.Clusters))
	}
	// All or nothing: the output of a failed run must not be half a fleet.
	var out bytes.Buffer
	list := manifestList{APIVersion: "v1", Kind: "List"} // as kubectl has several
	for _, cluster := range fleet.Clusters {
		effective, err := fleet.Resolve(cluster, cmd.ErrOrStderr())
		if err != nil {
			return err
		}
		opts.node.add(&effective.Node)
		fleet.WarnOfDates(effective.Node.Certificates, opts.at.time().Unix(), cmd.ErrOrStderr())
		if one == "-o json" {
			objects, err := appliedObjects(effective)
			if err != nil {
				return err
			}
			list.Items = append(list.Items, objects...)
			continue
		}
		text, err := opts.artifact(effective)
		if err != nil {
			return err
		}
		out.Write(text)
		for _, warning := range opts.limits(effective) {
			fmt.Fprintln(cmd.ErrOrStderr(), "warning:", warning)
		}
	}
	if list.Items != nil {
		return printData(cmd.OutOrStdout(), "json", list)
	}
	_, err = out.WriteTo(cmd.OutOrStdout())
	return err
}

// manifestList has several objects for kubectl.
type manifestList struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Metadata   struct{}         `json:"metadata"`
	Items      []runtime.Object `json:"items"`
}

// nodeOptions ask for what machines get, in addition to what the CorporateProxy
// asks for.
type nodeOptions struct {
	units, files []string
	staticPods   string
	delivery     string
	key          string
}

func (o *nodeOptions) flags(flags *pflag.FlagSet) {
	flags.StringArrayVar(&o.units, "unit", nil, "add a drop-in for this systemd unit, such as crio.service; may be repeated")
	flags.StringArrayVar(&o.files, "file", nil, "add a file for machines: EnvironmentFile, EtcEnvironment, RKE2, K3s, StaticPods, ...; may be repeated")
	flags.StringVar(&o.staticPods, "static-pods", "", "what --file StaticPods does, instead of the CorporateProxy's: Strip, Extend or Set")
	flags.StringVar(&o.delivery, "delivery", "", "how programs on machines reach the proxy, instead of the CorporateProxy's: Literal or Relay")
	flags.StringVar(&o.key, "key", "", "print this key of the Secret <cluster>-systemd-proxy, decoded")
}

func (o nodeOptions) read() (resolve.Node, error) {
	return inputs.Node(v1alpha1.NodeSettings{Units: o.units, Files: o.files, StaticPods: o.staticPods, Delivery: o.delivery}, "command line", "")
}

// add adds to what a cluster's machines get. What was checked on the command line
// cannot fail here.
func (o nodeOptions) add(to *resolve.Node) {
	more, _ := o.read()
	if o.staticPods != "" {
		to.StaticPods = more.StaticPods
	}
	if o.delivery != "" {
		to.Delivery, to.Relay = more.Delivery, cmp.Or(to.Relay, more.Relay)
	}
	to.Units = union(to.Units, more.Units)
	to.Files = union(to.Files, more.Files)
}

func union[T comparable](a, b []T) []T {
	return append(slices.Clip(a), slices.DeleteFunc(b, func(element T) bool { return slices.Contains(a, element) })...)
}
