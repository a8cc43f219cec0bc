package anp_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The proxy's user. The password needs care in a URL.
const (
	user       = "fleet"
	password   = "p@ss/1"
	credential = "fleet:p%40ss%2F1"
)

// agents is where vendors put the agent. Kyverno keeps away from it unless it is told otherwise.
const agents = "kube-system"

// exclude is the label of a pod that no policy changes.
const exclude = "policies.kyverno.io/inject-proxy-env"

const noProxy = "100.64.0.0/13,127.0.0.1,localhost,.svc,cluster.local"

// proxyURL is that of squid, as corp sees it.
func proxyURL() string {
	return fmt.Sprintf("http://%s@%s:%d", credential, machine.ProxyAddress, machine.ProxyPort)
}

// values are the settings of the chart.
func values() map[string]any {
	return map[string]any{"cluster": map[string]any{"proxy": map[string]any{
		"http": proxyURL(), "https": proxyURL(), "noProxy": noProxy,
	}}}
}

// cluster is the spoke's API server with all that Fairlead has there, and the authority of its tunnels.
type cluster struct {
	cp        *controlplane.ControlPlane
	clients   kubernetes.Interface
	authority *machine.Authority
}

// newCluster has Kyverno opened for kube-system, the chart's policies, and the Secret where the agents are.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	authority, err := machine.NewAuthority("Example Tunnel CA")
	controlplanetest.Require(t, err)
	c := newPlainCluster(t, controlplanetest.Shared(t, kyverno.Content...), authority)
	c.startKyverno(t, kyverno.Options{})
	_, err = replicator.Start(t.Context(), c.cp)
	controlplanetest.Require(t, err)
	// It comes for who refers to it, and here is no kubelet, which would try again.
	_, err = c.create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "first"},
		Spec: corev1.PodSpec{AutomountServiceAccountToken: new(bool), Containers: []corev1.Container{{Name: "c", Image: "i", EnvFrom: []corev1.EnvFromSource{{
			SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: policies.Secret}},
		}}}}},
	})
	controlplanetest.Require(t, err)
	controlplanetest.Await(t, "the Secret in "+agents, func(ctx context.Context) (bool, error) {
		secret, err := c.clients.CoreV1().Secrets(agents).Get(ctx, policies.Secret, metav1.GetOptions{})
		return err == nil && string(secret.Data["HTTPS_PROXY"]) == proxyURL(), err
	})
	return c
}

// startKyverno starts it with the chart's policies, and with kube-system, which it does not see by default.
func (c *cluster) startKyverno(t *testing.T, options kyverno.Options) {
	t.Helper()
	k, err := kyverno.Start(t.Context(), c.cp, options)
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, k.Configure(t.Context(), func(data map[string]string) {
		data["webhooks"] = strings.Replace(data["webhooks"], `"values":["kube-system"]`, `"values":["kube-public"]`, 1)
		data["resourceFilters"] = strings.Replace(data["resourceFilters"], "[*/*,kube-system,*]", "", 1)
	}))
	controlplanetest.Require(t, policies.Install(t.Context(), c.cp, values()))
	controlplanetest.Require(t, policies.Serve(t.Context(), c.cp, agents))
}

// newPlainCluster has what the agents need, and nothing of ours.
func newPlainCluster(t *testing.T, cp *controlplane.ControlPlane, authority *machine.Authority) *cluster {
	t.Helper()
	c := &cluster{cp: cp, clients: controlplanetest.Clients(t, cp), authority: authority}
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	certificate, key, err := authority.Issue("konnectivity-agent")
	controlplanetest.Require(t, err)
	objects := fmt.Sprintf(`
apiVersion: v1
kind: ServiceAccount
metadata: {name: konnectivity-agent, namespace: %[1]s}
---
apiVersion: v1
kind: ConfigMap # of kube-controller-manager, which is not told of this authority
metadata: {name: kube-root-ca.crt, namespace: %[1]s}
data: {ca.crt: %[2]q}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: konnectivity-ca-bundle, namespace: %[1]s}
data: {ca.crt: %[2]q}
---
apiVersion: v1
kind: Secret
metadata: {name: konnectivity-agent, namespace: %[1]s}
stringData: {tls.crt: %[3]q, tls.key: %[4]q}
`, agents, authority.PEM(), certificate, key)
	controlplanetest.Require(t, cp.Apply(t.Context(), []byte(objects)))
	return c
}

