// Package app holds docs/how-to/charts.md and examples/charts against the operator's Secret and ConfigMap: an App that
// names both, plain Helm, and the command of Argo CD's plugin without Argo CD. What they come to is merged and rendered by the real
// Helm. Its test of the operator is about the ConfigMap.
package app_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/api/v1alpha1"
	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/helm"
	"github.com/fairlead-io/fairlead/e2e/operator"
	"github.com/fairlead-io/fairlead/e2e/policies"
)

func TestMain(m *testing.M) { controlplanetest.Main(m) }

// The cluster of examples/cluster.yaml, as in docs/how-to/charts.md.
const (
	namespace = "org-acme"
	cluster   = "mycluster"
	values    = cluster + "-cluster-values"
	proxyURL  = "http://me:hunter2@192.168.52.220:3128"
)

// site is a management cluster with the operator.
type site struct {
	cp       *controlplane.ControlPlane
	client   client.Client
	operator *operator.Operator
}

func TestTheValuesReachTheirConsumers(t *testing.T) {
	s := newSite(t)
	t.Run("no ConfigMap that nobody asks for", s.checkNoConfigMap)
	asking := &v1alpha1.CorporateProxy{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
	controlplanetest.Change(t, s.client, asking, func(proxy *v1alpha1.CorporateProxy) { proxy.Spec.ClusterValues.ConfigMap = true })
	s.awaitList(t, "first.example")
	t.Run("an App that names both", s.checkApp)
	t.Run("helm with the Secret as a file", s.checkHelm)
	t.Run("the plugin of Argo CD", s.checkPlugin)
	t.Run("a stolen token writes no other ConfigMap", s.checkCage)
	t.Run("the ConfigMap is Fairlead's whole, and a foreign one once it is handed over", s.checkWhole)
}

func newSite(t *testing.T) *site {
	t.Helper()
	ctx := t.Context()
	s := &site{cp: controlplanetest.Shared(t, operator.Content...)}
	var err error
	s.client = controlplanetest.Client(t, s.cp.Admin(), operator.Scheme)
	controlplanetest.Require(t, operator.Install(ctx, s.cp))
	example := controlplanetest.ReadFile(t, "../../examples/cluster.yaml")
	controlplanetest.Require(t, s.cp.Apply(ctx, fmt.Appendf(nil, proxyObjects, proxyURL), example))
	s.operator, err = operator.Start(ctx, s.cp, operator.Options{Args: []string{"--leader-elect=false"}})
	controlplanetest.Require(t, err)
	t.Cleanup(func() { _ = s.operator.Stop() })
	return s
}

const proxyObjects = `
apiVersion: v1
kind: Namespace
metadata: {name: org-acme}
---
apiVersion: v1
kind: Secret
metadata: {name: corporate-proxy, namespace: fairlead-system}
stringData: {http: "%[1]s", https: "%[1]s"}
---
apiVersion: fairlead.io/v1alpha1
kind: CorporateProxy
metadata: {name: default}
spec:
  source: {valuesRef: {name: corporate-proxy}}
  noProxy: [{value: first.example}]
`

func (s *site) configMap(ctx context.Context, name string) (*corev1.ConfigMap, error) {
	object := &corev1.ConfigMap{}
	return object, s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, object)
}

func (s *site) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	object := &corev1.Secret{}
	controlplanetest.Await(t, "the Secret", func(ctx context.Context) (bool, error) {
		return true, s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: values}, object)
	})
	return object
}

// awaitList awaits that both have an entry, and the same list.
func (s *site) awaitList(t *testing.T, entry string) {
	t.Helper()
	controlplanetest.Await(t, entry+" in the ConfigMap and in the Secret", func(ctx context.Context) (bool, error) {
		object, err := s.configMap(ctx, values)
		if err != nil {
			return false, err
		}
		plain, whole := read(t, []byte(object.Data["values"])), read(t, s.secret(t).Data["values"])
		list, _ := plain["no_proxy"].(string)
		return controlplanetest.Holds(strings.Contains(list, entry) && list == whole["no_proxy"], "the list is %q, and the Secret's %q", list, whole["no_proxy"])
	})
}

