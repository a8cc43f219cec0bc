package frp_test

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/kyverno"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/replicator"
)

// The password needs care in URLs.
const (
	username   = "tunnel@corp.example"
	password   = `p@ss %2F$$x:/?#"\ü`
	credential = "tunnel%40corp.example:p%40ss%20%252F$$x%3A%2F%3F%23%22%5C%C3%BC"
)

// The names that frps knows the tunnel by. The API server's certificate has one of them.
const (
	tunnelName   = "cluster-4711." + machine.HubName
	strangerName = "stranger.example"
)

// harness is a cluster of the spoke: a real API server where the controllers make the pods of Deployments, Kyverno and
// the policies change them, and the replicator brings the Secret.
type harness struct {
	cp      *controlplane.ControlPlane
	clients kubernetes.Interface
	// authority is that of squid's certificate.
	authority *machine.Authority
}

func newHarness(t *testing.T) *harness {
	t.Helper()
	h := &harness{cp: controlplanetest.Start(t, controlplane.Options{Hosts: []string{tunnelName}, Content: kyverno.Content})}
	h.clients = controlplanetest.Clients(t, h.cp)
	var err error
	h.authority, err = machine.NewAuthority("Example Proxy CA")
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, h.cp.StartControllerManager(t.Context(),
		controlplane.ServiceAccounts, "deployment-controller", "replicaset-controller"))
	_, err = kyverno.Start(t.Context(), h.cp, kyverno.Options{})
	controlplanetest.Require(t, err)
	controlplanetest.Require(t, policies.Install(t.Context(), h.cp, values()))
	_, err = replicator.Start(t.Context(), h.cp)
	controlplanetest.Require(t, err)
	return h
}

// values of the chart. inject-proxy-env keeps out of the way, so that the tunnel's policy is what the test sees.
func values() map[string]any {
	values := policies.Sidecars()
	values["optIn"], values["proxy"] = true, map[string]any{
		"http": proxyURL("http", machine.ProxyPort), "https": proxyURL("http", machine.ProxyPort), "noProxy": "corp.example",
	}
	return values
}

func proxyURL(scheme string, port int) string {
	return fmt.Sprintf("%s://%s@%s", scheme, credential, net.JoinHostPort(machine.ProxyAddress, strconv.Itoa(port)))
}

// namespace makes one where the policy changes such pods.
func (h *harness) namespace(t *testing.T, labels map[string]string) string {
	t.Helper()
	namespace := controlplanetest.Namespace(t, h.cp)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: labels},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "frpc", Image: "frpc"}}},
	}
	controlplanetest.Await(t, "the policy in "+namespace, func(ctx context.Context) (bool, error) {
		stored, err := h.clients.CoreV1().Pods(namespace).Create(ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err != nil {
			return false, err
		}
		return controlplanetest.Holds(len(stored.Spec.Containers[0].Env) > 0, "the pod gets no variable")
	})
	return namespace
}
