// Package kyverno runs the real Kyverno as plain processes beside a control plane: the admission controller,
// and on request the reports controller. It has the configuration that Kyverno's own manifest installs: its
// namespace and kube-system are out of reach until a test opens them.
package kyverno

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/ports"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// Namespace is where Kyverno's manifest puts it.
const Namespace = "kyverno"

// Service is the name of its Service, to which Options.Service refers.
const Service = "kyverno-svc"

const (
	policyWebhook = `"validate-policy.kyverno.svc" denied`
	interval      = 100 * time.Millisecond
	startTimeout  = 2 * time.Minute
)

// Options are all optional.
type Options struct {
	Installed bool      // what its manifest has is there already
	Progress  io.Writer // is told what takes long: builds
	// Service has the API server go by Kyverno's Service, which leads to this port. Without it, it goes to an address
	// on the loopback interface.
	Service *ports.Port
}

// Kyverno is a running admission controller. Its webhooks stay registered when it stops.
type Kyverno struct {
	*process.Process
	cp      *controlplane.ControlPlane
	client  client.Client
	options Options
	webhook *ports.Port
	metrics *ports.Port
}

// Start installs Kyverno and returns when its admission controller takes policies. It is the control plane's
// administrator: its permissions are not the subject here.
func Start(ctx context.Context, cp *controlplane.ControlPlane, options Options) (*Kyverno, error) {
	content := Content[0]
	if options.Service != nil { // behind it, Kyverno asks for its own Deployments, and does nothing while there are none
		content = contentOf("kyverno-with-deployments", true)
	}
	if !options.Installed {
		if err := cp.Install(ctx, content); err != nil {
			return nil, fmt.Errorf("install Kyverno: %w", err)
		}
	}
	k := &Kyverno{cp: cp, options: options}
	var err error
	if k.client, err = client.New(cp.Admin(), client.Options{}); err != nil {
		return nil, err
	}
	k.webhook = options.Service
	for _, port := range []**ports.Port{&k.webhook, &k.metrics} {
		if *port != nil {
			continue
		}
		if *port, err = ports.Reserve(); err != nil {
			return nil, err
		}
	}
	return k, k.Restart(ctx)
}

// Content is the initial content of a control plane on which Kyverno is to run.
var Content = []controlplane.Content{contentOf("kyverno", false)}

func contentOf(name string, deployments bool) controlplane.Content {
	return controlplane.Content{Name: name, Read: func(ctx context.Context) ([]byte, error) {
		manifest, err := Manifest(ctx, deployments)
		return append([]byte(namespace), manifest...), err
	}}
}

const namespace = "{apiVersion: v1, kind: Namespace, metadata: {name: " + Namespace + "}}" + Separator

// Separator is between the documents of the manifest.
const Separator = "\n---\n"

// Manifest returns the manifest of the module, but for the namespace and, if they are not wanted, the Deployments.
func Manifest(ctx context.Context, deployments bool) ([]byte, error) {
	dir, err := tools.ModuleDir(ctx, tools.KyvernoModule, "github.com/kyverno/kyverno")
	if err != nil {
		return nil, err
	}
	manifest, err := os.ReadFile(filepath.Join(dir, "config", "install-latest-testing.yaml"))
	if err != nil {
		return nil, err
	}
	var documents []string
	for document := range strings.SplitSeq(string(manifest), Separator) {
		is := func(kind string) bool { return strings.Contains("\n"+document, "\nkind: "+kind+"\n") }
		if !is("Namespace") && (deployments || !is("Deployment")) {
			documents = append(documents, document)
		}
	}
	return []byte(strings.Join(documents, Separator)), nil
}

// Restart starts the admission controller, again after Stop or Kill, at the address that its webhooks name.
func (k *Kyverno) Restart(ctx context.Context) error {
	path, err := tools.Build(ctx, tools.Kyverno, k.options.Progress)
	if err != nil {
		return err
	}
	name := Service + "." + Namespace + ".svc"
	address := k.webhook.Address()
	if k.options.Service != nil {
		address = ""
	}
	k.Process, err = k.cp.Run(ctx, process.Spec{
		Name: "kyverno",
		Path: path,
		Env:  environment("kyverno-admission-controller", "kyverno:admission-controller"),
		Args: []string{
			"--kubeconfig=" + k.cp.AdminKubeconfig(),
			"--serverIP=" + address,
			"--webhookServerHost=127.0.0.1",
			"--webhookServerPort=" + k.webhook.String(),
			"--caSecretName=" + name + ".kyverno-tls-ca",
			"--tlsSecretName=" + name + ".kyverno-tls-pair",
			"--tlsKeyAlgorithm=ECDSA",
			"--backgroundServiceAccountName=system:serviceaccount:" + Namespace + ":kyverno-background-controller",
			"--metricsHost=127.0.0.1",
			"--metricsPort=" + k.metrics.String(),
			"--controllerRuntimeMetricsAddress=0",
			"--enableTuf=false",
			"--admissionReports=false",
			"--omitEvents=PolicyApplied,PolicySkipped",
			// The process that was killed cannot give its leases back.
			"--leaderElectionRetryPeriod=1s",
		},
	})
	if err != nil {
		return err
	}
	if err := k.awaitPolicies(ctx); err != nil {
		return errors.Join(err, k.Stop())
	}
	return nil
}