func read(t *testing.T, text []byte) map[string]any {
	t.Helper()
	var values map[string]any
	controlplanetest.Require(t, yaml.Unmarshal(text, &values))
	return values
}

// block is the first block of a language in a section of docs/how-to/charts.md that contains some text.
func block(t *testing.T, section, language, text string) string {
	t.Helper()
	document := controlplanetest.ReadFile(t, "../../docs/how-to/charts.md")
	_, rest, _ := strings.Cut(string(document), "\n## "+section+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	for _, part := range strings.Split(rest, "```"+language+"\n")[1:] {
		if part, _, _ = strings.Cut(part, "```"); strings.Contains(part, text) {
			return part
		}
	}
	t.Fatalf("docs/how-to/charts.md, %s, has no such block", section)
	return ""
}

func (s *site) checkNoConfigMap(t *testing.T) {
	s.secret(t) // written after it would be, were it wanted: the report below is of the same turn
	report := &v1alpha1.ProxyReport{}
	controlplanetest.Await(t, "a report with both Secrets", func(ctx context.Context) (bool, error) {
		err := s.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cluster}, report)
		return len(report.Status.Secrets) == 2, err
	})
	if object, err := s.configMap(t.Context(), values); err == nil || report.Status.ConfigMap != nil {
		t.Errorf("there is one: %v, %v", object.Data, report.Status.ConfigMap)
	}
}

// checkApp: the App of examples/charts, between what its catalog and its user say. An App takes objects of one key, and merges as
// Helm does: ConfigMaps in their order, and Secrets over them.
func (s *site) checkApp(t *testing.T) {
	ctx := t.Context()
	app := &unstructured.Unstructured{}
	controlplanetest.Require(t, yaml.Unmarshal(controlplanetest.ReadFile(t, "../../examples/charts/app.yaml"), &app.Object))
	configMap, secret := &corev1.ConfigMap{}, &corev1.Secret{}
	for field, object := range map[string]client.Object{"configMap": configMap, "secret": secret} {
		named, _, err := unstructured.NestedStringMap(app.Object, "spec", "config", field)
		controlplanetest.Require(t, err)
		controlplanetest.Require(t, s.client.Get(ctx, client.ObjectKey{Namespace: named["namespace"], Name: named["name"]}, object))
	}
	if len(configMap.Data) != 1 || len(secret.Data) != 1 {
		t.Errorf("%d and %d keys: an App takes one", len(configMap.Data), len(secret.Data))
	}
	catalog := []byte("exclude: {names: [a, b]}\ncluster: {proxy: {noProxy: catalog}}\n")
	users := []byte("exclude: {names: [c]}\ncluster: {proxy: {http: 'http://user.example:1', noProxy: user}}\n")
	manifest, err := policies.Render(ctx, catalog, []byte(configMap.Data["values"]), users, secret.Data["values"])
	controlplanetest.Require(t, err)
	checkPodSecret(t, manifest)
	for text, want := range map[string]bool{`"^a$"`: false, `"^c$"`: true, "user.example": false} {
		if bytes.Contains(manifest, []byte(text)) != want {
			t.Errorf("%s is rendered: %t", text, !want)
		}
	}
}

// checkPodSecret: the Secret that the chart renders has the URL and the list.
func checkPodSecret(t *testing.T, manifest []byte) {
	t.Helper()
	objects, err := controlplane.Parse(manifest)
	controlplanetest.Require(t, err)
	for _, object := range objects {
		if object.GetKind() != "Secret" || object.GetName() != policies.Secret {
			continue
		}
		secret := &corev1.Secret{}
		controlplanetest.Require(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, secret))
		if string(secret.Data["HTTPS_PROXY"]) != proxyURL || !bytes.Contains(secret.Data["no_proxy"], []byte("first.example")) {
			t.Errorf("HTTPS_PROXY is %s, no_proxy %s", secret.Data["HTTPS_PROXY"], secret.Data["no_proxy"])
		}
		return
	}
	t.Errorf("no Secret %s in\n%s", policies.Secret, manifest)
}

