package relay_test

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tools"
)

// The proxy's user. The password needs care in a URL.
const (
	user       = "fleet"
	password   = "p@ss/1"
	credential = "fleet:p%40ss%2F1"
	wrong      = "fleet:another"
)

// cluster is the spoke's API server with the chart's policies, for a proxy that speaks TLS, and the company's authority.
type cluster struct {
	cp        *controlplane.ControlPlane
	clients   kubernetes.Interface
	authority *machine.Authority
	programs  map[string]string
}

func newCluster(t *testing.T, cp *controlplane.ControlPlane) *cluster {
	t.Helper()
	authority, err := machine.NewAuthority("Example Corp")
	controlplanetest.Require(t, err)
	c := &cluster{cp: cp, clients: controlplanetest.Clients(t, cp), authority: authority, programs: programs(t)}
	controlplanetest.Require(t, cp.StartControllerManager(t.Context(), controlplane.ServiceAccounts))
	_, err = kyverno.Start(t.Context(), cp, kyverno.Options{})
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, policies.Install(t.Context(), cp, c.values()))
	return c
}

// values are those of the chart.
func (c *cluster) values() map[string]any {
	return map[string]any{
		"cluster": map[string]any{"proxy": map[string]any{
			"http": proxyURL(credential), "https": proxyURL(credential), "noProxy": "100.64.0.0/13,127.0.0.1,localhost,.svc,cluster.local",
		}},
		"trustedCA": map[string]any{"enabled": true, "bundle": string(c.authority.PEM())},
		"tunnels": map[string]any{"families": map[string]any{
			"konnectivity-agent": map[string]any{"throughTLS": "Sidecar"}, "chisel": map[string]any{"through": "Sidecar"},
		}},
	}
}

// Labels of konnectivity agents that go through a relay in the hub's place, and through a forward proxy of their own.
var (
	byTarget  = map[string]string{"app": "konnectivity-agent"}
	bySidecar = map[string]string{"k8s-app": "konnectivity-agent"}
)

// programs are the commands of the agents, and the one of the relay, which is its image's.
func programs(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for command, tool := range map[string]tools.Tool{"/proxy-agent": tools.ANPAgent034, "/chisel": tools.Chisel} {
		path, err := tools.Build(t.Context(), tool, os.Stderr)
		controlplanetest.Require(t, err)
		found[command] = path
	}
	path, err := tools.Program(t.Context(), "fairlead-relay")
	controlplanetest.Require(t, err)
	found["fairlead-relay"] = path
	return found
}

// proxyURL is that of squid's port for TLS, by the name that corp knows.
func proxyURL(credential string) string {
	return fmt.Sprintf("https://%s@%s:%d", credential, machine.ProxyName, machine.ProxyTLSPort)
}

// plainURL is that of its other port.
func plainURL() string { return plainURLOf(credential) }

func plainURLOf(credential string) string {
	return fmt.Sprintf("http://%s@%s:%d", credential, machine.ProxyAddress, machine.ProxyPort)
}

// namespace has what the replicator keeps there, and the files of agents.
func (c *cluster) namespace(t *testing.T, url string) string {
	t.Helper()
	namespace := controlplanetest.Namespace(t, c.cp)
	c.setSecret(t, namespace, url)
	_, err := c.clients.CoreV1().ConfigMaps(namespace).Create(t.Context(), &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: policies.TrustedCA}, Data: map[string]string{"ca.crt": string(c.authority.PEM())},
	}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	certificate, key, err := c.authority.Issue("agent")
	controlplanetest.Require(t, err)
	_, err = c.clients.CoreV1().Secrets(namespace).Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "agent"},
		Data:       map[string][]byte{"ca.crt": c.authority.PEM(), "tls.crt": certificate, "tls.key": key},
	}, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	return namespace
}

// setSecret makes or changes the Secret fairlead-proxy.
func (c *cluster) setSecret(t *testing.T, namespace, url string, noProxy ...string) {
	t.Helper()
	list := cmp.Or(append(noProxy, "100.64.0.0/13")...)
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: policies.Secret},
		StringData: map[string]string{"NO_PROXY": list, "no_proxy": list},
	}
	for _, key := range []string{"HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy"} {
		secret.StringData[key] = url
	}
	secrets := c.clients.CoreV1().Secrets(namespace)
	err := secrets.Delete(t.Context(), policies.Secret, metav1.DeleteOptions{})
	if err != nil && !strings.Contains(err.Error(), "not found") {
		t.Fatal(err)
	}
	_, err = secrets.Create(t.Context(), secret, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
}

// create returns the pod as the API server has stored it, once Kyverno does with it what is wanted.
func (c *cluster) create(t *testing.T, namespace string, pod *corev1.Pod, wanted func(*corev1.Pod) bool) *corev1.Pod {
	t.Helper()
	var stored *corev1.Pod
	pods := c.clients.CoreV1().Pods(namespace)
	controlplanetest.Await(t, "the pod "+pod.Name+" as the policy wants it", func(ctx context.Context) (bool, error) {
		dry, err := pods.Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil || !wanted(dry) {
			return false, err
		}
		stored, err = pods.Create(ctx, pod, metav1.CreateOptions{})
		return err == nil, err
	})
	return stored
}

func unchanged(pod *corev1.Pod) bool {
	return len(pod.Spec.InitContainers) == 0 && len(pod.Spec.Containers[0].Env) == 0
}

func relayed(pod *corev1.Pod) bool {
	return len(pod.Spec.InitContainers) > 0 && pod.Spec.InitContainers[0].Name == "fairlead-relay"
}

func throughEnvironment(pod *corev1.Pod) bool {
	for _, e := range pod.Spec.Containers[0].Env {
		if e.Name == "HTTPS_PROXY" && e.ValueFrom != nil && e.ValueFrom.SecretKeyRef.Name == policies.Secret {
			return len(pod.Spec.InitContainers) == 0
		}
	}
	return false
}