// environment returns the variables that the Deployments give their containers.
func environment(account, role string) []string {
	return []string{
		"KYVERNO_NAMESPACE=" + Namespace,
		"KYVERNO_SVC=" + Service,
		"KYVERNO_DEPLOYMENT=" + account,
		"KYVERNO_POD_NAME=" + account,
		"KYVERNO_SERVICEACCOUNT_NAME=" + account,
		"KYVERNO_ROLE_NAME=" + role,
		"INIT_CONFIG=kyverno",
		"METRICS_CONFIG=kyverno-metrics",
	}
}

// awaitPolicies returns when a policy can be written, which is when nonsense is refused by the webhook that checks
// policies.
func (k *Kyverno) awaitPolicies(ctx context.Context) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, startTimeout, true, func(ctx context.Context) (bool, error) {
		select {
		case <-k.Done():
			return false, errors.New("it has ended: see " + k.LogFile())
		default:
		}
		if last = k.serving(ctx); last == nil {
			last = k.client.Create(ctx, nonsense(), client.DryRunAll)
		}
		return last != nil && strings.Contains(last.Error(), policyWebhook), nil
	})
	if err != nil {
		return fmt.Errorf("await the admission controller: %w (creating nonsense: %w)", err, last)
	}
	return nil
}

// serving says whether the webhook server has its certificate. Who signed it is not the question.
func (k *Kyverno) serving(ctx context.Context) error {
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}}
	connection, err := dialer.DialContext(ctx, "tcp", k.webhook.Address())
	if err != nil {
		return err
	}
	return connection.Close()
}

// Metrics returns what the admission controller's metrics endpoint says.
func (k *Kyverno) Metrics(ctx context.Context) (string, error) {
	return process.Get(ctx, "http://"+k.metrics.Address()+"/metrics")
}

// Configure changes the data of Kyverno's ConfigMap.
func (k *Kyverno) Configure(ctx context.Context, change func(data map[string]string)) error {
	config := &corev1.ConfigMap{}
	if err := k.client.Get(ctx, types.NamespacedName{Namespace: Namespace, Name: "kyverno"}, config); err != nil {
		return err
	}
	change(config.Data)
	return k.client.Update(ctx, config)
}

// nonsense is a policy whose patch is no list of patches.
func nonsense() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "policies.kyverno.io/v1",
		"kind":       "MutatingPolicy",
		"metadata":   map[string]any{"name": "nonsense"},
		"spec": map[string]any{
			"matchConstraints": map[string]any{"resourceRules": []any{map[string]any{
				"apiGroups": []any{""}, "apiVersions": []any{"v1"}, "resources": []any{"podtemplates"}, "operations": []any{"CREATE"},
			}}},
			"mutations": []any{map[string]any{"patchType": "JSONPatch", "jsonPatch": map[string]any{"expression": "[]"}}},
		},
	}}
}

// Await returns when the API server has been told to ask Kyverno about a MutatingPolicy. Kyverno looks for such
// news every ten seconds. That it then also follows the policy's present text, a test must await by what it does.
func (k *Kyverno) Await(ctx context.Context, policy string) error {
	err := wait.PollUntilContextTimeout(ctx, interval, startTimeout, true, func(ctx context.Context) (bool, error) {
		return k.asked(ctx, policy)
	})
	if err != nil {
		return fmt.Errorf("await the webhook of policy %s: %w", policy, err)
	}
	return nil
}

// asked tells whether a mutating webhook has the policy in its path, where Kyverno lists whom it is for.
func (k *Kyverno) asked(ctx context.Context, policy string) (bool, error) {
	var configurations admissionv1.MutatingWebhookConfigurationList
	if err := k.client.List(ctx, &configurations, client.MatchingLabels{"webhook.kyverno.io/managed-by": "kyverno"}); err != nil {
		return false, err
	}
	for _, configuration := range configurations.Items {
		for _, webhook := range configuration.Webhooks {
			if url := webhook.ClientConfig.URL; url != nil && strings.Contains(*url+"/", "/"+policy+"/") {
				return true, nil
			}
		}
	}
	return false, nil
}

// StartReports starts the reports controller beside the admission controller. It looks at an object half a minute
// after it has changed, and at all of them as soon as a policy has.
func (k *Kyverno) StartReports(ctx context.Context) (*process.Process, error) {
	path, err := tools.Build(ctx, tools.KyvernoReports, k.options.Progress)
	if err != nil {
		return nil, err
	}
	return k.cp.Run(ctx, process.Spec{
		Name: "kyverno-reports",
		Path: path,
		Env:  environment("kyverno-reports-controller", "kyverno:reports-controller"),
		Args: []string{
			"--kubeconfig=" + k.cp.AdminKubeconfig(),
			"--disableMetrics=true",
			"--enableTuf=false",
			"--admissionReports=false",
			"--validatingAdmissionPolicyReports=false",
			"--backgroundScanInterval=1h",
			"--omitEvents=PolicyApplied,PolicySkipped,PolicyViolation",
			"--leaderElectionRetryPeriod=1s",
		},
	})
}
