package frp_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/fairlead-io/fairlead/e2e/controlplane"
	"github.com/fairlead-io/fairlead/e2e/controlplane/controlplanetest"
	"github.com/fairlead-io/fairlead/e2e/machine"
	"github.com/fairlead-io/fairlead/e2e/node"
	"github.com/fairlead-io/fairlead/e2e/policies"
	"github.com/fairlead-io/fairlead/e2e/tools"
	"github.com/fairlead-io/fairlead/e2e/tunnels"
)

const relay = "fairlead-relay"

// checkRelay: frpc that is told of no proxy leaves by the relay, which its pod has asked Kyverno's policy for.
func (s *site) checkRelay(t *testing.T) {
	t.Helper()
	pod := s.deploy(t, "relayed", change{tunnel: "relay"})
	for _, e := range pod.Spec.Containers[0].Env {
		if e.Name == "http_proxy" {
			t.Errorf("frpc is told of the proxy: %+v", e)
		}
	}
	s.checkRelayed(t, pod)
	tunnels.Record(t, s.relayRow(tunnels.Kyverno, "passes"))
}

// checkTLSProxy: where the proxy itself speaks TLS, frpc of these versions does not, and the relay does it. It is the
// pod that fairlead mutate prints that runs; its Secret is the chart's, and no API server has either.
func (s *site) checkTLSProxy(t *testing.T) {
	t.Helper()
	pod := s.podBehindTLS(t, "Environment")
	awaitEnd(t, s.start(t, pod), "ProxyType must be http or socks5 or ntlm, not [https]")
	s.checkRelayed(t, s.podBehindTLS(t, "Relay"))
	tunnels.Record(t, s.relayRow(tunnels.Mutate, "passes with an `https://` proxy"))
	s.checkRelayed(t, s.podBehindTLS(t, "Sidecar"))
	tunnels.Record(t, s.sidecarRow(tunnels.Mutate, "passes with an `https://` proxy"))
}

// checkSidecar: frpc is told of the sidecar, which its pod has asked Kyverno's policy for.
func (s *site) checkSidecar(t *testing.T) {
	t.Helper()
	s.checkRelayed(t, s.deploy(t, "led", change{tunnel: "sidecar"}))
	tunnels.Record(t, s.sidecarRow(tunnels.Kyverno, "passes"))
}

func (s *site) sidecarRow(engine tunnels.Engine, result string) tunnels.Row {
	return tunnels.Row{
		Agent: "frpc", Version: s.version.name, Way: tunnels.Sidecar, Set: "`http_proxy`, without a password",
		CannotWork: "UDP: kcp and quic", Engine: engine, Result: result,
	}
}

func (s *site) relayRow(engine tunnels.Engine, result string) tunnels.Row {
	return tunnels.Row{
		Agent: "frpc", Version: s.version.name, Way: tunnels.Relay, Set: "the sidecar " + relay + ", a host alias",
		CannotWork: "UDP: kcp and quic", Engine: engine, Result: result,
	}
}

// checkRelayed starts the pod's relay and its agent.
func (s *site) checkRelayed(t *testing.T, pod *corev1.Pod) {
	t.Helper()
	if len(pod.Spec.InitContainers) != 1 {
		t.Fatalf("the pod has no relay: %+v", pod.Spec.InitContainers)
	}
	program, err := tools.Program(t.Context(), relay)
	controlplanetest.Require(t, err)
	s.node.Programs[pod.Spec.InitContainers[0].Image] = program
	sidecar, err := s.node.Start(t.Context(), pod, relay)
	controlplanetest.Require(t, err)
	controlplanetest.Await(t, "the relay to listen", func(ctx context.Context) (bool, error) { // as its startup probe asks
		_, err := s.network.Run(ctx, machine.Corp, nil, "curl", "--fail", "--silent", "--show-error", "http://127.0.0.1:8099/healthz")
		return err == nil, err
	})
	s.checkOnce(t, pod)
	controlplanetest.Require(t, sidecar.Stop())
}

// checkFrpc070: this one speaks TLS to the proxy, if it trusts it.
func (s *site) checkFrpc070(t *testing.T) {
	t.Helper()
	pod := s.podBehindTLS(t, "Environment")
	s.node.Programs[s.version.program] = build(t, tools.FRPC070)
	awaitEnd(t, s.start(t, pod), "x509: certificate signed by unknown authority")
	c := &pod.Spec.Containers[0]
	c.Env = append(c.Env, corev1.EnvVar{Name: "SSL_CERT_FILE", Value: "/etc/fairlead/ca/ca.crt"})
	c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: "ca", MountPath: "/etc/fairlead/ca"})
	bundle := &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: policies.TrustedCA}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "ca", VolumeSource: corev1.VolumeSource{ConfigMap: bundle}})
	s.checkOnce(t, pod)
	tunnels.Record(t, tunnels.Row{
		Agent: "frpc", Version: tools.FRPC070.Version, Way: tunnels.Environment, Set: "`http_proxy`; SSL_CERT_FILE for an `https://` proxy",
		Engine: tunnels.Mutate, Result: "passes with an `https://` proxy",
	})
}

// podBehindTLS is what fairlead mutate makes of the manifest where the proxy is https://. From here on, the node has
// its objects.
func (s *site) podBehindTLS(t *testing.T, through string) *corev1.Pod {
	t.Helper()
	proxy := proxyURL("https", machine.ProxyTLSPort)
	values := map[string]any{
		"proxy":     map[string]any{"http": proxy, "https": proxy, "noProxy": "corp.example"},
		"trustedCA": map[string]any{"bundle": string(s.authority.PEM())},
		"tunnels": map[string]any{"families": map[string]any{"frpc": map[string]any{
			"throughTLS": through, "targets": []any{s.hub()},
		}}},
	}
	config, deployment := objects(t, fairleadMutate(t, s.version.manifest, values))
	template := deployment.Spec.Template
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "tls-" + through, Namespace: s.namespace}, Spec: template.Spec}
	config.Namespace = s.namespace
	s.node = &node.Node{
		Network: s.network, Clients: fake.NewClientset(append(s.objectsOf(t, values), config)...),
		Programs: map[string]string{s.version.program: build(t, s.version.client)}, ServiceEnv: s.node.ServiceEnv,
	}
	return pod
}

// objectsOf are the Secret and the ConfigMap that the chart makes of the values, where the replicator would have brought
// them.
func (s *site) objectsOf(t *testing.T, values map[string]any) []runtime.Object {
	t.Helper()
	manifest, err := policies.Render(t.Context(), values)
	controlplanetest.Require(t, err)
	rendered, err := controlplane.Parse(manifest)
	controlplanetest.Require(t, err)
	var found []runtime.Object
	for _, object := range rendered {
		var typed interface {
			runtime.Object
			metav1.Object
		}
		switch object.GetKind() + "/" + object.GetName() {
		case "Secret/" + policies.Secret:
			typed = &corev1.Secret{}
		case "ConfigMap/" + policies.TrustedCA:
			typed = &corev1.ConfigMap{}
		default:
			continue
		}
		controlplanetest.Require(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, typed))
		typed.SetNamespace(s.namespace)
		found = append(found, typed)
	}
	if len(found) != 2 {
		t.Fatalf("the chart makes %d of Secret and ConfigMap", len(found))
	}
	return found
}
