package ocm_test

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/process"
	"github.com/fairlead-io/fairlead/e2e/tier"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

const relay = "fairlead-relay"

// All three containers leave by the sidecar, through a proxy that speaks TLS, too, and none has the password.
func TestThePodWithASidecarLeavesThroughTheProxy(t *testing.T) {
	tier.Full(t)
	tunnels.Complete(t)
	for scheme, port := range map[string]int{"http": machine.ProxyPort, "https": machine.ProxyTLSPort} {
		t.Run(scheme, func(t *testing.T) {
			f := sharedFleet(t)
			t.Parallel()
			c := newCompany(t, f, f.spoke, machine.SquidOptions{TLS: f.authority})
			c.startHub(t)
			pod := c.withSidecar(t, addonNamespace+"-"+scheme, fmt.Sprintf("%s://%s@%s:%d", scheme, userinfo, machine.ProxyAddress, port))
			sidecar := c.run(t, pod, relay)
			controlplanetest.Await(t, "the sidecar", func(ctx context.Context) (bool, error) {
				err := c.network.Answers(machine.Corp, "127.0.0.1:3128")(ctx)
				return err == nil, err
			})
			all := c.run(t, pod, containers...)
			c.awaitReach(t, "with the sidecar")
			if err := c.checkHubUser(t); err != nil {
				t.Errorf("somebody of the hub: %v", err)
			}
			checkNoPassword(t, all)
			stop(t, append(all, sidecar...))
			c.awaitAsked(t, connect(hubAPI), connect(hubTunnel))
			tunnels.Record(t, tunnels.Row{
				Agent: "OCM cluster-proxy", Version: "v0.10.0", Way: tunnels.Sidecar, Engine: tunnels.Mutate, Result: "passes",
				Set: "six variables on proxy-agent, addon-agent and service-proxy, without a password; `--keepalive-time=30s` on proxy-agent",
			})
		})
	}
}

// withSidecar is the pod as fairlead mutate prints it, with what the replicator would bring.
func (c *company) withSidecar(t *testing.T, namespace, url string) *corev1.Pod {
	t.Helper()
	manifest, err := yaml.Marshal(c.agent(t, c.spoke, namespace, machine.HubName, proxyConfig(t)))
	controlplanetest.Require(t, err)
	settings := policyValues()
	settings["tunnels"] = map[string]any{"families": map[string]any{"cluster-proxy": map[string]any{"through": "Sidecar"}}}
	values, err := yaml.Marshal(settings)
	controlplanetest.Require(t, err)
	printed := &corev1.Pod{}
	controlplanetest.Require(t, yaml.UnmarshalStrict(fairlead(t, "mutate", "-f", file(t, string(manifest)), "--policy-values", file(t, string(values))), printed))

	clients := controlplanetest.Clients(t, c.spoke)
	bundle := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: policies.TrustedCA}, Data: map[string]string{"ca.crt": string(c.authority.PEM())}}
	_, err = clients.CoreV1().ConfigMaps(namespace).Create(t.Context(), bundle, metav1.CreateOptions{})
	controlplanetest.Require(t, err)
	secret, err := clients.CoreV1().Secrets(namespace).Get(t.Context(), policies.Secret, metav1.GetOptions{})
	controlplanetest.Require(t, err)
	secret.Data["HTTPS_PROXY"] = []byte(url)
	_, err = clients.CoreV1().Secrets(namespace).Update(t.Context(), secret, metav1.UpdateOptions{})
	controlplanetest.Require(t, err)

	program, err := tools.Program(t.Context(), relay)
	controlplanetest.Require(t, err)
	pod := store(t, clients, unmutated(printed))
	c.node.Programs = maps.Clone(c.node.Programs)
	c.node.Programs[pod.Spec.InitContainers[0].Image] = program
	return pod
}

// checkNoPassword looks into the environments of what nsenter has started.
func checkNoPassword(t *testing.T, all []*process.Process) {
	t.Helper()
	for _, p := range all {
		child, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", p.PID()))
		controlplanetest.Require(t, err)
		environ, err := os.ReadFile(fmt.Sprintf("/proc/%s/environ", strings.TrimSpace(string(child))))
		controlplanetest.Require(t, err)
		if text := string(environ); strings.Contains(text, userinfo) || !strings.Contains(text, "HTTPS_PROXY=http://127.0.0.1:3128\x00") {
			t.Errorf("the environment is %q", text)
		}
	}
}
