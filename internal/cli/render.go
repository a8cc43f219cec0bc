package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/write/apply"
	"github.com/fairlead-io/fairlead/operator/noproxy"
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
}

// addOnDeploymentConfig is the output for the hub of Open Cluster Management.
const addOnDeploymentConfig = "addondeploymentconfig"

var (
	outputs = []string{
		"yaml", "json", "values", "systemd", "noproxy", "apt", "dnf", "crio", "butane", "ignition",
		"env", "helm-values", "pod-secret", "java", "java-tool-options", "prometheus", "alertmanager",
		addOnDeploymentConfig,
	}
	forms     = []string{string(resolve.FormPortable2), string(resolve.FormPortable), string(resolve.FormExact)}
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

The proxy's password is in every output but noproxy, java, java-tool-options,
prometheus, alertmanager, addondeploymentconfig; and with --with-credentials in
the last.`,
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

  # one file for machines
  fairlead render --values secret-values.yaml --cluster cluster.yaml --unit crio.service --key crioProxy
  fairlead render --values secret-values.yaml --cluster cluster.yaml --file EtcEnvironment --key etcEnvironment
  fairlead render --values secret-values.yaml --cluster cluster.yaml --file StaticPods --static-pods Extend --key kubeAPIServerPatch
  fairlead render --values secret-values.yaml --cluster cluster.yaml -o apt

  # a machine's config
  fairlead render --proxy corporate-proxy.yaml --cluster cluster.yaml -o butane --variant fcos

  # for a running fleet
  kubectl get clusters -A -o yaml | fairlead render --proxy corporate-proxy.yaml --cluster -`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.check(); err != nil {
				return usage(err)
			}
			switch key := cmd.Flags().Changed("key"); {
			case key && opts.node.key == "": // a variable that is not set; all of the Secrets is not what was meant
				return usage(errors.New("--key is empty"))
			case key && cmd.Flags().Changed("output"):
				return usage(errors.New("give one of --key and -o"))
			case opts.withCredentials && opts.output != addOnDeploymentConfig:
				return usage(errors.New("--with-credentials is for -o addondeploymentconfig: the other outputs have them"))
			}
			return runRender(cmd, opts)
		},
	}
	flags := cmd.Flags()
	opts.inputFlags(flags)
	opts.node.flags(flags)
	opts.trustedCAFlag(flags)
	flags.StringVar(&opts.audience, "audience", "any", "the list of -o noproxy, env, java and java-tool-options for these programs: "+strings.Join(audiences, ", "))
	flags.StringVar(&opts.variant, "variant", "flatcar", "operating system of -o butane and -o ignition: "+strings.Join(variants, ", "))
	flags.BoolVar(&opts.withCredentials, "with-credentials", false, "write the proxy's user and password into -o addondeploymentconfig")
	outputFlag(cmd, &opts.output, "yaml", outputs)
	return cmd
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
	if err := checkOutput(o.output, outputs); err != nil {
		return err
	}
	if !slices.Contains(audiences, o.audience) {
		return fmt.Errorf("--audience is one of %s, not %q", strings.Join(audiences, ", "), o.audience)
	}
	if !slices.Contains(variants, o.variant) {
		return fmt.Errorf("--variant is one of %s, not %q", strings.Join(variants, ", "), o.variant)
	}
	if _, err := o.node.read(); err != nil {
		return err
	}
	return o.checkInputs()
}

// checkInputs checks what inputFlags set.
func (o renderOptions) checkInputs() error {
	switch {
	case (o.values == "") == (o.proxy == ""):
		return errors.New("give exactly one of --values and --proxy")
	case o.trustedCA != "" && o.proxy != "":
		return errors.New("--trusted-ca goes with --values: a CorporateProxy names its own in spec.trustedCARef")
	case len(o.clusters) == 0:
		return errors.New("--cluster is missing")
	case o.form != "" && !slices.Contains(forms, o.form):
		return fmt.Errorf("--form is one of %s, not %q", strings.Join(forms, ", "), o.form)
	}
	files := append([]string{o.values, o.proxy, o.trustedCA}, slices.Concat(o.clusters, o.override)...)
	if stdins := len(files) - len(slices.DeleteFunc(files, func(f string) bool { return f == "-" })); stdins > 1 {
		return errors.New("only one file can be standard input (-)")
	}
	return nil
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
		fleet.WarnOfDates(effective.Node.Certificates, time.Now().Unix(), cmd.ErrOrStderr())
		if opts.output == "json" && opts.node.key == "" {
			objects, err := objectsOf(effective)
			if err != nil {
				return err
			}
			list.Items = append(list.Items, objects...)
		} else if err := printEffective(&out, effective, opts); err != nil {
			return err
		}
		if strings.HasPrefix(opts.output, "java") {
			warnOfJava(effective, noproxy.Audience(opts.audience), cmd.ErrOrStderr())
		}
		if opts.output == addOnDeploymentConfig && !opts.withCredentials {
			warnOfCredentials(effective, cmd.ErrOrStderr())
		}
	}
	if list.Items != nil {
		return printData(cmd.OutOrStdout(), "json", list)
	}
	_, err = out.WriteTo(cmd.OutOrStdout())
	return err
}