// create stores a pod in kube-system.
func (c *cluster) create(ctx context.Context, pod *corev1.Pod) (*corev1.Pod, error) {
	return c.clients.CoreV1().Pods(agents).Create(ctx, pod, metav1.CreateOptions{})
}

// excluded is the pod stored as it is.
func (c *cluster) excluded(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	pod = pod.DeepCopy()
	pod.Labels[exclude] = "exclude"
	stored, err := c.create(t.Context(), pod)
	controlplanetest.Require(t, err)
	for _, diff := range []string{
		cmp.Diff(pod.Spec.Containers[0].Args, stored.Spec.Containers[0].Args),
		cmp.Diff(names(pod), names(stored)),
	} {
		if diff != "" {
			t.Fatalf("the pod that is excluded is stored otherwise (-given +stored):\n%s", diff)
		}
	}
	return stored
}

// names are those of the agent's variables.
func names(pod *corev1.Pod) []string {
	var all []string
	for _, e := range pod.Spec.Containers[0].Env {
		all = append(all, e.Name)
	}
	return all
}

// mutated is the pod as the policy has it stored.
func (c *cluster) mutated(t *testing.T, pod *corev1.Pod) *corev1.Pod {
	t.Helper()
	var stored *corev1.Pod
	controlplanetest.Await(t, "a pod that the policy has changed", func(ctx context.Context) (bool, error) {
		dry, err := c.clients.CoreV1().Pods(agents).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil || fromSecret(dry, "HTTPS_PROXY") != policies.Secret {
			return false, err
		}
		stored, err = c.create(ctx, pod)
		return err == nil, err
	})
	return stored
}

// fromSecret is the Secret from which the agent has a variable.
func fromSecret(pod *corev1.Pod, name string) string {
	for _, e := range pod.Spec.Containers[0].Env {
		if e.Name == name && e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil {
			return e.ValueFrom.SecretKeyRef.Name
		}
	}
	return ""
}

// upstream is the DaemonSet that the project itself has as an example. Its agent shows the server a token.
func upstream(t *testing.T) []byte {
	t.Helper()
	dir, err := tools.ModuleDir(t.Context(), tools.ANPAgent034.Module, "sigs.k8s.io/apiserver-network-proxy")
	controlplanetest.Require(t, err)
	manifest, err := os.ReadFile(filepath.Join(dir, "examples", "kind", "konnectivity-agent-ds.yaml"))
	controlplanetest.Require(t, err)
	const inCluster = "konnectivity-server.kube-system.svc.cluster.local"
	return []byte(strings.Replace(string(manifest), inCluster, machine.HubName, 1))
}

// hyperShift is HyperShift's DaemonSet. Its agent shows the server a certificate.
func hyperShift(t *testing.T) []byte {
	t.Helper()
	manifest, err := os.ReadFile("testdata/hypershift.yaml")
	controlplanetest.Require(t, err)
	return manifest
}

// mutate is what fairlead mutate makes of a manifest, with the values of the chart.
func mutate(t *testing.T, manifest []byte, flags ...string) []byte {
	t.Helper()
	out, err := policies.Mutate(t.Context(), manifest, values(), flags...)
	controlplanetest.Require(t, err)
	return out
}

// podOf is what the controller would make of the manifest's DaemonSet.
func podOf(t *testing.T, manifest []byte) *corev1.Pod {
	t.Helper()
	objects, err := controlplane.Parse(manifest)
	controlplanetest.Require(t, err)
	for _, object := range objects {
		if object.GetKind() == "DaemonSet" {
			var set appsv1.DaemonSet
			controlplanetest.Require(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &set))
			template := set.Spec.Template
			template.GenerateName = set.Name + "-"
			return &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		}
	}
	t.Fatal("the manifest has no DaemonSet")
	return nil
}