// checkHelm: the command of docs/how-to/charts.md, with the chart of this repository; and a chart of somebody's with our
// value paths. The API server is both clusters', and evaluates the policies: there is no Kyverno.
func (s *site) checkHelm(t *testing.T) {
	command := block(t, "Helm", "sh", "helm upgrade")
	local := strings.Replace(command, "oci://ghcr.io/fairlead-io/charts/fairlead-policies", "'"+policies.Chart()+"' --set engine=Native", 1)
	if local == command {
		t.Fatal("docs/how-to/charts.md names no chart")
	}
	_, err := s.output(t, "", nil, local)
	controlplanetest.Require(t, err)
	installed, err := helm.Run(t.Context(), "get", "manifest", "fairlead-policies", "--namespace", policies.Namespace, "--kubeconfig", s.cp.AdminKubeconfig())
	controlplanetest.Require(t, err)
	checkPodSecret(t, installed)

	manifest, err := helm.Template(t.Context(), helm.Release{
		Chart: "../workloads/testdata/consumers", Name: "theirs", Namespace: "default",
		Values: []any{s.secret(t).Data["values"]},
	})
	controlplanetest.Require(t, err)
	if !bytes.Contains(manifest, []byte("first.example")) {
		t.Errorf("the list is not in\n%s", manifest)
	}
}

// checkPlugin: the generate command of the plugin of examples/charts, run as argocd-repo-server would: in the chart's folder,
// with the variables of the Application of docs/how-to/charts.md.
func (s *site) checkPlugin(t *testing.T) {
	var plugin struct {
		Spec struct {
			Generate struct{ Command, Args []string }
		}
	}
	controlplanetest.Require(t, yaml.Unmarshal(controlplanetest.ReadFile(t, "../../examples/charts/argocd-plugin.yaml"), &plugin))
	var application struct {
		Spec struct {
			Source struct {
				Plugin struct {
					Env []struct{ Name, Value string }
				}
			}
		}
	}
	controlplanetest.Require(t, yaml.Unmarshal([]byte(block(t, "Argo CD", "yaml", "source:")), &application))
	environment := []string{
		"ARGOCD_APP_NAME=fairlead-policies", "ARGOCD_APP_NAMESPACE=" + policies.Namespace,
		"KUBE_VERSION=1.36", "KUBE_API_VERSIONS=v1,v1/Pod,policies.kyverno.io/v1,policies.kyverno.io/v1/MutatingPolicy",
	}
	for _, variable := range application.Spec.Source.Plugin.Env {
		environment = append(environment, "ARGOCD_ENV_"+variable.Name+"="+variable.Value)
	}
	generate := plugin.Spec.Generate
	if cmp.Diff([]string{"sh", "-c"}, generate.Command) != "" || len(generate.Args) != 1 {
		t.Fatalf("the plugin runs %q %q", generate.Command, generate.Args)
	}
	manifest, err := s.output(t, policies.Chart(), environment, generate.Args[0])
	controlplanetest.Require(t, err)
	checkPodSecret(t, manifest)
	for name, change := range map[string]string{
		"a Secret that is not there": "ARGOCD_ENV_CLUSTER=another", "one that it may not see": "KUBECONFIG=/dev/null",
		"a Kubernetes that is too old": "KUBE_VERSION=1.29", "a cluster without Kyverno": "KUBE_API_VERSIONS=v1,v1/Pod",
	} {
		if manifest, err := s.output(t, policies.Chart(), append(environment, change), generate.Args[0]); err == nil {
			t.Errorf("%s: it has rendered %d bytes", name, len(manifest))
		}
	}
}
