// Package artifact writes what the settings of a cluster become, in one of several formats.
package artifact

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/internal/core/render"
	"github.com/fairlead-io/fairlead/internal/core/render/ignition"
	"github.com/fairlead-io/fairlead/internal/core/resolve"
	"github.com/fairlead-io/fairlead/internal/write/apply"
	"github.com/fairlead-io/fairlead/operator/noproxy"
)

// Options choose within a format.
type Options struct {
	Audience    noproxy.Audience // of lists
	Variant     ignition.Variant // of configs for machines
	Credentials bool             // in AddOnDeploymentConfig
	Policy      Policy           // of NetworkPolicy
	Repository  string           // what the URLs of ArgoCDRepoCreds begin with
}

// Policy is what a NetworkPolicy has beside the settings.
type Policy struct {
	render.Egress
	Namespace   string
	PodSelector *metav1.LabelSelector
}

// The formats that more than this package knows.
const (
	YAML                  = "yaml" // the objects that the operator applies
	HelmValues            = "helm-values"
	AddOnDeploymentConfig = "addondeploymentconfig" // for the hub of Open Cluster Management
	NetworkPolicy         = "networkpolicy"         // for the egress of pods
	Bottlerocket          = "bottlerocket"
	FluxProxySecret       = "flux-proxy-secret" // for proxySecretRef
	ArgoCDRepoCreds       = "argocd-repo-creds" // a credential template
)

var formats = map[string]func(resolve.Effective, Options) ([]byte, error){
	YAML:       func(e resolve.Effective, _ Options) ([]byte, error) { return manifests(Objects(e)) },
	"values":   alone(render.Values),
	HelmValues: alone(render.Values),
	"systemd":  func(e resolve.Effective, _ Options) ([]byte, error) { return Key(render.ContainerdKey, e) },
	"noproxy": func(e resolve.Effective, o Options) ([]byte, error) {
		return fmt.Appendln(nil, e.NoProxy.For(o.Audience)), nil
	},
	// What stands in no Secret: what machines need before they are machines of a cluster, and what clients need that do
	// not read the variables.
	"talos": alone(render.Talos), "talos-environment": alone(render.TalosEnvironment), Bottlerocket: alone(render.Bottlerocket),
	"rke2": alone(render.RKE2Environment), "microos": alone(render.MicroOS),
	"apt": alone(render.Apt), "dnf": alone(render.Dnf), "crio": alone(render.CRIO),
	"prometheus": alone(render.Prometheus), "alertmanager": alone(render.Alertmanager),
	"butane":   func(e resolve.Effective, o Options) ([]byte, error) { return render.Butane(e, o.Variant) },
	"ignition": func(e resolve.Effective, o Options) ([]byte, error) { return render.Ignition(e, o.Variant) },
	"env":      func(e resolve.Effective, o Options) ([]byte, error) { return render.Shell(e, o.Audience) },
	"java-tool-options": func(e resolve.Effective, o Options) ([]byte, error) {
		return render.JavaToolOptions(e, o.Audience)
	},
	"java": func(e resolve.Effective, o Options) ([]byte, error) {
		hosts, _ := noproxy.NonProxyHosts(e.NoProxy.For(o.Audience))
		return fmt.Appendln(nil, hosts), nil
	},
	"pod-secret": func(e resolve.Effective, _ Options) ([]byte, error) {
		objects := []runtime.Object{apply.Object(render.PodSecret(e), nil)}
		if bundle := render.PodConfigMap(e); bundle.Data != nil {
			objects = append(objects, apply.ConfigMap(bundle, nil))
		}
		return manifests(objects, nil)
	},
	FluxProxySecret: func(e resolve.Effective, _ Options) ([]byte, error) { return secret(render.FluxProxySecret(e)) },
	ArgoCDRepoCreds: func(e resolve.Effective, o Options) ([]byte, error) {
		return secret(render.ArgoCDSecret(e, o.Repository))
	},
	NetworkPolicy: func(e resolve.Effective, o Options) ([]byte, error) {
		return render.NetworkPolicy(e, o.egress(), o.Policy.Namespace, o.Policy.PodSelector)
	},
	AddOnDeploymentConfig: func(e resolve.Effective, o Options) ([]byte, error) {
		return render.AddOnDeploymentConfig(e, o.Credentials)
	},
}

// Render returns the settings in a format. What the operator cannot write for a cluster is an error in every format.
func Render(format string, e resolve.Effective, opts Options) ([]byte, error) {
	if _, err := render.Secrets(e); err != nil {
		return nil, err
	}
	return formats[format](e, opts)
}

func (o Options) egress() render.Egress {
	egress := o.Policy.Egress
	egress.Audience = o.Audience
	return egress
}

func alone(write func(resolve.Effective) ([]byte, error)) func(resolve.Effective, Options) ([]byte, error) {
	return func(e resolve.Effective, _ Options) ([]byte, error) { return write(e) }
}

// Key returns a key of the Secret with the drop-ins of machines.
func Key(name string, e resolve.Effective) ([]byte, error) {
	secrets, err := render.Secrets(e)
	if err != nil {
		return nil, err
	}
	content, found := secrets[1].Data[name]
	if !found {
		return nil, fmt.Errorf("--key: the Secret %s has the keys %s; --unit, --file and --trusted-ca, or the CorporateProxy, ask for more",
			secrets[1].Name, strings.Join(slices.Sorted(maps.Keys(secrets[1].Data)), ", "))
	}
	return content, nil
}

// Objects are what the operator applies for a cluster: the Secrets, and the ConfigMap where it is asked for.
func Objects(e resolve.Effective) ([]runtime.Object, error) {
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

func secret(s render.Secret, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	return manifests([]runtime.Object{apply.Object(s, nil)}, nil)
}

func manifests(objects []runtime.Object, err error) ([]byte, error) {
	var out bytes.Buffer
	for _, object := range objects {
		text, err := yaml.Marshal(object)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&out, "---\n%s", text)
	}
	return out.Bytes(), err
}

// Warnings says what a format cannot hold.
func Warnings(format string, e resolve.Effective, opts Options) []string {
	var all []string
	credentials := e.HTTP.HasCredentials() || e.HTTPS.HasCredentials()
	switch {
	case format == NetworkPolicy:
		return render.NetworkPolicyWarnings(e, opts.egress())
	case strings.HasPrefix(format, "java"):
		if _, omitted := noproxy.NonProxyHosts(e.NoProxy.For(opts.Audience)); len(omitted) > 0 {
			all = append(all, fmt.Sprintf("http.nonProxyHosts cannot hold these entries, so Java uses the proxy for them: %s", omitted))
		}
		if credentials {
			all = append(all, "Java has no system property for the proxy's user and password: the program has to set a java.net.Authenticator")
		}
	case format == Bottlerocket && !e.HTTP.IsZero():
		all = append(all, "Bottlerocket has no setting for the proxy of http URLs: its programs reach them without it")
	case format == FluxProxySecret:
		all = append(all, "Flux takes no NO_PROXY here: name the Secret only in sources outside the network")
	case format == AddOnDeploymentConfig && !opts.Credentials && credentials:
		all = append(all, "the proxy's user and password are left out: charts/fairlead-policies gives them to the agent's pods; "+
			"--with-credentials writes them for all to read who may read the AddOnDeploymentConfig")
	}
	return all
}
