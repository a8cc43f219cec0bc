package cli

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/write/apply"
	"github.com/fairlead-io/fairlead/noproxy"
)

// The outputs of render that more than the table below knows.
const (
	helmValues            = "helm-values"
	addOnDeploymentConfig = "addondeploymentconfig" // for the hub of Open Cluster Management
	networkPolicyOutput   = "networkpolicy"         // for the egress of pods
	bottlerocket          = "bottlerocket"
	fluxProxySecret       = "flux-proxy-secret" // for proxySecretRef
	argoCDRepoCreds       = "argocd-repo-creds" // a credential template
)

// artifacts are the outputs of render, by the value of --output.
var artifacts = []struct {
	output string
	write  func(resolve.Effective, renderOptions) ([]byte, error)
}{
	{"yaml", func(e resolve.Effective, _ renderOptions) ([]byte, error) {
		objects, err := appliedObjects(e)
		if err != nil {
			return nil, err
		}
		return yamlOf(objects...)
	}},
	{"json", nil}, // of all clusters at once
	{"values", alone(render.Values)},
	{"systemd", func(e resolve.Effective, _ renderOptions) ([]byte, error) { return nodeKey(render.ContainerdKey, e) }},
	{"noproxy", func(e resolve.Effective, o renderOptions) ([]byte, error) {
		return fmt.Appendln(nil, e.NoProxy.For(o.reader())), nil
	}},
	// What stands in no Secret: what machines need before they are machines of a cluster, and what clients need that do
	// not read the variables.
	{"apt", alone(render.Apt)},
	{"dnf", alone(render.Dnf)},
	{"crio", alone(render.CRIO)},
	{"butane", func(e resolve.Effective, o renderOptions) ([]byte, error) {
		return render.Butane(e, ignition.Variant(o.variant))
	}},
	{"ignition", func(e resolve.Effective, o renderOptions) ([]byte, error) {
		return render.Ignition(e, ignition.Variant(o.variant))
	}},
	{"env", func(e resolve.Effective, o renderOptions) ([]byte, error) { return render.Shell(e, o.reader()) }},
	{helmValues, alone(render.Values)},
	{"pod-secret", func(e resolve.Effective, _ renderOptions) ([]byte, error) {
		objects := []runtime.Object{apply.Object(render.PodSecret(e), nil)}
		if bundle := render.PodConfigMap(e); bundle.Data != nil {
			objects = append(objects, apply.ConfigMap(bundle, nil))
		}
		return yamlOf(objects...)
	}},
	{"java", func(e resolve.Effective, o renderOptions) ([]byte, error) {
		hosts, _ := noproxy.NonProxyHosts(e.NoProxy.For(o.reader()))
		return fmt.Appendln(nil, hosts), nil
	}},
	{"java-tool-options", func(e resolve.Effective, o renderOptions) ([]byte, error) {
		return render.JavaToolOptions(e, o.reader())
	}},
	{"prometheus", alone(render.Prometheus)},
	{"alertmanager", alone(render.Alertmanager)},
	{"talos", alone(render.Talos)},
	{"talos-environment", alone(render.TalosEnvironment)},
	{bottlerocket, alone(render.Bottlerocket)},
	{"rke2", alone(render.RKE2Environment)},
	{"microos", alone(render.MicroOS)},
	{addOnDeploymentConfig, func(e resolve.Effective, o renderOptions) ([]byte, error) {
		return render.AddOnDeploymentConfig(e, o.withCredentials)
	}},
	{networkPolicyOutput, func(e resolve.Effective, o renderOptions) ([]byte, error) {
		policy := o.networkPolicy()
		return render.NetworkPolicy(e, policy.Egress, policy.namespace, policy.podSelector)
	}},
	{fluxProxySecret, func(e resolve.Effective, _ renderOptions) ([]byte, error) {
		return secretYAML(render.FluxProxySecret(e))
	}},
	{argoCDRepoCreds, func(e resolve.Effective, o renderOptions) ([]byte, error) {
		return secretYAML(render.ArgoCDSecret(e, o.repository))
	}},
}

func alone(write func(resolve.Effective) ([]byte, error)) func(resolve.Effective, renderOptions) ([]byte, error) {
	return func(e resolve.Effective, _ renderOptions) ([]byte, error) { return write(e) }
}

// outputNames returns the names of the table, in its order.
func outputNames() []string {
	names := make([]string, len(artifacts))
	for i, a := range artifacts {
		names[i] = a.output
	}
	return names
}

// artifact returns what --key or -o asks for. What the operator cannot write for a cluster is an error in every output.
func (o renderOptions) artifact(e resolve.Effective) ([]byte, error) {
	if o.node.key != "" {
		return nodeKey(o.node.key, e)
	}
	if _, err := render.Secrets(e); err != nil {
		return nil, err
	}
	for _, a := range artifacts {
		if a.output == o.output {
			return a.write(e, o)
		}
	}
	return nil, fmt.Errorf("-o %s: no such output", o.output)
}

// reader returns the audience that the list is for.
func (o renderOptions) reader() noproxy.Audience { return noproxy.Audience(o.audience) }

// nodeKey returns a key of the Secret with the drop-ins of machines.
func nodeKey(name string, e resolve.Effective) ([]byte, error) {
	secrets, err := render.Secrets(e)
	if err != nil {
		return nil, err
	}
	content, ok := secrets[1].Data[name]
	if !ok {
		return nil, fmt.Errorf("--key: the Secret %s has the keys %s; --unit, --file and --trusted-ca, or the CorporateProxy, ask for more",
			secrets[1].Name, strings.Join(slices.Sorted(maps.Keys(secrets[1].Data)), ", "))
	}
	return content, nil
}

// appliedObjects returns what the operator applies for a cluster: the Secrets, and the ConfigMap where it is asked for.
func appliedObjects(e resolve.Effective) ([]runtime.Object, error) {
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

func secretYAML(s render.Secret, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return yamlOf(apply.Object(s, nil))
}

func yamlOf(objects ...runtime.Object) ([]byte, error) {
	var out bytes.Buffer
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.Bytes(), nil
}

// limits says what the output cannot hold.
func (o renderOptions) limits(e resolve.Effective) []string {
	var all []string
	credentials := e.HTTP.HasCredentials() || e.HTTPS.HasCredentials()
	switch {
	case o.output == networkPolicyOutput:
		return render.NetworkPolicyWarnings(e, o.networkPolicy().Egress)
	case strings.HasPrefix(o.output, "java"):
		if _, omitted := noproxy.NonProxyHosts(e.NoProxy.For(o.reader())); len(omitted) > 0 {
			all = append(all, fmt.Sprintf("http.nonProxyHosts cannot hold these entries, so Java uses the proxy for them: %s", omitted))
		}
		if credentials {
			all = append(all, "Java has no system property for the proxy's user and password: the program has to set a java.net.Authenticator")
		}
	case o.output == bottlerocket && !e.HTTP.IsZero():
		all = append(all, "Bottlerocket has no setting for the proxy of http URLs: its programs reach them without it")
	case o.output == fluxProxySecret:
		all = append(all, "Flux takes no NO_PROXY here: name the Secret only in sources outside the network")
	case o.output == addOnDeploymentConfig && !o.withCredentials && credentials:
		all = append(all, "the proxy's user and password are left out: charts/fairlead-policies gives them to the agent's pods; "+
			"--with-credentials writes them for all to read who may read the AddOnDeploymentConfig")
	}
	return all
}