// unasked are the outputs that stand in no Secret: what machines need before they
// are machines of a cluster, and what clients need that do not read the variables.
var unasked = map[string]func(resolve.Effective) ([]byte, error){
	"apt": render.Apt, "dnf": render.Dnf, "crio": render.CRIO,
	"prometheus": render.Prometheus, "alertmanager": render.Alertmanager,
}

func printEffective(out io.Writer, effective resolve.Effective, opts renderOptions) error {
	secrets, err := render.Secrets(effective)
	if err != nil {
		return err
	}
	if opts.node.key != "" {
		return opts.node.print(out, secrets[1])
	}
	if write, found := unasked[opts.output]; found {
		text, err := write(effective)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	}
	audience := noproxy.Audience(opts.audience)
	list := effective.NoProxy.For(audience)
	switch opts.output {
	case "values", "helm-values":
		_, err = out.Write(secrets[0].Data[render.ValuesKey])
	case "systemd":
		_, err = out.Write(secrets[1].Data[render.ContainerdKey])
	case "env":
		err = writeAudience(out, effective, audience, render.Shell)
	case "java-tool-options":
		err = writeAudience(out, effective, audience, render.JavaToolOptions)
	case addOnDeploymentConfig:
		var text []byte
		if text, err = render.AddOnDeploymentConfig(effective, opts.withCredentials); err == nil {
			_, err = out.Write(text)
		}
	case "pod-secret":
		err = writeManifest(out, apply.Object(render.PodSecret(effective), nil))
		if bundle := render.PodConfigMap(effective); err == nil && bundle.Data != nil {
			err = writeManifest(out, apply.ConfigMap(bundle, nil))
		}
	case "butane":
		err = writeConfig(out, effective, opts, render.Butane)
	case "ignition":
		err = writeConfig(out, effective, opts, render.Ignition)
	case "noproxy":
		_, err = fmt.Fprintln(out, list)
	case "java":
		hosts, _ := noproxy.NonProxyHosts(list)
		_, err = fmt.Fprintln(out, hosts)
	default:
		var objects []runtime.Object
		objects, err = objectsOf(effective)
		for _, object := range objects {
			if err = writeManifest(out, object); err != nil {
				return err
			}
		}
	}
	return err
}

// objectsOf are what the operator applies for a cluster: the Secrets, and the ConfigMap where it is asked for.
func objectsOf(e resolve.Effective) ([]runtime.Object, error) {
	secrets, err := render.Secrets(e)
	if err != nil {
		return nil, err
	}
	var objects []runtime.Object
	for _, secret := range secrets {
		objects = append(objects, apply.Object(secret, nil))
	}
	if e.ConfigMap {
		plain, err := render.ValuesConfigMap(e)
		if err != nil {
			return nil, err
		}
		objects = append(objects, apply.ConfigMap(plain, nil))
	}
	return objects, nil
}

// manifestList has several objects for kubectl.
type manifestList struct {
	APIVersion string           `json:"apiVersion"`
	Kind       string           `json:"kind"`
	Metadata   struct{}         `json:"metadata"`
	Items      []runtime.Object `json:"items"`
}

// writeConfig writes the config of a machine.
func writeConfig(out io.Writer, e resolve.Effective, opts renderOptions, config func(resolve.Effective, ignition.Variant) ([]byte, error)) error {
	text, err := config(e, ignition.Variant(opts.variant))
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

// writeAudience writes what differs by who reads it.
func writeAudience(out io.Writer, e resolve.Effective, audience noproxy.Audience, write func(resolve.Effective, noproxy.Audience) ([]byte, error)) error {
	text, err := write(e, audience)
	if err != nil {
		return err
	}
	_, err = out.Write(text)
	return err
}

func writeManifest(out io.Writer, object runtime.Object) error {
	text, err := yaml.Marshal(object)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "---\n%s", text)
	return err
}

// warnOfJava says what Java's system properties cannot hold.
func warnOfJava(e resolve.Effective, audience noproxy.Audience, warnings io.Writer) {
	if _, omitted := noproxy.NonProxyHosts(e.NoProxy.For(audience)); len(omitted) > 0 {
		fmt.Fprintf(warnings, "warning: http.nonProxyHosts cannot hold these entries, so Java uses the proxy for them: %s\n", omitted)
	}
	if e.HTTP.HasCredentials() || e.HTTPS.HasCredentials() {
		fmt.Fprintln(warnings, "warning: Java has no system property for the proxy's user and password: the program has to set a java.net.Authenticator")
	}
}

// warnOfCredentials says what is missing where many may read.
func warnOfCredentials(e resolve.Effective, warnings io.Writer) {
	if e.HTTP.HasCredentials() || e.HTTPS.HasCredentials() {
		fmt.Fprintln(warnings, "warning: the proxy's user and password are left out: charts/fairlead-policies gives them to the agent's pods; "+
			"--with-credentials writes them for all to read who may read the AddOnDeploymentConfig")
	}
}
